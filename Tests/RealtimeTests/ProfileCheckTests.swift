import Problems
import Testing

@testable import Realtime

/// What is said of an agent's document before it is stored.
@Suite struct ProfileCheckTests {
    private func check(_ change: (inout SpeechSettings, inout RealtimeSettings) -> Void = { _, _ in }) -> ProfileCheck {
        var speech = SpeechSettings(), realtime = RealtimeSettings()
        change(&speech, &realtime)
        return ProfileCheck(speech: speech, realtime: realtime)
    }

    @Test func everyProviderThatIsNotSetUpIsNamedWithItsVariable() {
        var profile = AgentProfile()
        profile.mode = .realtime
        profile.speechToText.provider = "deepgram"
        profile.languageModel.provider = "groq"
        profile.textToSpeech.provider = "cartesia"
        profile.speechModel.provider = "gemini"
        let problems = check().problems(in: profile)
        #expect(
            problems.map { "\($0.field): \($0.problem.message)" } == [
                "voice.stt_provider: deepgram is not set up (DEEPGRAM_API_KEY)",
                "llm.provider: groq is not set up (GROQ_API_KEY)",
                "voice.tts_provider: cartesia is not set up (CARTESIA_API_KEY)",
                "realtime.provider: gemini is not set up (GEMINI_API_KEY)",
            ])
        let ready = check { speech, realtime in
            speech.deepgram.apiKey = "key"
            speech[chat: "groq"].url = "http://127.0.0.1:1"
            speech.cartesia.apiKey = "key"
            realtime.gemini.apiKey = "key"
        }
        #expect(ready.problems(in: profile).isEmpty)
    }

    @Test func whatNeedsNoKeyIsSetUp() {
        var profile = AgentProfile()
        profile.speechToText.provider = "embedded"
        profile.languageModel.provider = "ollama"
        profile.textToSpeech.provider = "embedded"
        #expect(check().problems(in: profile).isEmpty)
        profile.textToSpeech.provider = "sherpa"
        #expect(check().problems(in: profile).map(\.problem.message) == ["sherpa is not set up (tts.providers)"])
        #expect(check { speech, _ in speech.textToSpeech = ["sherpa"] }.problems(in: profile).isEmpty)
        // Another mode does not use it.
        profile.mode = .embedded
        #expect(check().problems(in: profile).isEmpty)
        profile.speechModel.provider = "gemini"
        profile.mode = .cascade
        profile.textToSpeech.provider = nil
        #expect(check().problems(in: profile).isEmpty)
    }

    @Test func whatHasNoEffectIsWarnedOf() {
        var profile = AgentProfile()
        profile.mode = .embedded
        profile.role = "A waiter."
        profile.safetyRules = ["Be kind."]
        profile.notes = ["We have a garden."]
        profile.handoffCriteria = ["complaint"]
        profile.speechToText.provider = "deepgram"
        profile.speechToText.keyterms = ["Trunkline"]
        profile.languageModel.temperature = 1
        profile.textToSpeech.voice = "nobody"
        profile.textToSpeech.speed = 3
        profile.speechModel.voice = "marin"
        #expect(
            check().warnings(for: profile).map(\.field) == [
                "voice.stt_provider", "realtime.voice", "stt.keyterms", "llm.temperature", "voice.tts_voice_id",
                "voice.speed", "context.role", "context.safety_rules", "context.facts", "agent.handoff_criteria",
            ])
        var plain = AgentProfile()
        plain.mode = .embedded
        plain.textToSpeech.voice = "rms"
        plain.textToSpeech.speed = 1.5
        plain.firstMessage = "Hello."
        #expect(check().warnings(for: plain).isEmpty)
    }

    @Test func warningsAreOfTheProviderThatComesFirst() {
        var profile = AgentProfile()
        profile.speechToText.provider = "deepgram"
        profile.speechToText.keyterms = Array(repeating: String(repeating: "x", count: 50), count: 100)
        profile.languageModel.provider = "groq"
        profile.languageModel.temperature = 1
        profile.textToSpeech.provider = "deepgram"
        profile.textToSpeech.speed = 1.2
        profile.role = "A waiter."
        let warnings = check().warnings(for: profile)
        #expect(warnings.map(\.field) == ["stt.keyterms", "voice.speed"])
        #expect(warnings.last?.problem.message == "deepgram has no such setting: it has no effect")
        profile.textToSpeech.provider = "elevenlabs"
        profile.textToSpeech.speed = 2
        #expect(
            check().warnings(for: profile).last?.problem.message
                == "elevenlabs speaks at 0.7 to 1.2 of its pace: the nearest is taken")
    }

    @Test func aSpeechModelHasItsOwn() {
        var profile = AgentProfile()
        profile.mode = .realtime
        profile.turns.finishedMs = 300
        profile.speechToText.keyterms = ["Trunkline"]
        #expect(check().warnings(for: profile).isEmpty)
        #expect(
            check { _, realtime in realtime.openAI.turnDetection = .manual }.warnings(for: profile).map(\.field)
                == ["turns.finished_ms"])
        profile.speechModel.provider = "gemini"
        #expect(check().warnings(for: profile).map(\.field) == ["stt.keyterms"])
    }
}
