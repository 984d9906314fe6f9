/// How a call can be held in a language.
public enum LanguageSupport: Sendable, Equatable {
    /// The AI speaks it and understands callers.
    case understood
    /// The AI speaks it; callers answer by keypad.
    case keypad
    /// No voice speaks it.
    case silent
}

extension SpeechCatalog {
    /// The embedded dialogue has words for these.
    public static var embeddedLanguages: [String] { PolicyTexts.languages }

    /// What the engines of a call in this language can do, as its agent chooses them.
    public func support(of language: String, profile: AgentProfile? = nil) -> LanguageSupport {
        let engines = engines(language: language, profile: profile)
        guard engines.textToSpeech.speaks(language: language) else { return .silent }
        return engines.speechToText.recognizes(language: language) ? .understood : .keypad
    }
}
