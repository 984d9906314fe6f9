internal import Net
internal import Settings

/// A vendor's service: reached with a key, or without one where another server speaks the same.
protocol VendorService: Sendable {
    associatedtype Address: Equatable & Sendable
    /// The vendor's own, at first.
    var url: Address { get set }
    var apiKey: String? { get set }
    var model: String { get set }
    init()
}

extension VendorService {
    /// The vendor's own server is used without a key.
    var lacksKey: Bool { apiKey == nil && url == Self().url }

    /// Address, key and model.
    /// - Parameters:
    ///   - server: what the address must speak.
    ///   - known: names of the key's variable.
    ///   - unset: whose key is used where this service has none.
    @SettingsBuilder<Self> fileprivate static func serviceKeys(
        _ form: SettingForm<Address>, server: String, model: String = "its model", known: [String] = [],
        unset: String = "none"
    ) -> [Setting<Self>] {
        Setting("url", \.url, form, "server \(server)")
        Setting("api_key", \.apiKey, .text, "its key", unset: unset, isSecret: true, known: known)
        Setting("model", \.model, .text, model)
    }
}

extension OpenAIChat.Configuration: VendorService {
    @SettingsBuilder<Self> static func keys(of provider: SpeechSettings.ChatProvider) -> [Setting<Self>] {
        serviceKeys(
            .webURL, server: "with /chat/completions",
            known: provider.isShared ? [] : [provider.key].compactMap { $0 },
            unset: provider.isShared ? provider.key ?? "none" : "none")
        Setting("tools", \.canCallTools, .flag, "false: the model knows no functions and reports in text")
    }
}

extension DeepgramRecognizer.Configuration: VendorService {
    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        serviceKeys(.webSocketBase, server: "that speaks Deepgram's protocol", known: ["DEEPGRAM_API_KEY"])
        Setting(
            "endpointing_ms", \.endpointingMs, .whole(10...2_000, .milliseconds),
            "silence after which Deepgram takes what was said as a whole")
    }
}

extension OpenAITranscription.Configuration: VendorService {
    static var keys: [Setting<Self>] {
        serviceKeys(.webURL, server: "with /audio/transcriptions", unset: "OPENAI_API_KEY")
    }
}

extension CartesiaSpeech.Configuration: VendorService {
    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        serviceKeys(.webSocketBase, server: "that speaks Cartesia's protocol", known: ["CARTESIA_API_KEY"])
        Setting("voice", \.voice, .text, "id of a voice, at first Cartesia's Katie")
    }
}

extension ElevenLabsSpeech.Configuration: VendorService {
    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        serviceKeys(.webSocketBase, server: "that speaks ElevenLabs' protocol", known: ["ELEVENLABS_API_KEY"])
        Setting("voice", \.voice, .text, "id of a voice, at first ElevenLabs' Rachel")
    }
}

extension DeepgramSpeech.Configuration: VendorService {
    static var keys: [Setting<Self>] {
        serviceKeys(
            .webSocketBase, server: "that speaks Deepgram's protocol", model: "voice and language",
            unset: "DEEPGRAM_API_KEY")
    }
}

extension OpenAISpeech.Configuration: VendorService {
    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        serviceKeys(.webURL, server: "with /audio/speech", unset: "OPENAI_API_KEY")
        Setting("voice", \.voice, .text, "its voice")
        Setting("instructions", \.instructions, .text, "how to speak, e.g. calmly", unset: "none")
    }
}

extension Embeddings.Configuration {
    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        Setting(
            "url", \.url, .webURL, "server with /embeddings, by which knowledge is searched too",
            unset: "words alone are searched")
        Setting("api_key", \.apiKey, .text, "its key", unset: "OPENAI_API_KEY", isSecret: true)
        Setting("model", \.model, .text, "its model")
    }
}
