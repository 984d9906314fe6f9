internal import Foundation
internal import Net
public import Pipeline

/// `POST /audio/speech` with streamed PCM (platform.openai.com/docs/api-reference/audio/createSpeech): OpenAI and
/// compatible servers.
public struct OpenAISpeech: TextToSpeech {
    public struct Configuration: Sendable, Equatable {
        /// Without a slash at the end.
        public var url = "https://api.openai.com/v1"
        public var apiKey: String?
        public var model = "gpt-4o-mini-tts"
        public var voice = "marin"
        /// 1 is the voice's own pace; nil: nothing is said of it.
        public var speed: Double?
        /// How to speak, for models that take it.
        public var instructions: String?
        /// Hertz of `response_format` pcm.
        public var sampleRate: Int32 = 24_000
        public init() {}
    }

    /// Of `speed`.
    static let speeds = 0.25...4.0
    /// Characters the service takes at once.
    private static let textLimit = 4_096

    private let configuration: Configuration
    private let network: SpeechNetwork

    public init(_ configuration: Configuration, network: SpeechNetwork) {
        self.configuration = configuration
        self.network = network
    }

    public func speaks(language: String) -> Bool { true }

    public func run(from input: Edge<Sentence>, to output: Edge<SynthesizedAudio>) async throws {
        try await SentenceStreams(sampleRate: configuration.sampleRate, synthesize: synthesize).run(
            from: input, to: output)
    }

    private func synthesize(_ sentence: Sentence, _ pieces: Edge<VoicePiece>) async throws {
        let service = "text-to-speech/openai"
        var body: [String: Any] = [
            "model": configuration.model, "voice": configuration.voice,
            "input": String(sentence.text.prefix(Self.textLimit)),
            "response_format": "pcm",
        ]
        if let instructions = configuration.instructions { body["instructions"] = instructions }
        if let speed = configuration.speed { body["speed"] = speed.clamped(to: Self.speeds) }
        var request = HTTPClientRequest(
            "POST", configuration.url + "/audio/speech", headers: [("content-type", "application/json")],
            body: Array(try JSONSerialization.data(withJSONObject: body)))
        if let key = configuration.apiKey { request.headers.append(("authorization", "Bearer " + key)) }
        request.responseTimeoutMs = 4_000
        request.stallTimeoutMs = 3_000
        let response = try await network.send(request, service: service)
        var assembler = SampleAssembler()
        var count = 0
        do {
            for try await bytes in response.body {
                let samples = assembler.samples(bytes)
                count += samples.count
                try await pieces.send(.audio(samples))
            }
        } catch let error as NetError {
            throw SpeechError("\(service): \(error.message)", error.code == .timedOut ? .stalled : .broken)
        }
        if count == 0 { throw SpeechError("\(service) gave no sound", .broken) }
    }
}
