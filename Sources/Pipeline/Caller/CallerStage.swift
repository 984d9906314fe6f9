/// A stage of the caller's side: looks at each frame, may change it, and writes down what it finds.
///
/// A call's stages are a list (`CallLayout.callerStages`); they run one after the other within the socket's callback.
public protocol CallerStage {
    /// Unique within a call; the call's graph shows it.
    var name: String { get }
    /// One frame of 20 ms. Must not wait.
    mutating func process(_ heard: inout HeardFrame)
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
    public mutating func begin(_ frame: EncodedFrame, wide: inout WideSound) {
        begin(frame)
        self.wide.take(&wide)
    }

    /// The next frame, without wide sound.
    public mutating func begin(_ frame: EncodedFrame) {
        self.frame = frame
        wide.drop()
        if !turns.isEmpty { turns.removeAll(keepingCapacity: true) }
        if !interruptions.isEmpty { interruptions.removeAll(keepingCapacity: true) }
    }

    /// What everybody behind this stage hears in place of the frame.
    /// - Parameter sound: the wide sound, changed likewise, as long as it was; nil: there is none any more, and who
    ///   takes wide sound gets the frame.
    public mutating func change(to frame: EncodedFrame, wide sound: AudioFrame?) {
        self.frame = frame
        if let sound { wide.set(sound) } else { wide.drop() }
    }
}

/// What stages of the caller's side may ask about the call. Confined to its loop.
public protocol CallScene: AnyObject {
    /// Our speech is being played, or held back by a pause.
    var isAISpeaking: Bool { get }
    /// Our speech may be cut off now.
    var isInterruptible: Bool { get }
    /// Words of the caller so far, backchannels not counted; nil where no recogniser tells before the turn's end.
    var callerWords: Int? { get }
    /// Silence that ends the turn in progress, ms; nil: as configured.
    var endOfTurnSilenceMs: Int? { get }
}

/// The stages of the caller's side in their order, each with its meter. All frames are counted; one in `timedEvery` is
/// timed, because reading the clock costs as much as a simple stage.
public struct CallerChain {
    /// A power of two.
    static let timedEvery = 4

    private var stages: [any CallerStage]
    private var meters: [StageMeter]
    private var frames = 0

    public init(_ stages: [any CallerStage]) {
        self.stages = stages
        meters = Array(repeating: StageMeter(), count: stages.count)
    }

    public mutating func process(_ heard: inout HeardFrame) {
        defer { frames &+= 1 }
        guard frames & (Self.timedEvery - 1) == 0 else {
            for index in stages.indices {
                stages[index].process(&heard)
                meters[index].count()
            }
            return
        }
        var start = StageMeter.now()
        for index in stages.indices {
            stages[index].process(&heard)
            let end = StageMeter.now()
            meters[index].count()
            meters[index].took(nanoseconds: end &- start)
            start = end
        }
    }

    public var names: [String] { stages.map(\.name) }
    public var readings: [StageReading] { zip(stages, meters).map { $1.reading($0.name, .caller) } }
}
