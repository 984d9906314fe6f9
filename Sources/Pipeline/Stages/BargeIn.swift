/// One frame of a call as barge-in sees it.
public struct BargeInInput: Sendable, Equatable {
    public var isCallerSpeech: Bool
    /// A sound of the caller's that may prove to be speech. It counts as speech from the moment that it does.
    public var isInDoubt: Bool
    /// Our speech is being played to the caller, or held back by a pause.
    public var isAISpeaking: Bool
    /// The caller cannot interrupt now (a disclosure that must be heard).
    public var isMuted: Bool
    /// Words of the caller so far, backchannels not counted; nil where no recogniser tells before the turn's end.
    public var words: Int?
    public init(
        isCallerSpeech: Bool, isInDoubt: Bool = false, isAISpeaking: Bool, isMuted: Bool = false, words: Int? = nil
    ) {
        self.isCallerSpeech = isCallerSpeech
        self.isInDoubt = isInDoubt
        self.isAISpeaking = isAISpeaking
        self.isMuted = isMuted
        self.words = words
    }
}

/// What to do with our speech.
public enum Interruption: Sendable, Equatable {
    /// The caller makes a sound: be silent at once, but lose nothing yet.
    case pause
    /// It was a short noise or a backchannel: go on where we stopped.
    case resume
    /// The caller took the turn: the rest is not said any more.
    case interrupt
}

/// Pause, decide, resume: our speech stops with the caller's second frame of sound, so that we do not talk over
/// the caller; whether it was meant is decided by how long it goes on. Counts frames, reads no clock.
public struct BargeIn: Processor {
    public struct Configuration: Sendable, Equatable {
        /// Caller speech that makes us stop, ms. Two frames are the fastest that a click does not trigger.
        public var minimumMs: Int
        /// Caller speech that makes it an interruption, ms; "mm-hm" is shorter.
        public var confirmMs: Int
        /// Silence after which we go on, ms.
        public var resumeMs: Int
        /// Words that make it an interruption, besides the time, where they are known.
        public var minimumWords: Int
        public init(minimumMs: Int = 40, confirmMs: Int = 300, resumeMs: Int = 300, minimumWords: Int = 1) {
            self.minimumWords = min(max(minimumWords, 0), 20)
            self.minimumMs = min(max(minimumMs, 20), 2_000)
            self.confirmMs = min(max(confirmMs, self.minimumMs), 4_000)
            self.resumeMs = min(max(resumeMs, 100), 4_000)
        }
    }

    private enum State { case idle, paused, fired }
    /// Speech of so many times `confirmMs` is an interruption whatever the recogniser makes of it.
    private static let wordlessFactor = 4

    private let configuration: Configuration
    private var state = State.idle
    private var speechFrames = 0
    /// Frames in doubt since the last frame of speech.
    private var doubtfulFrames = 0
    private var gapFrames = 0

    public init(_ configuration: Configuration = Configuration()) { self.configuration = configuration }

    /// Our speech is held back, and the words of the caller may decide.
    public var isUndecided: Bool { state == .paused }

    public mutating func process(_ input: BargeInInput, into output: inout [Interruption]) {
        if input.isCallerSpeech {
            speechFrames += 1 + doubtfulFrames
            doubtfulFrames = 0
            gapFrames = 0
        } else if input.isInDoubt {
            doubtfulFrames += 1
            gapFrames = 0
        } else {
            gapFrames += 1
            if gapFrames > 1 { doubtfulFrames = 0 }
        }
        let gapMs = gapFrames * EncodedFrame.milliseconds
        let speechMs = speechFrames * EncodedFrame.milliseconds
        switch state {
        case .idle:
            if gapFrames > 1 { speechFrames = 0 }
            let soundMs = speechMs + doubtfulFrames * EncodedFrame.milliseconds
            guard input.isAISpeaking, !input.isMuted, soundMs >= configuration.minimumMs else { return }
            state = .paused
            output.append(.pause)
            confirm(speechMs, input.words, into: &output)
        case .paused:
            confirm(speechMs, input.words, into: &output)
            guard state == .paused, gapMs >= configuration.resumeMs else { return }
            state = .idle
            speechFrames = 0
            output.append(.resume)
        case .fired:
            guard gapFrames > 1 || !input.isAISpeaking else { return }
            state = .idle
            if gapFrames > 1 { speechFrames = 0 }
        }
    }

    private mutating func confirm(_ speechMs: Int, _ words: Int?, into output: inout [Interruption]) {
        guard speechMs >= configuration.confirmMs else { return }
        if let words, words < configuration.minimumWords, speechMs < Self.wordlessFactor * configuration.confirmMs {
            return
        }
        state = .fired
        output.append(.interrupt)
    }

    /// Our speech was given up for another reason.
    public mutating func flush() {
        state = .idle
        speechFrames = 0
        doubtfulFrames = 0
    }
}

/// Whether the caller takes the turn from us.
public final class BargeInStage: CallerStage {
    public let name = "barge-in"
    private var bargeIn: BargeIn

    public init(_ configuration: BargeIn.Configuration) { bargeIn = BargeIn(configuration) }

    public func process(_ heard: inout HeardFrame) {
        bargeIn.process(
            BargeInInput(
                isCallerSpeech: heard.activity.isSpeech, isInDoubt: heard.activity.isInDoubt,
                isAISpeaking: heard.call.isAISpeaking, isMuted: !heard.call.isInterruptible,
                words: heard.call.callerWords),
            into: &heard.interruptions)
    }
}
