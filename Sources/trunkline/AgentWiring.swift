internal import Agents
import Calls
import Foundation
internal import JSON
internal import Pipeline
internal import Problems
import Realtime
internal import Store

extension Configuration {
    /// What agents are checked and completed by.
    /// - Parameter support: how calls in a language can be held with the providers named.
    func agentEnvironment(
        support:
            @escaping @Sendable (_ language: String, _ speechToText: String?, _ textToSpeech: String?) ->
            LanguageSupport
    ) -> AgentEnvironment {
        var environment = AgentEnvironment()
        environment.configured = agentValues
        environment.timeZone = calls.policy.homeZone
        let (speech, realtime) = (speech, realtime)
        environment.missing = { provider, name in
            switch provider {
            case .speechToText: speech.missing(speechToText: name)
            case .languageModel: speech.missing(languageModel: name)
            case .textToSpeech: speech.missing(textToSpeech: name)
            case .speechModel: realtime.missing(speechModel: name)
            }
        }
        environment.warning = { language, recogniser, voice in
            var calls = CallSettings()
            calls.support = { support($0, recogniser, voice) }
            return calls.warning(language: language)
        }
        return environment
    }

    /// The configuration's values, by the paths of an agent's leaves.
    private var agentValues: [String: JSONValue] {
        let conversation = calls.conversation, model = speech.languageModel.first ?? ""
        var values: [String: JSONValue] = [
            "language": .string(calls.language), "mode": .string(realtime.mode.rawValue),
            "first_message": .optional(calls.greetingTemplate), "closing": .optional(calls.closingTemplate),
            "disclosure": .optional(conversation.policy.disclosure),
            "voice.tts_provider": .optional(speech.textToSpeech.first),
            "voice.stt_provider": .optional(speech.speechToText.first), "llm.provider": .string(model),
            "realtime.provider": .optional(realtime.providers.first),
            "turns.finished_ms": .whole(conversation.policy.endOfTurn.finishedMs),
            "turns.barge_in.confirm_ms": .whole(conversation.bargeIn.confirmMs),
            "turns.silence_prompt_ms": .whole(conversation.policy.silencePromptMs),
            "turns.speaks_first": .bool(conversation.policy.speaksFirst),
            "voicemail.action": .optional(calls.voicemail.action?.rawValue),
            "voicemail.message": .optional(calls.voicemail.message), "recording.save": .bool(calls.savesRecording),
            "limits.max_duration": .whole(min(Call.usualDuration, calls.maxCallDuration)),
            "limits.max_turns": .whole(calls.maxTurns),
        ]
        if let chat = speech.chat[model] {
            values["llm.model"] = .string(chat.model)
            values["llm.temperature"] = .optional(chat.temperature)
        }
        switch realtime.providers.first {
        case "openai":
            values["realtime.model"] = .string(realtime.openAI.model)
            values["realtime.voice"] = .string(realtime.openAI.voice)
        case "gemini":
            values["realtime.model"] = .string(realtime.gemini.model)
            values["realtime.voice"] = .optional(realtime.gemini.voice)
        default: break
        }
        return values
    }

    /// How calls can be held by an agent that names providers: engines are made for the question and given up.
    func agentSupport(
        _ catalog: SpeechCatalog, make: @escaping @Sendable (SpeechSettings) -> SpeechCatalog
    ) -> @Sendable (_ language: String, _ speechToText: String?, _ textToSpeech: String?) -> LanguageSupport {
        let usual = languageSupport(catalog), speech = speech
        return { language, recogniser, voice in
            guard recogniser != nil || voice != nil else { return usual(language) }
            var own = speech
            if let recogniser { own.speechToText = [recogniser] }
            if let voice { own.textToSpeech = [voice] }
            return make(own).support(of: language)
        }
    }
}
