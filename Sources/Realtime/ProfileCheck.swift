internal import Net
public import Problems

/// What this server can do of an agent's profile: for the check of an agent's document, before it is stored.
///
/// Fields are named as in the document, with dots: `voice.tts_provider`.
public struct ProfileCheck: Sendable {
    public struct Finding: Sendable, Equatable {
        public var field: String
        public var problem: Problem
    }

    private let speech: SpeechSettings
    private let realtime: RealtimeSettings

    public init(speech: SpeechSettings, realtime: RealtimeSettings) {
        self.speech = speech
        self.realtime = realtime
    }

    /// The mode that a call of this agent has.
    public func mode(of profile: AgentProfile) -> AgentProfile.Mode {
        profile.mode ?? (realtime.mode == .realtime ? .realtime : .cascade)
    }

    // MARK: Providers that are not set up

    /// Every provider that the profile names and the server has no key for.
    public func problems(in profile: AgentProfile) -> [Finding] {
        let mode = mode(of: profile)
        guard mode != .embedded else { return [] }
        var named = [
            ("voice.stt_provider", profile.speechToText.provider, { speech.missing(speechToText: $0) }),
            ("llm.provider", profile.languageModel.provider, { speech.missing(languageModel: $0) }),
            ("voice.tts_provider", profile.textToSpeech.provider, { speech.missing(textToSpeech: $0) }),
        ]
        if mode == .realtime {
            named.append(("realtime.provider", profile.speechModel.provider, { realtime.missing(speechModel: $0) }))
        }
        return named.compactMap { field, provider, missing in
            guard let provider, let setting = missing(provider) else { return nil }
            return Finding(
                field: field,
                problem: Problem(.providerNotSetUp, ["provider": .text(provider), "setting": .text(setting)]))
        }
    }

    // MARK: What has no effect

    /// What the profile says and its mode or its first providers have no parameter for.
    public func warnings(for profile: AgentProfile) -> [Finding] {
        let mode = mode(of: profile)
        var findings = Self.without(effectIn: mode, profile)
        let settings = speech.applying(profile), models = realtime.applying(profile)
        func warn(_ field: String, _ provider: String?, if isSo: Bool) {
            guard isSo, let provider else { return }
            findings.append(
                Finding(field: field, problem: Problem(.settingWithoutEffect, ["provider": .text(provider)])))
        }
        if mode != .realtime {
            let recognizer = settings.speechToText.first, voice = settings.textToSpeech.first
            let model = settings.languageModel.first
            let isLocal = ["embedded", "sherpa"]
            warn(
                "stt.keyterms", recognizer,
                if: profile.speechToText.keyterms?.isEmpty == false && recognizer.map(isLocal.contains) == true)
            if recognizer == "deepgram", let terms = profile.speechToText.keyterms {
                let sent = DeepgramRecognizer.keyterms(settings.deepgram).count
                if sent < terms.count {
                    findings.append(
                        Finding(
                            field: "stt.keyterms",
                            problem: Problem(.keytermsNotAllSent, ["provider": "deepgram", "count": .number(sent)])))
                }
            }
            warn(
                "stt.model", recognizer,
                if: profile.speechToText.model != nil && recognizer.map(isLocal.contains) == true)
            warn("llm.model", model, if: profile.languageModel.model != nil && model == "embedded")
            warn("llm.temperature", model, if: profile.languageModel.temperature != nil && model == "embedded")
            let isKnownVoice = profile.textToSpeech.voice.map { FliteVoice(rawValue: $0) != nil } ?? true
            warn("voice.tts_voice_id", voice, if: voice == "embedded" && !isKnownVoice)
            warn("voice.tts_voice_id", voice, if: voice == "sherpa" && profile.textToSpeech.voice != nil)
            warn("voice.speed", voice, if: voice == "deepgram" && profile.textToSpeech.speed != nil)
            findings += Self.speed(profile, voice)
            if model == "embedded" {
                for field in Self.promptFields(profile) {
                    findings.append(Finding(field: field, problem: Problem(.builtInDialogueReadsNone)))
                }
            }
        } else {
            let decidesItself: Bool
            if case .server = models.openAI.turnDetection { decidesItself = false } else { decidesItself = true }
            let model = models.providers.first
            warn(
                "turns.finished_ms", model,
                if: profile.turns.finishedMs != nil && model == "openai" && decidesItself)
            warn(
                "stt.keyterms", model,
                if: profile.speechToText.keyterms?.isEmpty == false
                    && (model == "gemini" || models.openAI.transcriptionModel == nil))
            warn("voice.stt_language", model, if: profile.speechToText.language != nil && model == "gemini")
        }
        return findings
    }

    /// What the dialogue of rules does not read.
    private static func promptFields(_ profile: AgentProfile) -> [String] {
        var fields: [String] = []
        if profile.role != nil { fields.append("context.role") }
        if profile.style != nil { fields.append("context.style") }
        if profile.safetyRules?.isEmpty == false { fields.append("context.safety_rules") }
        if profile.notes?.isEmpty == false { fields.append("context.facts") }
        if profile.handoffCriteria?.isEmpty == false { fields.append("agent.handoff_criteria") }
        return fields
    }

    /// What the mode does not use at all.
    private static func without(effectIn mode: AgentProfile.Mode, _ profile: AgentProfile) -> [Finding] {
        var fields: [String] = []
        if mode == .embedded {
            if profile.speechToText.provider.map({ $0 != "embedded" }) == true { fields.append("voice.stt_provider") }
            if profile.textToSpeech.provider.map({ $0 != "embedded" }) == true { fields.append("voice.tts_provider") }
            if profile.languageModel.provider.map({ $0 != "embedded" }) == true { fields.append("llm.provider") }
        }
        if mode != .realtime {
            if profile.speechModel.provider != nil { fields.append("realtime.provider") }
            if profile.speechModel.model != nil { fields.append("realtime.model") }
            if profile.speechModel.voice != nil { fields.append("realtime.voice") }
        }
        return fields.map {
            Finding(field: $0, problem: Problem(.settingOfAnotherMode, ["mode": .text(mode.rawValue)]))
        }
    }

    /// A pace beyond what the voice can do.
    private static func speed(_ profile: AgentProfile, _ voice: String?) -> [Finding] {
        let speeds: ClosedRange<Double>? =
            switch voice {
            case "cartesia": CartesiaSpeech.speeds
            case "elevenlabs": ElevenLabsSpeech.speeds
            case "openai": OpenAISpeech.speeds
            case "sherpa": SherpaSpeech.speeds
            case "embedded": EmbeddedSpeech.speeds
            default: nil
            }
        guard let speed = profile.textToSpeech.speed, let voice, let speeds, !speeds.contains(speed) else { return [] }
        return [
            Finding(
                field: "voice.speed",
                problem: Problem(
                    .speedNotInRange,
                    [
                        "provider": .text(voice), "least": .text("\(speeds.lowerBound)"),
                        "most": .text("\(speeds.upperBound)"),
                    ]))
        ]
    }
}
