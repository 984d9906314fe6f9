public import JSON

/// A tool as an MCP server listed it, and whether it may be used.
public struct MCPListedTool: Sendable, Equatable {
    public enum State: String, Sendable {
        /// It may be used.
        case ok
        /// Its description or schema is not the one that was accepted: it is unused until an administrator accepts it.
        case changed
        /// The patterns of the server exclude it.
        case denied
        /// Its definition is not valid.
        case invalid
    }

    /// Characters of a description that a model is told, bytes of a schema.
    static let purposeLimit = 1_000, schemaLimit = 32 << 10

    public var name: String
    public var purpose: String
    public var schema: JSONValue
    public var state: State
    /// Why it is left out.
    public var problem: String?
    /// What is listed now in place of the accepted definition.
    public var offered: Offer?
    /// Grows with each accepted change.
    public var revision: Int

    public struct Offer: Sendable, Equatable {
        public var purpose: String
        public var schema: JSONValue
    }

    /// What was read of a list's entry.
    static func read(_ json: JSONValue) -> MCPListedTool? {
        guard case .string(let name)? = json["name"], !name.isEmpty else { return nil }
        var purpose = ""
        if case .string(let text)? = json["description"] { purpose = text }
        if purpose.isEmpty, case .string(let title)? = json["title"] { purpose = title }
        let schema = json["inputSchema"] ?? ["type": "object"]
        var tool = MCPListedTool(
            name: String(name.prefix(200)), purpose: String(purpose.prefix(purposeLimit)), schema: schema, state: .ok,
            revision: 1)
        tool.problem = problem(name, schema)
        if tool.problem != nil {
            tool.state = .invalid
            tool.schema = ["type": "object"]
        }
        return tool
    }

    /// Words for the administrator; nil: it can be used.
    private static func problem(_ name: String, _ schema: JSONValue) -> String? {
        guard MCPName.isTool(name) else { return "its name has other characters than letters, digits, _, -, . and /" }
        guard case .object = schema, schema["type"] == "object" else { return "its schema is no object" }
        guard schema.bytes.count <= schemaLimit else { return "its schema is larger than \(schemaLimit) bytes" }
        return MCPHeaders.problem(with: schema)
    }

    // MARK: Stored

    var json: JSONValue {
        var members: [String: JSONValue] = [
            "name": .string(name), "description": .string(purpose), "inputSchema": schema,
            "state": .string(state.rawValue), "revision": .whole(revision),
        ]
        if let problem { members["problem"] = .string(problem) }
        if let offered {
            members["offered"] = ["description": .string(offered.purpose), "inputSchema": offered.schema]
        }
        return .object(members)
    }

    init(
        name: String, purpose: String, schema: JSONValue, state: State, problem: String? = nil, offered: Offer? = nil,
        revision: Int
    ) {
        self.name = name
        self.purpose = purpose
        self.schema = schema
        self.state = state
        self.problem = problem
        self.offered = offered
        self.revision = revision
    }

    /// nil: it is none of ours.
    init?(stored json: JSONValue) {
        guard case .string(let name)? = json["name"], case .string(let purpose)? = json["description"],
            let schema = json["inputSchema"], case .string(let word)? = json["state"],
            let state = State(rawValue: word),
            case .number(let number)? = json["revision"], let revision = number.integer
        else { return nil }
        var problem: String?
        if case .string(let words)? = json["problem"] { problem = words }
        var offered: Offer?
        if let offer = json["offered"], case .string(let text)? = offer["description"],
            let schema = offer["inputSchema"]
        {
            offered = Offer(purpose: text, schema: schema)
        }
        self.init(
            name: name, purpose: purpose, schema: schema, state: state, problem: problem, offered: offered,
            revision: revision)
    }
}
