/// A stage of the caller's side: looks at each frame, may change it, and writes down what it finds.
///
/// A call's stages are a list (`CallLayout.callerStages`); they run one after the other within the socket's callback.
/// A stage is a class: a struct behind a protocol costs a uniqueness check and a copy for each frame.
public protocol CallerStage: AnyObject {
    /// Unique within a call; the call's graph shows it.
    var name: String { get }
    /// One frame of 20 ms. Must not wait.
    func process(_ heard: inout HeardFrame)
}

/// One frame of the caller on its way through the stages, and what they found.
///
/// Stages judge `frame`. A recogniser or a speech model that takes more than 8 kHz hears `wide` in its place. So a
/// stage that changes the one says what becomes of the other (`change`).
public struct HeardFrame {
    /// 20 ms of sound, as the next stage is to hear it.
    public private(set) var frame = EncodedFrame()
    /// The same 20 ms at the stream's own rate; empty where that is no wider than a frame, or a stage has dropped it.
    public private(set) var wide = WideSound()
    /// How the call stands.
    public private(set) var call = CallMoment()
    public var activity = VoiceActivity(isSpeech: false, level: -96)
    /// The caller has a turn that has not ended.
    public var isInTurn = false
    /// Silence at the turn's end, ms; also just after the turn has ended.
    public var silentMs = 0
    public var turns: [TurnEvent] = []
    public var interruptions: [Interruption] = []

    public init() {}

    /// The next frame; what was found in the last one is forgotten.
    /// - Parameter wide: its wide sound, which is taken out.
    public mutating func begin(_ frame: EncodedFrame, wide: inout WideSound, in call: CallMoment = CallMoment()) {
        begin(frame, in: call)
        self.wide.take(&wide)
    }

    /// The next frame, without wide sound.
    public mutating func begin(_ frame: EncodedFrame, in call: CallMoment = CallMoment()) {
        self.frame = frame
        self.call = call
        wide.drop()
        if !turns.isEmpty { turns.removeAll(keepingCapacity: true) }
        if !interruptions.isEmpty { interruptions.removeAll(keepingCapacity: true) }
    }

    /// Replaces the frame for all later stages.
    /// - Parameter sound: the wide sound, changed likewise, as long as it was; nil: it is dropped, and consumers
    ///   of wide sound get the frame.
    public mutating func change(to frame: EncodedFrame, wide sound: AudioFrame?) {
        self.frame = frame
        if let sound { wide.set(sound) } else { wide.drop() }
    }
}

/// What the stages of the caller's side know about the call while they look at a frame.
public struct CallMoment: Sendable {
    /// Our speech is being played, or held back by a pause.
    public var isAISpeaking = false
    /// Our speech may be cut off now.
    public var isInterruptible = false
    /// Words of the caller so far, backchannels not counted, while our speech is played; nil where no recogniser tells
    /// before the turn's end.
    public var callerWords: Int?
    /// Silence that ends the turn in progress, ms; nil: as configured.
    public var endOfTurnSilenceMs: Int?
    public init() {}
}

/// The stages of the caller's side in their order, each with its meter. All frames are counted; one in `timedEvery` is
/// timed, because reading the clock costs as much as a simple stage.
public struct CallerChain {
    /// A power of two.
    static let timedEvery = 4

    private let stages: [any CallerStage]
    private var meters: [StageMeter]
    private var frames = 0

    public init(_ stages: [any CallerStage]) {
        self.stages = stages
        meters = Array(repeating: StageMeter(), count: stages.count)
    }

    public mutating func process(_ heard: inout HeardFrame) {
        defer { frames &+= 1 }
        let isTimed = frames & (Self.timedEvery - 1) == 0
        var start = isTimed ? StageMeter.now() : 0
        for index in stages.indices {
            stages[index].process(&heard)
            meters[index].count()
            guard isTimed else { continue }
            let end = StageMeter.now()
            meters[index].took(nanoseconds: end &- start)
            start = end
        }
    }

    public var names: [String] { stages.map(\.name) }
    public var readings: [StageReading] { zip(stages, meters).map { $1.reading($0.name, .caller) } }
}
