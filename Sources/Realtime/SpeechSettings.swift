public import Settings

/// Which engines a cascade uses, and what they need.
public struct SpeechSettings: Sendable {
    public static let speechToTextNames = ["embedded", "deepgram", "openai", "sherpa"]
    public static let languageModelNames = ["embedded"] + chatProviders.map(\.name)
    public static let textToSpeechNames = ["embedded", "cartesia", "elevenlabs", "deepgram", "openai", "sherpa"]

    /// Best first.
    public var speechToText = ["embedded"]
    public var languageModel = ["embedded"]
    public var textToSpeech = ["embedded"]

    public var deepgram = DeepgramRecognizer.Configuration()
    public var transcription = OpenAITranscription.Configuration()
    /// By the names of `chatProviders`.
    public var chat: [String: OpenAIChat.Configuration]
    public var cartesia = CartesiaSpeech.Configuration()
    public var elevenLabs = ElevenLabsSpeech.Configuration()
    public var deepgramSpeech = DeepgramSpeech.Configuration()
    public var openAISpeech = OpenAISpeech.Configuration()
    public var embeddings = Embeddings.Configuration()

    public init() {
        chat = Dictionary(uniqueKeysWithValues: Self.chatProviders.map { ($0.name, $0.configuration) })
    }

    /// A server of chat completions.
    struct ChatProvider: Sendable {
        var name: String
        var url: String
        var model: String
        /// The variable that holds the key; nil: it needs none.
        var key: String?
        /// The variable is that of the vendor's speech model, whose key is used for both.
        var isShared = false

        var configuration: OpenAIChat.Configuration {
            var configuration = OpenAIChat.Configuration()
            configuration.name = name
            configuration.url = url
            configuration.model = model
            return configuration
        }
    }

    /// Another one is one more line.
    static let chatProviders = [
        ChatProvider(
            name: "openai", url: OpenAIChat.Configuration().url, model: OpenAIChat.Configuration().model,
            key: "OPENAI_API_KEY", isShared: true),
        ChatProvider(
            name: "groq", url: "https://api.groq.com/openai/v1", model: "llama-3.3-70b-versatile", key: "GROQ_API_KEY"),
        ChatProvider(
            name: "gemini", url: "https://generativelanguage.googleapis.com/v1beta/openai", model: "gemini-2.5-flash",
            key: "GEMINI_API_KEY", isShared: true),
        ChatProvider(name: "ollama", url: "http://127.0.0.1:11434/v1", model: "llama3.1"),
    ]

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting("stt.providers", \.speechToText, .names(of: speechToTextNames), "recognisers")
        DeepgramRecognizer.Configuration.keys.under(\.deepgram, "stt.deepgram")
        OpenAITranscription.Configuration.keys.under(\.transcription, "stt.openai")
        Setting("llm.providers", \.languageModel, .names(of: languageModelNames), "language models")
        Setting("llm.temperature", \.temperature, .decimal(0...2), "how freely every language model chooses its words")
        for provider in chatProviders {
            OpenAIChat.Configuration.keys(of: provider).under(\.[chat: provider.name], "llm.\(provider.name)")
        }
        Setting("tts.providers", \.textToSpeech, .names(of: textToSpeechNames), "voices")
        CartesiaSpeech.Configuration.keys.under(\.cartesia, "tts.cartesia")
        ElevenLabsSpeech.Configuration.keys.under(\.elevenLabs, "tts.elevenlabs")
        DeepgramSpeech.Configuration.keys.under(\.deepgramSpeech, "tts.deepgram")
        OpenAISpeech.Configuration.keys.under(\.openAISpeech, "tts.openai")
        Embeddings.Configuration.keys.under(\.embeddings, "knowledge.embeddings")
    }

    subscript(chat name: String) -> OpenAIChat.Configuration {
        get { chat[name] ?? OpenAIChat.Configuration() }
        set { chat[name] = newValue }
    }

    /// Of every language model.
    var temperature: Double {
        get { self[chat: "openai"].temperature ?? 0 }
        set { for name in chat.keys { chat[name]?.temperature = newValue } }
    }

    /// Gives one key to all services of a vendor that have none of their own.
    /// - Parameters:
    ///   - openAI: of OpenAI's speech model.
    ///   - gemini: of Gemini's.
    public mutating func share(openAI: String?, gemini: String?) {
        func fill(_ key: inout String?, _ other: String?) { if key == nil { key = other } }
        fill(&deepgramSpeech.apiKey, deepgram.apiKey)
        fill(&transcription.apiKey, openAI)
        fill(&openAISpeech.apiKey, openAI)
        fill(&embeddings.apiKey, openAI)
        fill(&self[chat: "openai"].apiKey, openAI)
        fill(&self[chat: "gemini"].apiKey, gemini)
    }

    /// A vendor's own server is used without a key.
    public func lacksKey(chat name: String) -> Bool {
        guard let provider = Self.chatProviders.first(where: { $0.name == name }), provider.key != nil else {
            return false
        }
        return chat[name]?.apiKey == nil && chat[name]?.url == provider.url
    }

    /// The key that is missing; nil: none.
    public func problem() -> String? {
        let services = [
            ("stt.providers", speechToText, "deepgram", "DEEPGRAM_API_KEY", deepgram.lacksKey),
            ("stt.providers", speechToText, "openai", "OPENAI_API_KEY", transcription.lacksKey),
            ("tts.providers", textToSpeech, "cartesia", "CARTESIA_API_KEY", cartesia.lacksKey),
            ("tts.providers", textToSpeech, "elevenlabs", "ELEVENLABS_API_KEY", elevenLabs.lacksKey),
            ("tts.providers", textToSpeech, "deepgram", "DEEPGRAM_API_KEY", deepgramSpeech.lacksKey),
            ("tts.providers", textToSpeech, "openai", "OPENAI_API_KEY", openAISpeech.lacksKey),
        ]
        for (key, inUse, name, variable, lacksKey) in services where lacksKey && inUse.contains(name) {
            return "\(key) has \(name): set \(variable), or the url of another server"
        }
        for provider in Self.chatProviders where languageModel.contains(provider.name) {
            guard let key = provider.key, lacksKey(chat: provider.name) else { continue }
            return "llm.providers has \(provider.name): set \(key), or llm.\(provider.name).url to another server"
        }
        return nil
    }
}
