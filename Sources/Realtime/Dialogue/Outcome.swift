public import Pipeline

/// Who or what answered the call.
public enum AnsweredBy: String, Sendable, Codable { case human, voicemail, screening, unknown }

/// A line of the transcript. The transcript says what was heard, not what was generated.
public struct TranscriptEntry: Sendable, Equatable, Codable {
    public enum Speaker: String, Sendable, Codable { case ai, customer }
    /// Milliseconds since the answer; the same clock as the recording.
    public var startMs: Int
    public var endMs: Int
    public var speaker: Speaker
    public var text: String
    /// Of an AI turn that the callee interrupted: the part that was heard.
    public var heardText: String?
    public var isInterrupted: Bool
    /// The engine reported the times of its words; otherwise the place of the interruption in the text is estimated
    /// from the share of the sound that was played.
    public var isCutExact: Bool?
    /// Titles of the knowledge that the entry uses.
    public var sources: [String]?
    public init(
        startMs: Int, endMs: Int, speaker: Speaker, text: String, heardText: String? = nil, isInterrupted: Bool = false,
        isCutExact: Bool? = nil, sources: [String]? = nil
    ) {
        self.startMs = startMs
        self.endMs = endMs
        self.speaker = speaker
        self.text = text
        self.heardText = heardText
        self.isInterrupted = isInterrupted
        self.isCutExact = isCutExact
        self.sources = sources
    }
}

/// How the time until one of our answers was spent, milliseconds.
public struct TurnLatency: Sendable, Equatable, Codable {
    /// From the caller's last speech to the decision that the turn is over.
    public var endOfTurnMs: Int
    /// To the final transcript, the model's first words, the first synthesised audio, the first frame sent.
    public var speechToTextMs: Int
    public var languageModelMs: Int
    public var textToSpeechMs: Int
    public var queueingMs: Int
    /// Position of the answer in the transcript.
    public var turn: Int?
    public init(endOfTurnMs: Int, speechToTextMs: Int, languageModelMs: Int, textToSpeechMs: Int, queueingMs: Int) {
        self.endOfTurnMs = endOfTurnMs
        self.speechToTextMs = speechToTextMs
        self.languageModelMs = languageModelMs
        self.textToSpeechMs = textToSpeechMs
        self.queueingMs = queueingMs
    }

    /// From the caller's last speech to our first sample.
    public var voiceToVoiceMs: Int { endOfTurnMs + speechToTextMs + languageModelMs + textToSpeechMs + queueingMs }
}

/// The result of a conversation.
public struct Outcome: Sendable, Equatable {
    public var endReason: EndReason
    public var tracker: TaskTracker
    public var answeredBy: AnsweredBy
    public var transcript: [TranscriptEntry]
    public var latencies: [TurnLatency]
    public var interruptions: Int
    /// What failed, if `endReason` is `providerError`; for the operator.
    public var failure: String?
    /// The final figures of the call's stages and queues.
    public var graph: GraphReading?
    public init(
        endReason: EndReason, tracker: TaskTracker, answeredBy: AnsweredBy, transcript: [TranscriptEntry],
        latencies: [TurnLatency], interruptions: Int, failure: String? = nil,
        graph: GraphReading? = nil
    ) {
        self.endReason = endReason
        self.tracker = tracker
        self.answeredBy = answeredBy
        self.transcript = transcript
        self.latencies = latencies
        self.interruptions = interruptions
        self.failure = failure
        self.graph = graph
    }
}
