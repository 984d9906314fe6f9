/// What an agent's profile changes for its calls. The provider that it names comes first, the configured ones behind
/// it. A model or a voice is a vendor's own name, so it is the first provider's alone; language, key terms, pace and
/// temperature are everyone's.
extension SpeechSettings {
    public func applying(_ profile: AgentProfile?) -> SpeechSettings {
        guard let profile else { return self }
        var settings = self
        settings.speechToText = Self.first(profile.speechToText.provider, of: speechToText)
        settings.languageModel = Self.first(profile.languageModel.provider, of: languageModel)
        settings.textToSpeech = Self.first(profile.textToSpeech.provider, of: textToSpeech)
        if profile.mode == .embedded {
            settings.speechToText = ["embedded"]
            settings.languageModel = ["embedded"]
            settings.textToSpeech = ["embedded"]
        }
        settings.apply(profile.speechToText)
        settings.apply(profile.languageModel)
        settings.apply(profile.textToSpeech)
        return settings
    }

    static func first(_ named: String?, of configured: [String]) -> [String] {
        named.map { name in [name] + configured.filter { $0 != name } } ?? configured
    }

    private mutating func apply(_ choice: AgentProfile.SpeechToText) {
        deepgram.keyterms = choice.keyterms ?? []
        transcription.keyterms = choice.keyterms ?? []
        guard let model = choice.model else { return }
        switch speechToText.first {
        case "deepgram": deepgram.model = model
        case "openai": transcription.model = model
        default: break
        }
    }

    private mutating func apply(_ choice: AgentProfile.LanguageModelChoice) {
        if let temperature = choice.temperature { self.temperature = temperature }
        if let model = choice.model, let name = languageModel.first, chat[name] != nil {
            self[chat: name].model = model
        }
    }

    private mutating func apply(_ choice: AgentProfile.TextToSpeech) {
        cartesia.speed = choice.speed
        elevenLabs.speed = choice.speed
        openAISpeech.speed = choice.speed
        guard let voice = choice.voice else { return }
        switch textToSpeech.first {
        case "cartesia": cartesia.voice = voice
        case "elevenlabs": elevenLabs.voice = voice
        // A model of Deepgram's is a voice.
        case "deepgram": deepgramSpeech.model = voice
        case "openai": openAISpeech.voice = voice
        default: break
        }
    }
}

extension RealtimeSettings {
    public func applying(_ profile: AgentProfile?) -> RealtimeSettings {
        guard let profile else { return self }
        var settings = self
        switch profile.mode {
        case .realtime: settings.mode = .realtime
        case .cascade, .embedded: settings.mode = .cascade
        case nil: break
        }
        settings.providers = SpeechSettings.first(profile.speechModel.provider, of: providers)
        settings.openAI.keyterms = profile.speechToText.keyterms ?? []
        settings.openAI.transcriptionLanguage = profile.speechToText.language
        if let silenceMs = profile.turns.finishedMs {
            if case .server(_, let threshold, let prefixMs) = openAI.turnDetection {
                settings.openAI.turnDetection = .server(
                    silenceMs: silenceMs, threshold: threshold, prefixMs: prefixMs)
            }
            settings.gemini.silenceMs = silenceMs
        }
        switch settings.providers.first {
        case "gemini":
            if let model = profile.speechModel.model { settings.gemini.model = model }
            if let voice = profile.speechModel.voice { settings.gemini.voice = voice }
        default:
            if let model = profile.speechModel.model { settings.openAI.model = model }
            if let voice = profile.speechModel.voice { settings.openAI.voice = voice }
        }
        return settings
    }
}
