import ArgumentParser
import Foundation
internal import JSON
import Net

/// How a command reaches the running server: by its API.
struct ServerAddress: ParsableArguments {
    @Option(help: "The server.") var server = "http://127.0.0.1:8080"
    @Option(help: "API key; TRUNKLINE_API_KEY otherwise.") var apiKey: String?
}

/// The API of a running server.
struct ServerClient {
    private static let client = HTTPClient()
    private static let answerLimit = 16 << 20

    let server: String
    private let key: String

    init(_ address: ServerAddress) throws {
        guard let key = address.apiKey ?? ProcessInfo.processInfo.environment["TRUNKLINE_API_KEY"] else {
            throw ValidationError("give an API key: --api-key or TRUNKLINE_API_KEY")
        }
        self.key = key
        server = address.server
    }

    /// - Throws: the server cannot be reached.
    func send(
        _ method: String, _ path: String, headers: [(name: String, value: String)] = [], body: [UInt8] = []
    ) async throws -> HTTPClientReply {
        var request = HTTPClientRequest(
            method, server + path, headers: [("authorization", "Bearer \(key)")] + headers)
        request.body = body
        // The server is our own.
        request.allowsPrivateAddresses = true
        do { return try await Self.client.fetch(request, limit: Self.answerLimit) } catch {
            throw ValidationError("cannot reach \(server): is `trunkline serve` running? (\(error))")
        }
    }

    /// What a server that refuses says: its sentence, and one line for every field.
    static func refusal(_ reply: HTTPClientReply) -> [String] {
        let answer = try? JSONValue(parsing: reply.body)
        let text = { (value: JSONValue?) in if case .string(let text)? = value { text } else { String?.none } }
        var lines = [text(answer?["detail"]) ?? "the server refused with \(reply.status)"]
        if case .array(let errors)? = answer?["errors"] {
            lines += errors.map { "\(text($0["field"]) ?? ""): \(text($0["message"]) ?? "")" }
        }
        return lines
    }

    /// The warnings of an answer.
    static func warnings(_ reply: HTTPClientReply) -> [String] {
        guard case .array(let items)? = (try? JSONValue(parsing: reply.body))?["warnings"] else { return [] }
        return items.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }
}
