import Net
import Pipeline
import Synchronization
import Testing

@testable import Realtime

/// The engines that a call has by what its agent says.
@Suite struct SpeechProfileTests {
    private static var settings: SpeechSettings {
        var settings = SpeechSettings()
        settings.speechToText = ["openai", "embedded"]
        settings.languageModel = ["openai", "embedded"]
        settings.textToSpeech = ["elevenlabs", "cartesia", "embedded"]
        return settings
    }

    @Test func theNamedProviderComesFirstAndTheConfiguredOnesBehindIt() {
        var profile = AgentProfile()
        profile.speechToText.provider = "deepgram"
        profile.languageModel.provider = "groq"
        profile.textToSpeech.provider = "cartesia"
        let own = Self.settings.applying(profile)
        #expect(own.speechToText == ["deepgram", "openai", "embedded"])
        #expect(own.languageModel == ["groq", "openai", "embedded"])
        #expect(own.textToSpeech == ["cartesia", "elevenlabs", "embedded"])
        #expect(Self.settings.applying(nil).textToSpeech == Self.settings.textToSpeech)
    }

    @Test func modelsAndVoicesAreTheFirstProvidersAlone() {
        var profile = AgentProfile()
        profile.speechToText.provider = "deepgram"
        profile.speechToText.model = "nova-2"
        profile.languageModel.provider = "groq"
        profile.languageModel.model = "small"
        profile.textToSpeech.provider = "cartesia"
        profile.textToSpeech.voice = "064b"
        let plain = Self.settings, own = plain.applying(profile)
        #expect(own.deepgram.model == "nova-2" && own.transcription.model == plain.transcription.model)
        #expect(own[chat: "groq"].model == "small" && own[chat: "openai"].model == plain[chat: "openai"].model)
        #expect(own.cartesia.voice == "064b" && own.elevenLabs.voice == plain.elevenLabs.voice)
    }

    @Test func aVoiceWithoutAProviderIsTheFirstConfiguredOnes() {
        var profile = AgentProfile()
        profile.textToSpeech.voice = "rachel"
        profile.speechToText.model = "whisper-1"
        profile.languageModel.model = "gpt-5"
        let own = Self.settings.applying(profile)
        #expect(own.elevenLabs.voice == "rachel" && own.cartesia.voice == Self.settings.cartesia.voice)
        #expect(own.transcription.model == "whisper-1" && own[chat: "openai"].model == "gpt-5")
    }

    @Test func paceTemperatureAndKeyTermsAreEveryones() {
        var profile = AgentProfile()
        profile.textToSpeech.speed = 1.1
        profile.languageModel.temperature = 0.9
        profile.speechToText.keyterms = ["Trunkline"]
        let own = Self.settings.applying(profile)
        #expect(own.cartesia.speed == 1.1 && own.elevenLabs.speed == 1.1 && own.openAISpeech.speed == 1.1)
        #expect(own.chat.values.allSatisfy { $0.temperature == 0.9 })
        #expect(own.deepgram.keyterms == ["Trunkline"] && own.transcription.keyterms == ["Trunkline"])
    }

    @Test func embeddedIsAPromise() {
        var profile = AgentProfile()
        profile.mode = .embedded
        profile.speechToText.provider = "deepgram"
        profile.languageModel.provider = "groq"
        profile.textToSpeech.provider = "cartesia"
        let own = Self.settings.applying(profile)
        for names in [own.speechToText, own.languageModel, own.textToSpeech] { #expect(names == ["embedded"]) }
        var realtime = RealtimeSettings()
        realtime.mode = .realtime
        #expect(realtime.applying(profile).mode == .cascade)
    }

    @Test func aSpeechModelIsChosen() {
        var realtime = RealtimeSettings()
        realtime.gemini.apiKey = "key"
        var profile = AgentProfile()
        profile.mode = .realtime
        profile.speechModel.provider = "gemini"
        profile.speechModel.model = "live"
        profile.speechModel.voice = "Kore"
        profile.turns.finishedMs = 300
        profile.speechToText.keyterms = ["Trunkline"]
        profile.speechToText.language = "ko-KR"
        let own = realtime.applying(profile)
        #expect(own.mode == .realtime && own.providers == ["gemini", "openai"])
        #expect(own.usableProviders == ["gemini"], "the other one has no key")
        #expect(own.gemini.model == "live" && own.gemini.voice == "Kore" && own.gemini.silenceMs == 300)
        #expect(own.openAI.model == realtime.openAI.model && own.openAI.voice == realtime.openAI.voice)
        #expect(own.openAI.turnDetection == .server(silenceMs: 300, threshold: 0.5, prefixMs: 300))
        #expect(own.openAI.keyterms == ["Trunkline"] && own.openAI.transcriptionLanguage == "ko-KR")
        profile.mode = nil
        profile.speechModel.provider = "openai"
        #expect(realtime.applying(profile).mode == .cascade && realtime.applying(profile).openAI.voice == "Kore")
        #expect(RealtimeSettings().usableProviders == ["openai"], "without any key it is tried, and said")
    }

    @Test(arguments: [
        ("nova-3", "keyterm"), ("flux-general-en", "keyterm"), ("nova-2", "keywords"), ("base", "keywords"),
    ])
    func deepgramsKeyTermsGoByTheModel(model: String, name: String) {
        var configuration = DeepgramRecognizer.Configuration()
        configuration.model = model
        configuration.keyterms = ["маникюр", "gel polish"]
        let terms = DeepgramRecognizer.keyterms(configuration)
        #expect(terms.map(\.name) == [name, name] && terms.map(\.value) == configuration.keyterms)
        configuration.keyterms = Array(repeating: String(repeating: "ё", count: 50), count: 100)
        #expect((5...20).contains(DeepgramRecognizer.keyterms(configuration).count), "they must fit a request")
    }

    private struct Pace: AdjustableSpeech {
        var told: @Sendable (String?, Double?) -> Void
        func speaks(language: String) -> Bool { true }
        func run(from input: Edge<Sentence>, to output: Edge<SynthesizedAudio>) async throws {}
        func adjusted(voice: String?, speed: Double?) -> any TextToSpeech {
            told(voice, speed)
            return self
        }
    }
    private struct Hearing: SpeechToText {
        var language: String
        var sampleRate: Int32 { 8_000 }
        func recognizes(language: String) -> Bool { language == self.language }
        func run(from input: Edge<RecognizerInput>, to output: Edge<TranscriptEvent>) async throws {}
    }

    @Test func theCatalogBuildsThemForACall() {
        let client = HTTPClient()
        defer { client.stop() }
        let told = Told()
        let catalog = SpeechCatalog(
            SpeechSettings(), network: SpeechNetwork(client: client, loops: []),
            embedded: SpeechEngines(
                speechToText: Hearing(language: "en"), languageModel: EmbeddedPolicy(),
                textToSpeech: Pace { told.add($0, $1) })
        ) { _ in }
        var profile = AgentProfile()
        profile.textToSpeech.voice = "rms"
        profile.textToSpeech.speed = 0.8
        #expect(!catalog.engines(language: "ko").speechToText.recognizes(language: "ko"))
        profile.speechToText.language = "en"
        let engines = catalog.engines(language: "ko", profile: profile)
        #expect(engines.speechToText.recognizes(language: "ko"), "its callers answer in English")
        #expect(told.last?.0 == "rms" && told.last?.1 == 0.8 && engines.asksAtOnce)
        profile.languageModel.provider = "ollama"
        #expect(!catalog.engines(language: "ko", profile: profile).asksAtOnce)
    }
}

private final class Told: Sendable {
    private let adjustments = Mutex<[(String?, Double?)]>([])
    func add(_ voice: String?, _ speed: Double?) { adjustments.withLock { $0.append((voice, speed)) } }
    var last: (String?, Double?)? { adjustments.withLock { $0.last } }
}
