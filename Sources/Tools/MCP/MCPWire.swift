internal import Foundation
internal import JSON
internal import Net

/// What stands in messages of the Model Context Protocol.
enum MCPWire {
    /// The current revision, which has neither sessions nor `initialize`.
    static let modern = "2026-07-28"
    /// The newest of the older revisions, which is asked for, and those that are spoken.
    static let legacy = "2025-11-25"
    static let legacies: Set<String> = ["2025-11-25", "2025-06-18", "2025-03-26"]

    static let versionHeader = "MCP-Protocol-Version", sessionHeader = "MCP-Session-Id"

    /// Errors that only a server of the current revision gives.
    static let headerMismatch = -32_020, missingCapability = -32_021, unsupportedVersion = -32_022
    static let methodNotFound = -32_601, invalidParams = -32_602
    static let modernErrors: Set<Int> = [headerMismatch, missingCapability, unsupportedVersion]

    /// A message of the current revision.
    static func modernParams(_ params: [String: JSONValue], trace: String?) -> JSONValue {
        var meta: [String: JSONValue] = [
            "io.modelcontextprotocol/protocolVersion": .string(modern),
            "io.modelcontextprotocol/clientInfo": clientInfo,
            "io.modelcontextprotocol/clientCapabilities": [:],
        ]
        if let trace { meta["traceparent"] = .string(TraceParent.header(trace: trace)) }
        return .object(params.merging(["_meta": .object(meta)]) { $1 })
    }

    static let clientInfo: JSONValue = ["name": "trunkline", "version": "1"]

    static func message(_ method: String, _ params: JSONValue, id: Int?) -> [UInt8] {
        var message: [String: JSONValue] = ["jsonrpc": "2.0", "method": .string(method), "params": params]
        if let id { message["id"] = .whole(id) }
        return JSONValue.object(message).bytes
    }

    /// What a server answered to a request.
    enum Reply: Sendable, Equatable {
        case result(JSONValue)
        case error(code: Int, data: JSONValue?)
    }

    /// The reply in a message; nil: the message is another one, such as a notification.
    static func reply(_ message: JSONValue, id: Int) -> Reply? {
        // An error about a request that could not be read has no id.
        let isOurs = message["id"] == .whole(id) || message["id"] == .null || message["id"] == nil
        guard isOurs, message["method"] == nil else { return nil }
        if let error = message["error"] {
            guard case .number(let number)? = error["code"], let code = number.integer else { return nil }
            return .error(code: code, data: error["data"])
        }
        return message["id"] == .whole(id) ? message["result"].map { .result($0) } : nil
    }
}

/// What went wrong with a server, in words for the administrator; never a URL or a header.
struct MCPFailure: Error, Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// The HTTP status, where no JSON-RPC error came with it.
        case status(Int)
        /// A JSON-RPC error.
        case error(code: Int, supported: [String]?)
        case malformed, tooBig, deep
    }
    var kind: Kind

    var message: String {
        switch kind {
        case .status(let status): "it answered \(status)"
        case .error(let code, _): "it answered with the error \(code)"
        case .malformed: "its answer is no message of MCP"
        case .tooBig: "its answer is too large"
        case .deep: "its answer is nested too deeply"
        }
    }
}
