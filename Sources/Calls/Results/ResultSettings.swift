public import Realtime
public import Settings

/// What is made of calls that have ended, beside their record.
public struct ResultSettings: Sendable {
    /// The word that stands for no model.
    private static let template = "template"

    /// Model that sums calls up, as NAME or PROVIDER/NAME; nil: Gemini's with a key for it, else the agent's.
    public var summaryModel: String?
    /// Where results are posted in the older orchestrator's form.
    public var callbackURL: String?
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "outbound.result.summary_model", \.summaryModel, .text,
            "model that sums calls up, as NAME or PROVIDER/NAME; template: none",
            unset: "Gemini's with GEMINI_API_KEY, else the agent's")
        Setting(
            "result_callback_url", \.callbackURL, .text,
            "https: URL that results are posted to in the older orchestrator's form", unset: "none")
    }

    /// The model that sums calls up; nil: the template does.
    /// - Throws: where it is named and cannot be used.
    public func summaryChat(
        of calls: CallSettings, speech: SpeechSettings, mode: RealtimeSettings.Mode
    ) throws(ConfigurationError) -> OpenAIChat.Configuration? {
        guard calls.generatesSummary, summaryModel != Self.template else { return nil }
        let own = mode == .cascade ? speech.languageModel.first { $0 != "embedded" } : nil
        guard let summaryModel else {
            if let gemini = speech.chat["gemini"], gemini.apiKey != nil {
                return Self.model(SpeechSettings().chat["gemini"]?.model ?? gemini.model, of: gemini)
            }
            return own.flatMap { speech.chat[$0] }
        }
        let parts = summaryModel.split(separator: "/", maxSplits: 1).map(String.init)
        let named = parts.count == 2 && speech.chat[parts[0]] != nil
        let provider = named ? parts[0] : summaryModel.hasPrefix("gemini") ? "gemini" : own ?? "openai"
        guard let chat = speech.chat[provider] else {
            throw ConfigurationError("outbound.result.summary_model: there is no provider \(provider)")
        }
        guard !speech.lacksKey(chat: provider) else {
            throw ConfigurationError(
                "outbound.result.summary_model is \(summaryModel): set the key of \(provider), or llm.\(provider).url")
        }
        return Self.model(named ? parts[1] : summaryModel, of: chat)
    }

    private static func model(_ name: String, of chat: OpenAIChat.Configuration) -> OpenAIChat.Configuration {
        var chat = chat
        chat.model = name
        return chat
    }
}

extension CallSettings {
    @SettingsBuilder<Self> static var resultKeys: [Setting<Self>] {
        Setting("outbound.result.save_transcript", \.savesTranscript, .flag, "keep what was said, as text")
        Setting("outbound.result.save_recording", \.savesRecording, .flag, "keep what was said, as sound")
        Setting("outbound.result.generate_summary", \.generatesSummary, .flag, "sum calls up")
    }
}

extension PriceList {
    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        Setting("currency", \.currency, currencyForm, "of prices and costs, ISO 4217")
        Setting(
            "prices", \.prices, .list(of: priceForm),
            "what is charged, e.g. telephony/sip minute 0.012; the cost of what has no price is unknown", unset: "none")
    }

    private static let currencyForm = SettingForm<String>(
        "three letters", problem: "must be three letters, e.g. USD", format: { $0 },
        parse: { $0.count == 3 && $0.allSatisfy { $0.isASCII && $0.isUppercase } ? $0 : nil })

    private static let units = Price.Unit.allCases.map(\.rawValue).joined(separator: ", ")

    private static let priceForm = SettingForm<Price>(
        "COMPONENT UNIT AMOUNT, units \(units)", problem: "is no COMPONENT UNIT AMOUNT; units are \(units)",
        parse: { Price($0) })
}
