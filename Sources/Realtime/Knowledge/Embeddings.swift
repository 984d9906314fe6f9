internal import Foundation
internal import Net

/// `POST /embeddings` (platform.openai.com/docs/api-reference/embeddings): texts → vectors, by OpenAI and compatible
/// servers.
public struct Embeddings: Sendable {
    public struct Configuration: Sendable, Equatable {
        /// Without a slash at the end; nil: knowledge is searched by words alone.
        public var url: String?
        public var apiKey: String?
        public var model = "text-embedding-3-small"
        public init() {}
    }

    /// Texts of one request, and numbers of one vector.
    private static let batch = 64
    private static let dimensionLimit = 4_096

    private let url: String
    private let configuration: Configuration
    private let network: SpeechNetwork

    /// nil where no server is configured.
    public init?(_ configuration: Configuration, network: SpeechNetwork) {
        guard let url = configuration.url else { return nil }
        self.url = url
        self.configuration = configuration
        self.network = network
    }

    private struct Answer: Decodable {
        struct Item: Decodable {
            var index: Int
            var embedding: [Float]
        }
        var data: [Item]
    }

    /// One vector a text, of length 1.
    public func vectors(of texts: [String], timeoutMs: Int = 10_000) async throws -> [[Float]] {
        var vectors: [[Float]] = []
        for start in stride(from: 0, to: texts.count, by: Self.batch) {
            let part = Array(texts[start..<min(start + Self.batch, texts.count)])
            let body: [String: Any] = ["model": configuration.model, "input": part, "encoding_format": "float"]
            var request = HTTPClientRequest(
                "POST", url + "/embeddings", headers: [("content-type", "application/json")],
                body: Array(try JSONSerialization.data(withJSONObject: body)))
            if let key = configuration.apiKey { request.headers.append(("authorization", "Bearer " + key)) }
            request.responseTimeoutMs = timeoutMs
            let bytes = try await network.send(request, service: "embeddings").body.collect(limit: 16 << 20)
            guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(bytes)),
                answer.data.count == part.count,
                Set(answer.data.map(\.index)) == Set(part.indices), let length = answer.data.first?.embedding.count,
                (1...Self.dimensionLimit).contains(length),
                answer.data.allSatisfy({ $0.embedding.count == length })
            else { throw SpeechError("embeddings: the answer has not one vector a text", .broken) }
            vectors += answer.data.sorted { $0.index < $1.index }.map { Self.normalized($0.embedding) }
        }
        return vectors
    }

    private static func normalized(_ vector: [Float]) -> [Float] {
        let length = vector.reduce(Float(0)) { $0 + $1 * $1 }.squareRoot()
        return length > 0 ? vector.map { $0 / length } : vector
    }
}
