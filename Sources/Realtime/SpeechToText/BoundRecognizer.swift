internal import Pipeline

/// A recogniser of one language, whatever the call's is: an agent may speak Korean with callers who answer in English.
struct BoundRecognizer: SpeechToText {
    private let recognizer: any SpeechToText
    private let language: String

    init(_ recognizer: any SpeechToText, language: String) {
        self.recognizer = recognizer
        self.language = language
    }

    var sampleRate: Int32 { recognizer.sampleRate }
    func recognizes(language: String) -> Bool { recognizer.recognizes(language: self.language) }

    func run(from input: Edge<RecognizerInput>, to output: Edge<TranscriptEvent>) async throws {
        try await recognizer.run(from: input, to: output)
    }
}
