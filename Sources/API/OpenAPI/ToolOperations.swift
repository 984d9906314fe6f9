internal import JSON

extension OpenAPI {
    private static let savedTool = Schema.object(
        [
            "name": Schema.text, "description": Schema.text, "request": Schema.any, "revision": Schema.count,
            "created_at": Schema.time, "updated_at": Schema.time,
        ], required: ["name", "description", "request", "revision", "created_at", "updated_at"])
    private static let savedSecret = Schema.object(
        [
            "name": Schema.text, "updated_at": Schema.nullable(Schema.time), "used_by": Schema.list(Schema.text),
            "source": Schema.choice(["stored", "configuration"]),
        ], required: ["name", "updated_at", "used_by", "source"])
    private static let mcpServer = Schema.object(
        [
            "name": Schema.text, "url": Schema.text, "listed_at": Schema.nullable(Schema.time),
            "holds_until": Schema.nullable(Schema.time), "problem": Schema.nullable(Schema.text),
            "tool_count": Schema.count, "tools": Schema.list(Schema.any), "revision": Schema.count,
            "created_at": Schema.time, "updated_at": Schema.time,
        ], required: ["name", "url", "listed_at", "tool_count", "revision", "created_at", "updated_at"])
    private static let trial = Schema.object(
        ["status": Schema.text, "output": [:], "ms": Schema.count, "attempts": Schema.count],
        required: ["status", "output", "ms", "attempts"])

    /// Tools, their secrets, and MCP servers.
    static let tools: [String: Operation] = [
        "GET /api/tools": Operation(
            summary: "HTTP requests that models may make in a call.", tag: "tools", answer: Schema.page(savedTool),
            problems: [404, 503]),
        "POST /api/tools": Operation(
            summary: "Adds a tool.", tag: "tools", body: ToolForms.tool, status: 201, answer: savedTool,
            problems: [400, 404, 409, 422, 503, 507]),
        "GET /api/tools/{name}": Operation(
            summary: "One tool.", tag: "tools", answer: savedTool, problems: [404, 503]),
        "PUT /api/tools/{name}": Operation(
            summary: "Replaces it: the next call uses it.", tag: "tools", headers: [ToolRoutes.ifMatch],
            body: ToolForms.tool, answer: savedTool, problems: [400, 404, 409, 412, 422, 503, 507]),
        "DELETE /api/tools/{name}": Operation(
            summary: "Deletes it.", tag: "tools", status: 204, answer: nil, problems: [404, 409, 503]),
        "POST /api/tools/{name}/try": Operation(
            summary: "Calls it once; `server.tool` names a tool of an MCP server.", tag: "tools",
            body: ToolForms.trial, answer: trial, problems: [400, 404, 422, 503]),
        "GET /api/secrets": Operation(
            summary: "Secrets by name, never their values.", tag: "tools", answer: Schema.page(savedSecret),
            problems: [404, 503]),
        "POST /api/secrets": Operation(
            summary: "Stores a secret, or another value for it.", tag: "tools", body: ToolForms.secret, status: 201,
            answer: savedSecret, problems: [400, 404, 409, 422, 503, 507]),
        "DELETE /api/secrets/{name}": Operation(
            summary: "Deletes it.", tag: "tools", status: 204, answer: nil, problems: [404, 409, 503]),
        "GET /api/mcp-servers": Operation(
            summary: "Servers whose tools agents may use.", tag: "tools", answer: Schema.page(mcpServer),
            problems: [404, 503]),
        "POST /api/mcp-servers": Operation(
            summary: "Adds a server, when its tools can be listed.", tag: "tools", body: ToolForms.server, status: 201,
            answer: mcpServer, problems: [400, 404, 409, 422, 503, 507]),
        "GET /api/mcp-servers/{name}": Operation(
            summary: "One server, with its tools.", tag: "tools", answer: mcpServer, problems: [404, 503]),
        "DELETE /api/mcp-servers/{name}": Operation(
            summary: "Deletes it.", tag: "tools", status: 204, answer: nil, problems: [404, 409, 503]),
        "POST /api/mcp-servers/{name}/refresh": Operation(
            summary: "Lists its tools anew.", tag: "tools", answer: mcpServer, problems: [404, 503]),
        "POST /api/mcp-servers/{name}/accept": Operation(
            summary: "Takes the definition that a changed tool has now.", tag: "tools", body: ToolForms.accepted,
            answer: mcpServer, problems: [400, 404, 409, 422, 503]),
    ]
}
