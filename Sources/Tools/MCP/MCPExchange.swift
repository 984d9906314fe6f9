internal import Foundation
internal import JSON
internal import Net

/// One POST of a JSON-RPC message, and the answer: JSON, or a stream of events that ends with it.
struct MCPExchange: Sendable {
    /// Bytes of an answer to a call, and to a list.
    static let callLimit = 64 << 10, listLimit = 1 << 20
    /// Objects and arrays inside each other: a list holds schemas.
    static let depthLimit = 32

    let client: HTTPClient
    let addresses: ToolAddresses
    let url: String
    /// Those that the administrator set, with their secrets.
    let headers: [(name: String, value: String)]
    let secrets: ToolSecrets

    struct Answer: Sendable {
        var status: Int
        var headers: [String: String]
        /// nil: no message came, as after a notification.
        var reply: MCPWire.Reply?
    }

    /// Ends a session.
    func delete(_ more: [(name: String, value: String)]) async throws {
        _ = try await client.send(request("DELETE", more, body: nil))
    }

    private func request(_ method: String, _ more: [(name: String, value: String)], body: [UInt8]?) -> HTTPClientRequest
    {
        var request = HTTPClientRequest(method, url, headers: headers + more, body: body)
        request.redirectLimit = 0
        request.allowsPrivateAddresses = addresses.allowsPrivate(url)
        return request
    }

    /// - Parameter id: of the request; nil: a notification.
    /// - Throws: `MCPFailure`, `NetError`, `CancellationError`. A cancelled task closes the connection, which is how a
    ///   request is cancelled.
    func post(_ body: [UInt8], id: Int?, _ more: [(name: String, value: String)], limit: Int) async throws -> Answer {
        let own = [
            ("content-type", "application/json"), ("accept", "application/json, text/event-stream"),
        ]
        let response = try await client.send(request("POST", own + more, body: body))
        var answer = Answer(status: response.status, headers: response.headers, reply: nil)
        guard let id else { return answer }
        if (response.headers["content-type"] ?? "").lowercased().hasPrefix("text/event-stream") {
            answer.reply = try await reply(in: response, id: id, limit: limit)
        } else {
            let bytes = try await response.body.collect(limit: limit)
            // A refusal may come without a message, or with a page.
            answer.reply = (try? message(bytes)).flatMap { MCPWire.reply($0, id: id) }
            if answer.reply == nil, (200..<300).contains(response.status) { throw MCPFailure(kind: .malformed) }
        }
        return answer
    }

    private func reply(in response: HTTPClientResponse, id: Int, limit: Int) async throws -> MCPWire.Reply {
        var parser = ServerSentEventParser(), size = 0
        for try await piece in response.body {
            size += piece.count
            guard size <= limit else { throw MCPFailure(kind: .tooBig) }
            var events: [ServerSentEvent] = []
            try parser.process(piece, into: &events)
            for event in events where !event.data.isEmpty {
                // Notifications come before the response.
                if let reply = MCPWire.reply(try message(Array(event.data.utf8)), id: id) { return reply }
            }
        }
        throw MCPFailure(kind: .malformed)
    }

    private func message(_ bytes: [UInt8]) throws -> JSONValue {
        guard let value = try? JSONValue(parsing: secrets.scrubbed(bytes)) else { throw MCPFailure(kind: .malformed) }
        guard ToolAnswer.depth(value) <= Self.depthLimit else { throw MCPFailure(kind: .deep) }
        return value
    }
}
