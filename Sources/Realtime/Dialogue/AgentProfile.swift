/// What an agent's document says of a conversation beside its `Brief`, resolved when the call was made and kept with
/// it. What is nil is as the configuration says.
public struct AgentProfile: Sendable, Equatable, Codable {
    public enum Mode: String, Sendable, Codable, CaseIterable {
        /// Recogniser, language model and voice.
        case cascade
        /// A speech model.
        case realtime
        /// The built-in engines and nothing else: no fallback leaves the machine.
        case embedded
    }

    public struct SpeechToText: Sendable, Equatable, Codable {
        public var provider: String?
        /// BCP 47; nil: the call's.
        public var language: String?
        public var model: String?
        /// Words that are likelier here than elsewhere.
        public var keyterms: [String]?
        public init() {}
    }

    public struct LanguageModelChoice: Sendable, Equatable, Codable {
        public var provider: String?
        public var model: String?
        public var temperature: Double?
        public init() {}
    }

    public struct TextToSpeech: Sendable, Equatable, Codable {
        public var provider: String?
        /// The vendor's id of a voice.
        public var voice: String?
        /// 1 is the voice's own pace.
        public var speed: Double?
        public init() {}
    }

    public struct SpeechModelChoice: Sendable, Equatable, Codable {
        public var provider: String?
        public var model: String?
        public var voice: String?
        public init() {}
    }

    public struct Turns: Sendable, Equatable, Codable {
        /// Silence that ends a finished sentence, ms.
        public var finishedMs: Int?
        /// Speech that interrupts us, ms.
        public var bargeInConfirmMs: Int?
        public var silencePromptMs: Int?
        public var speaksFirst: Bool?
        public init() {}
    }

    public struct KnowledgeChoice: Sendable, Equatable, Codable {
        /// nil: the set `default`. Empty: none.
        public var sets: [String]?
        /// A question that a pair answers is answered with it, word for word, and no model is asked.
        public var answersDirectly: Bool?
        public init() {}
    }

    public var mode: Mode?
    public var role: String?
    public var style: String?
    public var safetyRules: [String]?
    /// Facts without a question; pairs are `Brief.facts`.
    public var notes: [String]?
    /// Replaces the greeting, word for word.
    public var firstMessage: String?
    public var closing: String?
    public var disclosure: String?
    /// Said before the conversation where it is recorded.
    public var consentLine: String?
    public var savesRecording: Bool?
    /// Reasons for which the caller is put through to a person, e.g. `complex_request`.
    public var handoffCriteria: [String]?
    public var speechToText = SpeechToText()
    public var languageModel = LanguageModelChoice()
    public var textToSpeech = TextToSpeech()
    public var speechModel = SpeechModelChoice()
    public var turns = Turns()
    public var knowledge = KnowledgeChoice()
    public var maxTurns: Int?
    /// Names of the tools that its model may call; nil: those of every call.
    public var tools: [String]?
    /// MCP servers whose tools it may call too; nil: none.
    public var servers: [String]?

    public init() {}
}
