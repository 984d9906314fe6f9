internal import JSON

extension OpenAPI {
    /// The Model Context Protocol: one route, whose messages have a document of their own.
    static let mcp: [String: Operation] = [
        "POST /mcp": Operation(
            summary:
                "Tools for the models of other programs, by the Model Context Protocol (docs/mcp-server.md). Requests "
                + "of 2026-07-28 name method, tool and version in header fields too.",
            tag: "server", message: Schema.either(message, batch), answer: Schema.either(answer, Schema.list(answer)),
            others: [202: nil, 400: answer, 404: answer, 500: answer], problems: [415])
    ]

    private static let id: JSONValue = ["type": ["string", "integer"]]

    private static let message = Schema.object(
        [
            "jsonrpc": Schema.choice(["2.0"]), "id": id, "method": ["type": "string", "minLength": 1],
            "params": Schema.any,
        ], required: ["jsonrpc", "method"])

    private static let batch: JSONValue = [
        "type": "array", "items": message, "minItems": 1, "maxItems": .whole(MCPPost.batchLimit),
    ]

    private static let answer = Schema.object(
        [
            "jsonrpc": Schema.choice(["2.0"]), "id": Schema.nullable(id), "result": Schema.any,
            "error": Schema.object(
                ["code": ["type": "integer"], "message": Schema.text, "data": Schema.any],
                required: ["code", "message"]),
        ], required: ["jsonrpc", "id"])
}
