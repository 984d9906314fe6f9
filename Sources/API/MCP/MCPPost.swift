internal import JSON

/// The body of a `POST /mcp`, read by the rules of its era. A pure value: bytes and header fields in, requests out.
struct MCPPost: Sendable, Equatable {
    /// Messages of a batch.
    static let batchLimit = 20

    var era: MCPRequest.Era
    /// One, unless it is a batch.
    var requests: [MCPRequest]
    /// An array was sent, and one is answered.
    var isBatch: Bool

    /// - Parameter headers: by lower-case name.
    /// - Throws: why all of it is refused.
    init(_ body: [UInt8], headers: [String: String]) throws(MCPFault) {
        let json: JSONValue
        do throws(JSONValue.ParseError) { json = try JSONValue(parsing: body) } catch {
            throw MCPFault(.parseError, "the body is not valid JSON: \(error.message), at byte \(error.offset)")
        }
        let version = headers[MCPHeader.version]
        if case .array(let messages) = json {
            requests = try Self.batch(messages, version: version)
            isBatch = true
            era = .legacy
            return
        }
        isBatch = false
        era = Self.isModern(json, headers) ? .modern : .legacy
        let request = try MCPRequest(json, era: era)
        switch era {
        case .legacy:
            if let version, !MCPRevision.legacy.contains(version) {
                throw MCPFault.unsupported(version, id: request.id)
            }
        // The modern era knows no notifications of clients; those that come are acknowledged.
        case .modern where request.id == nil:
            if let version, version != MCPRevision.modern { throw MCPFault.unsupported(version) }
        case .modern: try request.checkModern(headers)
        }
        requests = [request]
    }

    /// A modern client shows itself by its `_meta`, or by a header field or method that older ones do not know.
    private static func isModern(_ message: JSONValue, _ headers: [String: String]) -> Bool {
        let meta = message["params"]?["_meta"]
        return meta?[MCPRequest.versionKey] != nil || meta?[MCPRequest.capabilitiesKey] != nil
            || headers[MCPHeader.version] == MCPRevision.modern || headers[MCPHeader.method] != nil
            || message["method"] == "server/discover"
    }

    /// All or nothing: a batch with a message that is none is refused as a whole.
    private static func batch(_ messages: [JSONValue], version: String?) throws(MCPFault) -> [MCPRequest] {
        guard version == nil || version == MCPRevision.withBatches else {
            throw MCPFault(.invalidRequest, "batches were part of \(MCPRevision.withBatches) alone: send one message")
        }
        guard (1...batchLimit).contains(messages.count) else {
            throw MCPFault(.invalidRequest, "a batch has 1 to \(batchLimit) messages")
        }
        var requests: [MCPRequest] = []
        for message in messages {
            do throws(MCPFault) { requests.append(try MCPRequest(message, era: .legacy)) } catch {
                throw MCPFault(error.code, "message \(requests.count) of the batch: \(error.message)")
            }
        }
        guard !requests.contains(where: { $0.method == "initialize" }) else {
            throw MCPFault(.invalidRequest, "initialize must not be part of a batch")
        }
        return requests
    }
}
