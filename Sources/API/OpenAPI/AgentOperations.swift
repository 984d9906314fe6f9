internal import Agents
internal import JSON

extension OpenAPI {
    /// The document of an agent; inside the API's description it is no schema of its own.
    static let agentDocument: JSONValue = {
        guard case .object(var members) = AgentForm.schema else { return Schema.any }
        members["$schema"] = nil
        return .object(members)
    }()
    static let agentReference = Schema.object(
        ["slug": Schema.text, "version": Schema.count], required: ["slug", "version"])

    private static let warnings: [String: JSONValue] = [
        "warnings": Schema.list(Schema.text), "warning_details": Schema.list(Schema.reference("NamedProblem")),
    ]
    private static let state: [String: JSONValue] = [
        "slug": Schema.text, "version": Schema.count, "live": Schema.count, "latest": Schema.count,
    ]
    private static let use = Schema.object(
        ["numbers": Schema.count, "campaigns": Schema.count, "queued_calls": Schema.count],
        required: ["numbers", "campaigns", "queued_calls"])
    private static let agent = Schema.reference("Agent")
    private static let ifMatch = Field("If-Match", .text(Field.Kind.addressLimit), "the `ETag` that is changed")

    /// Agents and their versions.
    static let agents: [String: Operation] = [
        "GET /api/agents": Operation(
            summary: "Agents that calls may begin with; `default` is the configuration.", tag: "agents",
            answer: Schema.page(
                Schema.object(
                    [
                        "slug": Schema.text, "name": Schema.text, "live": Schema.count, "latest": Schema.count,
                        "mode": Schema.nullable(Schema.text), "language": Schema.nullable(Schema.text),
                        "updated_at": Schema.nullable(Schema.time), "used_by": use,
                    ], required: ["slug", "name", "live", "latest", "used_by"])), problems: [503]),
        "POST /api/agents": Operation(
            summary: "Makes one, whose version 1 is live.", tag: "agents", query: [AgentRequests.note],
            headers: [CallRoutes.idempotencyKey], document: agent, status: 201,
            answer: Schema.object(state.merging(warnings) { $1 }, required: state.keys.sorted()),
            problems: [400, 409, 415, 422, 503, 507]),
        "POST /api/agents/check": Operation(
            summary: "What making it would say, and the document as it was read; nothing is stored.", tag: "agents",
            document: agent,
            answer: Schema.object(
                warnings.merging(["document": Schema.any]) { $1 }, required: warnings.keys.sorted() + ["document"]),
            problems: [400, 415, 422, 503]),
        "GET /api/agents/{slug}": Operation(
            summary: "Its document, the latest version or another; as YAML where Accept says so.", tag: "agents",
            query: [AgentRequests.version], answer: Schema.any, problems: [404, 422, 503]),
        "PUT /api/agents/{slug}": Operation(
            summary: "Makes a new version, unless the latest says the same.", tag: "agents",
            query: AgentRequests.changeQuery, headers: [ifMatch], document: agent, status: 201,
            idleStatus: 200,
            answer: Schema.object(
                state.merging(warnings) { $1 }.merging(["unchanged": Schema.flag]) { $1 },
                required: state.keys.sorted() + ["unchanged"]), problems: [400, 404, 409, 412, 415, 422, 503, 507]),
        "DELETE /api/agents/{slug}": Operation(
            summary: "Archives it: its versions stay, and its slug is not used again.", tag: "agents", status: 204,
            answer: nil, problems: [404, 409, 503]),
        "POST /api/agents/{slug}/publish": Operation(
            summary: "Lets calls begin with a version, a newer or an older one.", tag: "agents",
            body: AgentRequests.publishForm, answer: Schema.object(state, required: state.keys.sorted()),
            problems: [400, 404, 409, 422, 503, 507]),
        "GET /api/agents/{slug}/versions": Operation(
            summary: "Its versions, newest first.", tag: "agents", query: AgentRequests.listQuery,
            answer: Schema.page(
                Schema.object(
                    [
                        "version": Schema.count, "at": Schema.time, "by": Schema.text, "note": Schema.text,
                        "live": Schema.flag, "published": Schema.any,
                    ], required: ["version", "at", "by", "note", "live"])), problems: [404, 422, 503]),
        "GET /api/agents/{slug}/versions/{version}/diff": Operation(
            summary: "The patch (RFC 6902) that makes another version of this one.", tag: "agents",
            query: AgentRequests.diffQuery, answer: Schema.list(Schema.any), problems: [404, 422, 503]),
        "GET /api/agents/{slug}/effective": Operation(
            summary: "What holds for its calls, and which layer says so.", tag: "agents",
            query: [AgentRequests.version],
            answer: [
                "type": "object", "additionalProperties": Schema.object(["from": Schema.text], required: ["from"]),
            ],
            problems: [404, 422, 503]),
        "POST /api/agents/{slug}/simulate": Operation(
            summary: "A conversation as text, with the built-in policy: nothing is called, stored or asked for.",
            tag: "agents", body: AgentRoutes.simulation,
            answer: Schema.object(
                [
                    "agent": Schema.reference("AgentReference"), "transcript": Schema.list(Schema.any),
                    "answers": Schema.list(Schema.any), "is_over": Schema.flag,
                    "end_reason": Schema.nullable(Schema.text),
                ], required: ["agent", "transcript", "answers", "is_over", "end_reason"]),
            problems: [400, 404, 422, 503]),
        "GET /api/schemas/agent.json": Operation(
            summary: "The document of an agent as JSON Schema.", tag: "agents", problems: [503]),
    ]
}
