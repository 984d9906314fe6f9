internal import Foundation
internal import Net
public import Pipeline

/// `POST /audio/transcriptions` (platform.openai.com/docs/api-reference/audio/createTranscription): a turn at a time,
/// by OpenAI and compatible servers (Groq, faster-whisper servers, vLLM).
public struct OpenAITranscription: SpeechToText {
    public struct Configuration: Sendable, Equatable {
        /// Without a slash at the end.
        public var url = "https://api.openai.com/v1"
        public var apiKey: String?
        public var model = "gpt-4o-mini-transcribe"
        /// Words that are likelier in a call than elsewhere: a part of `prompt`.
        public var keyterms: [String] = []
        public init() {}
    }

    /// Seconds of one turn that are kept; what is older is dropped.
    static let longestTurnSeconds = 60
    static let service = "speech-to-text/openai"

    private let configuration: Configuration
    private let network: SpeechNetwork
    private let language: String

    /// - Parameter language: of the call, BCP 47.
    public init(_ configuration: Configuration, language: String, network: SpeechNetwork) {
        self.configuration = configuration
        self.network = network
        self.language = language
    }

    public var sampleRate: Int32 { 16_000 }
    public func recognizes(language: String) -> Bool { true }

    public func run(from input: Edge<RecognizerInput>, to output: Edge<TranscriptEvent>) async throws {
        try await WholeTurns(sampleLimit: Self.longestTurnSeconds * Int(sampleRate)) { turn in
            .final(text: try await transcribe(turn.samples, turn.hints), confidence: nil)
        }.run(from: input, to: output)
    }

    private struct Answer: Decodable { var text: String }

    private func transcribe(_ samples: [Int16], _ hints: AnswerHints?) async throws -> String {
        var form = MultipartForm()
        form.add("model", configuration.model)
        form.add("language", LanguageTag.primary(language))
        form.add("response_format", "json")
        form.add("temperature", "0")
        let words = (hints?.choices ?? []) + configuration.keyterms
        if !words.isEmpty { form.add("prompt", words.joined(separator: ", ")) }
        form.add(
            "file", fileName: "turn.wav", contentType: "audio/wav",
            WaveFile(sampleRate: sampleRate, samples: samples).bytes)
        var request = HTTPClientRequest(
            "POST", configuration.url + "/audio/transcriptions", headers: [("content-type", form.contentType)],
            body: form.body)
        if let key = configuration.apiKey { request.headers.append(("authorization", "Bearer " + key)) }
        request.responseTimeoutMs = 2_500
        request.stallTimeoutMs = 2_000
        do {
            let body = try await network.send(request, service: Self.service).body.collect(limit: 1 << 20)
            guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(body)) else {
                throw SpeechError("\(Self.service) sent what cannot be understood", .broken)
            }
            return answer.text.trimmingCharacters(in: .whitespacesAndNewlines)
        } catch let error as NetError {
            throw SpeechError("\(Self.service): \(error.message)", error.code == .timedOut ? .stalled : .broken)
        }
    }
}

/// `multipart/form-data` (RFC 7578).
struct MultipartForm {
    private let boundary =
        "trunkline-" + (0..<4).map { _ in String(UInt32.random(in: .min ... .max), radix: 16) }.joined()
    private var bytes: [UInt8] = []

    var contentType: String { "multipart/form-data; boundary=" + boundary }
    var body: [UInt8] { bytes + Array("--\(boundary)--\r\n".utf8) }

    mutating func add(_ name: String, _ value: String) {
        bytes += "--\(boundary)\r\ncontent-disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n".utf8
    }

    mutating func add(_ name: String, fileName: String, contentType: String, _ content: [UInt8]) {
        bytes += "--\(boundary)\r\ncontent-disposition: form-data; name=\"\(name)\"; filename=\"\(fileName)\"\r\n".utf8
        bytes += "content-type: \(contentType)\r\n\r\n".utf8
        bytes += content
        bytes += "\r\n".utf8
    }
}
