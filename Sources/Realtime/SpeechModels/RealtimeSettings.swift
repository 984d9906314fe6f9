internal import Net
public import Settings

/// How conversations are held, and the speech models with the order in which they are tried.
public struct RealtimeSettings: Sendable {
    /// Recogniser, language model and voice; or a speech model.
    public enum Mode: String, Sendable, CaseIterable { case cascade, realtime }

    public static let modelNames = ["openai", "gemini"]

    public var mode = Mode.cascade
    /// Best first.
    public var providers = ["openai"]
    public var openAI = OpenAIRealtime.Configuration()
    public var gemini = GeminiLive.Configuration()
    /// The cascade takes over where no speech model can be had.
    public var fallsBack = true
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "agent.mode", \.mode, .choice, "cascade: recogniser, language model and voice; realtime: a speech model")
        Setting(
            "agent.fallback", \.fallsBack, .flag, "let the cascade take over when no speech model can be had")
        Setting("realtime.providers", \.providers, .names(of: modelNames), "speech models")
        OpenAIRealtime.Configuration.keys.under(\.openAI, "realtime.openai")
        GeminiLive.Configuration.keys.under(\.gemini, "realtime.gemini")
    }

    /// Those that are set up, of the ones that are to be tried; all of them where none is.
    public var usableProviders: [String] {
        let usable = providers.filter { missing(speechModel: $0) == nil }
        return usable.isEmpty ? providers : usable
    }

    /// The key that is missing; nil: none.
    public func problem() -> String? {
        guard mode == .realtime else { return nil }
        if openAI.url.host == OpenAIRealtime.vendorURL.host, openAI.apiKey == nil, providers.contains("openai") {
            return "agent.mode is realtime: set OPENAI_API_KEY, or realtime.openai.url to another server"
        }
        if gemini.url == GeminiLive.vendorURL, gemini.apiKey == nil, providers.contains("gemini") {
            return "realtime.providers has gemini: set GEMINI_API_KEY, or realtime.gemini.url to another server"
        }
        return nil
    }
}

extension OpenAIRealtime.Configuration {
    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        Setting("url", \.url, .webSocketURL, "server that speaks OpenAI Realtime")
        Setting("api_key", \.apiKey, .text, "its key", unset: "none", isSecret: true, known: ["OPENAI_API_KEY"])
        Setting("model", \.model, .text, "speech model", known: ["OPENAI_REALTIME_MODEL"])
        Setting("voice", \.voice, .text, "its voice", known: ["OPENAI_RESPONSE_VOICE"])
        Setting(
            "format", \.isMuLaw, .oneOf([("mulaw", true), ("pcm", false)]),
            "sound: mulaw goes straight through, pcm has 24 kHz")
        Setting(
            "transcription_model", \.transcriptionModel, .orNone(.text),
            "what transcribes the caller; none: nothing does")
        Setting(
            "turn_detection", \.turnDetection,
            .oneOf([("server", .byServer), ("semantic", .semantic(eagerness: "auto")), ("manual", .manual)]),
            "who decides that the caller's turn is over; manual: our own detector")
        Setting(
            "session_limit", \.lifetimeMs,
            SettingForm<UInt64>.whole(1...3_540, .seconds).mapped({ $0 * 1_000 }) { $0 / 1_000 },
            "age at which a new session takes over in a quiet moment")
    }
}

extension GeminiLive.Configuration {
    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        Setting("url", \.url, .webSocketURL, "server that speaks Gemini Live")
        Setting("api_key", \.apiKey, .text, "its key", unset: "none", isSecret: true, known: ["GEMINI_API_KEY"])
        Setting("model", \.model, .text, "speech model")
        Setting("voice", \.voice, .text, "its voice", unset: "the model's choice")
    }
}
