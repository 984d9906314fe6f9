import Net
import Pipeline
import Testing

@testable import Realtime

/// How a call is held in a language, by what is set up: no pack, a pack without a model of the language, a pack with
/// one.
struct LanguageSupportTests {
    private struct Recognizer: SpeechToText {
        var languages: Set<String>
        var sampleRate: Int32 { 16_000 }
        func recognizes(language: String) -> Bool { languages.contains(LanguageTag.primary(language)) }
        func run(from input: Edge<RecognizerInput>, to output: Edge<TranscriptEvent>) async throws {}
    }

    private struct Voice: TextToSpeech {
        var languages: Set<String>
        func speaks(language: String) -> Bool { languages.contains(LanguageTag.primary(language)) }
        func run(from input: Edge<Sentence>, to output: Edge<SynthesizedAudio>) async throws {}
    }

    struct SetUp: Sendable, CustomTestStringConvertible {
        var name: String
        var speechToText = ["embedded"]
        var textToSpeech = ["embedded"]
        /// Models in the speech pack, and languages that the embedded voice speaks.
        var pack: Set<String> = []
        var packVoices: Set<String> = []
        var embeddedVoice: Set<String> = ["en", "ko", "ru"]
        var expected: [String: LanguageSupport]
        var testDescription: String { name }
    }

    static let setUps = [
        SetUp(name: "no pack", expected: ["en": .understood, "ko": .keypad, "ru": .keypad]),
        SetUp(
            name: "a model of Korean", speechToText: ["sherpa", "embedded"], pack: ["ko"],
            expected: ["en": .understood, "ko": .understood, "ko-KR": .understood, "ru": .keypad]),
        SetUp(
            name: "models of both", speechToText: ["sherpa"], pack: ["ko", "ru"],
            expected: ["en": .understood, "ko": .understood, "ru": .understood, "de": .silent]),
        SetUp(
            name: "a model that no setting names", pack: ["ko"],
            expected: ["en": .understood, "ko": .keypad, "ru": .keypad]),
        SetUp(
            name: "a cloud recogniser", speechToText: ["deepgram", "embedded"],
            expected: ["en": .understood, "ko": .understood, "ru": .understood]),
        SetUp(
            name: "no espeak-ng", embeddedVoice: ["en"],
            expected: ["en": .understood, "ko": .silent, "ru": .silent]),
        SetUp(
            name: "no espeak-ng, but a voice of Korean", textToSpeech: ["sherpa", "embedded"], packVoices: ["ko"],
            embeddedVoice: ["en"], expected: ["en": .understood, "ko": .keypad, "ru": .silent]),
    ]

    @Test(arguments: setUps) func everyLanguageIsToldAsACallFindsIt(setUp: SetUp) {
        var settings = SpeechSettings()
        settings.speechToText = setUp.speechToText
        settings.textToSpeech = setUp.textToSpeech
        var local = LocalEngines()
        local.recognizer = { language in
            Recognizer(languages: setUp.pack.intersection([LanguageTag.primary(language)]))
        }
        local.voice = Voice(languages: setUp.packVoices)
        let client = HTTPClient()
        defer { client.stop() }
        let catalog = SpeechCatalog(
            settings, network: SpeechNetwork(client: client, loops: []),
            embedded: SpeechEngines(
                speechToText: Recognizer(languages: ["en"]), languageModel: EmbeddedPolicy(),
                textToSpeech: Voice(languages: setUp.embeddedVoice)), local: local
        ) { _ in }
        for (language, support) in setUp.expected {
            #expect(catalog.support(of: language) == support, "\(language)")
        }
    }
}
