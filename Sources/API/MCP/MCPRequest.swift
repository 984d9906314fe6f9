internal import JSON

/// One request or notification of JSON-RPC 2.0, as a client of the Model Context Protocol sends it.
struct MCPRequest: Sendable, Equatable {
    enum Era: Sendable {
        /// 2026-07-28: version and capabilities stand in `_meta` of each request, and again in header fields.
        case modern
        /// Up to 2025-11-25: agreed on by `initialize`.
        case legacy
    }

    var era: Era
    /// A text or a whole number, as it came; nil: a notification, which has no answer.
    var id: JSONValue?
    var method: String
    var params: [String: JSONValue]

    /// - Throws: `.invalidRequest`, with the id where it can be told.
    init(_ message: JSONValue, era: Era) throws(MCPFault) {
        guard case .object(let members) = message else {
            throw MCPFault(.invalidRequest, "a message must be a JSON object")
        }
        let id = members["id"]
        guard id.map(Self.isID) ?? true else {
            throw MCPFault(.invalidRequest, "id must be a string or a whole number")
        }
        guard members["jsonrpc"] == "2.0" else {
            throw MCPFault(.invalidRequest, "jsonrpc must be \"2.0\"", id: id)
        }
        guard case .string(let method)? = members["method"], !method.isEmpty else {
            throw MCPFault(.invalidRequest, "method must be a string; answers are not expected here", id: id)
        }
        switch members["params"] {
        case nil: params = [:]
        case .object(let given)?: params = given
        default: throw MCPFault(.invalidRequest, "params must be an object", id: id)
        }
        self.era = era
        self.id = id
        self.method = method
    }

    private static func isID(_ value: JSONValue) -> Bool {
        switch value {
        case .string: true
        case .number(let number): number.text.utf8.allSatisfy { (48...57).contains($0) || $0 == UInt8(ascii: "-") }
        default: false
        }
    }

    // MARK: What the modern era adds

    static let versionKey = "io.modelcontextprotocol/protocolVersion"
    static let capabilitiesKey = "io.modelcontextprotocol/clientCapabilities"

    /// The parameter that stands in `Mcp-Name` too, by method.
    private static let named = ["tools/call": "name", "prompts/get": "name", "resources/read": "uri"]

    /// Checks a request of the modern era: its `_meta`, then its header fields beside it, then the version.
    func checkModern(_ headers: [String: String]) throws(MCPFault) {
        guard case .object(let meta)? = params["_meta"] else {
            throw MCPFault(
                .invalidParams, "params._meta must be an object with \(Self.versionKey) and \(Self.capabilitiesKey)",
                id: id)
        }
        let missing = [Self.versionKey, Self.capabilitiesKey].filter { meta[$0] == nil }
        guard missing.isEmpty else {
            throw MCPFault(.invalidParams, "params._meta has no \(missing.joined(separator: " and no "))", id: id)
        }
        guard case .string(let version)? = meta[Self.versionKey] else {
            throw MCPFault(.invalidParams, "\(Self.versionKey) must be a string", id: id)
        }
        guard case .object? = meta[Self.capabilitiesKey] else {
            throw MCPFault(.invalidParams, "\(Self.capabilitiesKey) must be an object", id: id)
        }
        guard headers[MCPHeader.version] == version else {
            throw MCPFault(
                .headerMismatch, "the header field MCP-Protocol-Version is not the version of params._meta", id: id)
        }
        guard headers[MCPHeader.method] == method else {
            throw MCPFault(.headerMismatch, "the header field Mcp-Method is not the method of the body", id: id)
        }
        if let key = Self.named[method], let value = params[key] {
            guard case .string(let name) = value, headers[MCPHeader.name].flatMap(MCPHeader.decoded) == name else {
                throw MCPFault(.headerMismatch, "the header field Mcp-Name is not params.\(key) of the body", id: id)
            }
        }
        guard version == MCPRevision.modern else { throw MCPFault.unsupported(version, id: id) }
    }
}
