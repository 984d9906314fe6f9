internal import Calls
internal import JSON

extension Payloads {
    /// One call of a tool of the agent's.
    static func toolCall(_ call: ToolCallRecord) -> JSONValue {
        [
            "name": .string(call.name), "revision": .number(Double(call.revision)), "turn": .number(Double(call.turn)),
            "arguments": .string(call.arguments), "result": .string(call.result), "status": .string(call.status),
            "ms": .number(Double(call.ms)), "attempts": .number(Double(call.attempts)),
        ]
    }
}

extension Schema {
    /// The schema of a call of a tool.
    static var toolCall: JSONValue {
        object(
            [
                "name": text, "revision": count, "turn": count, "arguments": text, "result": text, "status": text,
                "ms": count, "attempts": count,
            ], required: ["name", "revision", "turn", "arguments", "result", "status", "ms", "attempts"])
    }
}
