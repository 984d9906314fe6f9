/// One frame of a call as barge-in sees it.
public struct BargeInInput: Sendable, Equatable {
    public var isCallerSpeech: Bool
    /// Our speech is being played to the caller.
    public var isAISpeaking: Bool
    /// The caller cannot interrupt now (a disclosure that must be heard).
    public var isMuted: Bool
    public init(isCallerSpeech: Bool, isAISpeaking: Bool, isMuted: Bool = false) {
        self.isCallerSpeech = isCallerSpeech
        self.isAISpeaking = isAISpeaking
        self.isMuted = isMuted
    }
}

/// Stop speaking: the caller took the turn.
public struct Interruption: Sendable, Equatable {
    public init() {}
}

/// Decides when a caller's sound over our speech is an interruption: after `minimumMs` of speech with no gap longer
/// than one frame. Counts frames, reads no clock.
public struct BargeIn: Processor {
    public struct Configuration: Sendable, Equatable {
        /// Caller speech needed to interrupt, ms. Two frames are the fastest that a click does not trigger.
        public var minimumMs = 40
        public init(minimumMs: Int = 40) { self.minimumMs = min(max(minimumMs, 20), 2_000) }
    }

    private let configuration: Configuration
    private var speechFrames = 0
    private var gapFrames = 0
    private var fired = false

    public init(_ configuration: Configuration = Configuration()) { self.configuration = configuration }

    public mutating func process(_ input: BargeInInput, into output: inout [Interruption]) {
        if input.isCallerSpeech {
            speechFrames += 1
            gapFrames = 0
        } else {
            gapFrames += 1
            if gapFrames > 1 {
                speechFrames = 0
                fired = false
            }
        }
        guard input.isAISpeaking, !input.isMuted else {
            if !input.isAISpeaking { fired = false }
            return
        }
        if !fired, speechFrames * EncodedFrame.milliseconds >= configuration.minimumMs {
            fired = true
            output.append(Interruption())
        }
    }

    public mutating func flush() {
        speechFrames = 0
        fired = false
    }
}
