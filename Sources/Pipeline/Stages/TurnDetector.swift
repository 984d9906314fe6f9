/// What the caller does, seen over frames.
public enum TurnEvent: Sendable, Equatable {
    /// Speech began; `frames` of it are already past.
    case speechStarted
    /// Silence for `pauseMs` within a turn.
    case paused
    /// Silence long enough to take the turn; `spokenMs` from the first to the last frame of speech.
    case speechEnded(spokenMs: Int)
    /// Speech without a pause, as of an answering machine.
    case monologue(spokenMs: Int)
}

/// `VoiceActivity` of every 20 ms frame → turns. Counts frames, reads no clock.
public struct TurnDetector: Processor, Sendable {
    public struct Configuration: Sendable, Equatable {
        /// Speech frames within `startWindowFrames` that begin a turn.
        public var startFrames = 2
        public var startWindowFrames = 3
        /// Silence that ends a turn, ms.
        public var silenceMs: Int
        /// Silence within a turn that is told, ms.
        public var pauseMs = 160
        /// Speech without an ending after which `monologue` is reported, ms.
        public var monologueMs: Int
        public init(silenceMs: Int = 600, monologueMs: Int = 6_000) {
            self.silenceMs = min(max(silenceMs, 100), 5_000)
            self.monologueMs = min(max(monologueMs, 1_000), 60_000)
        }
    }

    private let configuration: Configuration
    private var recent: UInt32 = 0
    private var isSpeaking = false
    private var framesSinceStart = 0
    private var silentFrames = 0
    private var reportedMonologue = false

    /// Silence that ends this turn, ms; the configuration's again with the next one.
    public var silenceMs: Int

    public init(_ configuration: Configuration = Configuration()) {
        self.configuration = configuration
        silenceMs = configuration.silenceMs
    }

    /// A turn has begun and not ended.
    public var isInTurn: Bool { isSpeaking }
    /// The silence at the turn's end, ms; also just after the turn has ended.
    public var silentMs: Int { silentFrames * EncodedFrame.milliseconds }

    public mutating func process(_ input: VoiceActivity, into output: inout [TurnEvent]) {
        recent = (recent << 1) | (input.isSpeech ? 1 : 0)
        guard isSpeaking else {
            let window = (UInt32(1) << UInt32(configuration.startWindowFrames)) - 1
            guard input.isSpeech, (recent & window).nonzeroBitCount >= configuration.startFrames else { return }
            isSpeaking = true
            framesSinceStart = configuration.startFrames
            silentFrames = 0
            silenceMs = configuration.silenceMs
            reportedMonologue = false
            output.append(.speechStarted)
            return
        }
        framesSinceStart += 1
        silentFrames = input.isSpeech ? 0 : silentFrames + 1
        let spokenMs = (framesSinceStart - silentFrames) * EncodedFrame.milliseconds
        if silentMs >= silenceMs {
            isSpeaking = false
            recent = 0
            output.append(.speechEnded(spokenMs: spokenMs))
        } else if silentMs == configuration.pauseMs {
            output.append(.paused)
        } else if !reportedMonologue, spokenMs >= configuration.monologueMs {
            reportedMonologue = true
            output.append(.monologue(spokenMs: spokenMs))
        }
    }

    public mutating func flush() {
        recent = 0
        isSpeaking = false
    }

    /// The caller's line closed in mid-turn.
    public mutating func finish(into output: inout [TurnEvent]) {
        guard isSpeaking else { return }
        isSpeaking = false
        output.append(.speechEnded(spokenMs: (framesSinceStart - silentFrames) * EncodedFrame.milliseconds))
    }
}

/// Turns of the caller, from the activity that was found before.
public final class TurnStage: CallerStage {
    public let name = "turns"
    private var detector: TurnDetector

    public init(_ configuration: TurnDetector.Configuration) { detector = TurnDetector(configuration) }

    public func process(_ heard: inout HeardFrame) {
        if detector.isInTurn, let silenceMs = heard.call.endOfTurnSilenceMs { detector.silenceMs = silenceMs }
        detector.process(heard.activity, into: &heard.turns)
        heard.isInTurn = detector.isInTurn
        heard.silentMs = detector.silentMs
    }
}
