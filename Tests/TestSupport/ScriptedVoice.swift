public import Pipeline
public import Realtime

/// A voice that says a loud tone of the same length for each sentence, at once.
public struct ScriptedVoice: TextToSpeech {
    /// Milliseconds of a sentence.
    public static let sentenceMs = 200

    public init() {}

    public func speaks(language: String) -> Bool { true }

    public func run(from input: Edge<Sentence>, to output: Edge<SynthesizedAudio>) async throws {
        let frames = Signals.tone(hertz: 440, amplitude: 8_000, ms: Self.sentenceMs, rate: 8_000)
        while let signal = await input.next() {
            guard case .data(let sentence) = signal else {
                if case .end = signal { return }
                continue
            }
            for frame in frames { try await output.send(.audio(frame, utterance: sentence.utterance)) }
            try await output.send(.finished(utterance: sentence.utterance))
        }
    }
}
