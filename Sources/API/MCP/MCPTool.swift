internal import Calls
internal import JSON

/// One tool of `POST /mcp`: what a model is told of it, who may call it, and what it does.
struct MCPTool: Sendable {
    /// What it may change, for clients that ask a person first.
    enum Effect: Sendable {
        /// It only reads.
        case none
        /// It disturbs people: a telephone rings.
        case calls
        /// It ends what goes on.
        case ends

        var json: JSONValue {
            switch self {
            case .none: ["readOnlyHint": true, "openWorldHint": false]
            case .calls:
                ["readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": true]
            case .ends: ["readOnlyHint": false, "destructiveHint": true, "openWorldHint": false]
            }
        }
    }

    var name: String
    var title: String
    /// What it does and when to use it, for a model.
    var help: String
    var role: Role
    var effect: Effect
    var arguments: Form
    /// JSON Schema of the result.
    var result: JSONValue
    /// - Throws: `APIError` or `StoreError`, which the model is told.
    var run: @Sendable (MCPCall) async throws -> [String: JSONValue]

    /// As `tools/list` has it.
    func json(_ settings: CallSettings) -> JSONValue {
        [
            "name": .string(name), "title": .string(title), "description": .string(help),
            "inputSchema": arguments.schema(settings), "outputSchema": result, "annotations": effect.json,
        ]
    }
}

/// A call of a tool.
struct MCPCall: Sendable {
    var arguments: [String: JSONValue]
    var principal: Principal
    /// When the request that it came with must be answered.
    var deadline: ContinuousClock.Instant
}
