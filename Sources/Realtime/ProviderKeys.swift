internal import Net

/// What single providers lack, for those who name one for a call: an agent's document.
extension SpeechSettings {
    /// The setting that a recogniser lacks; nil: it is set up.
    public func missing(speechToText name: String) -> String? {
        switch name {
        case "deepgram": deepgram.lacksKey ? "DEEPGRAM_API_KEY" : nil
        case "openai": transcription.lacksKey ? "OPENAI_API_KEY" : nil
        // Its models are loaded at the start.
        case "sherpa": speechToText.contains("sherpa") ? nil : "stt.providers"
        default: nil
        }
    }

    /// The setting that a language model lacks; nil: it is set up.
    public func missing(languageModel name: String) -> String? {
        guard lacksKey(chat: name) else { return nil }
        return Self.chatProviders.first { $0.name == name }?.key
    }

    /// The setting that a voice lacks; nil: it is set up.
    public func missing(textToSpeech name: String) -> String? {
        switch name {
        case "cartesia": cartesia.lacksKey ? "CARTESIA_API_KEY" : nil
        case "elevenlabs": elevenLabs.lacksKey ? "ELEVENLABS_API_KEY" : nil
        case "deepgram": deepgramSpeech.lacksKey ? "DEEPGRAM_API_KEY" : nil
        case "openai": openAISpeech.lacksKey ? "OPENAI_API_KEY" : nil
        case "sherpa": textToSpeech.contains("sherpa") ? nil : "tts.providers"
        default: nil
        }
    }
}

extension RealtimeSettings {
    /// The setting that a speech model lacks; nil: it is set up.
    public func missing(speechModel name: String) -> String? {
        switch name {
        case "openai": openAI.url.host == OpenAIRealtime.vendorURL.host && openAI.apiKey == nil ? "OPENAI_API_KEY" : nil
        case "gemini": gemini.url == GeminiLive.vendorURL && gemini.apiKey == nil ? "GEMINI_API_KEY" : nil
        default: nil
        }
    }
}
