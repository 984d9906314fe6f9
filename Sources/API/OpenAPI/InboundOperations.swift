extension OpenAPI {
    /// Calls that came in.
    static let inbound: [String: Operation] = [
        "GET /api/inbound": Operation(
            summary: "Calls that came in, newest first.", tag: "inbound", query: ListQuery.calls,
            answer: Schema.page(
                Schema.reference("InboundCall"), more: ["total": Schema.count, "total_is_capped": Schema.flag]),
            problems: [422, 503]),
        "GET /api/inbound/active": Operation(
            summary: "Those that have not ended, oldest first.", tag: "inbound", query: ListQuery.active,
            answer: Schema.page(
                Schema.reference("InboundCall"), more: ["total": Schema.count, "states": activeStates]),
            problems: [422, 503]),
        "GET /api/inbound/{id}": Operation(
            summary: "One call.", tag: "inbound", answer: Schema.reference("InboundCall"), problems: [404, 503]),
        "DELETE /api/inbound/{id}": Operation(
            summary: "Erases an ended call, with all that is kept of it.", tag: "inbound", status: 204, answer: nil,
            problems: [404, 409, 503]),
        "GET /api/inbound/{id}/result": Operation(
            summary: "What came of it, so far.", tag: "inbound", answer: Schema.reference("InboundResult"),
            problems: [404, 503]),
        "GET /api/inbound/{id}/transcript": Operation(
            summary: "What was said.", tag: "inbound",
            answer: Schema.object(
                ["inbound_id": Schema.text, "transcript": Schema.list(Schema.reference("TranscriptEntry"))],
                required: ["inbound_id", "transcript"]),
            problems: [404, 503]),
        "GET /api/inbound/{id}/tools": Operation(
            summary: "The calls of the agent's tools, in the order in which they finished.", tag: "inbound",
            answer: Schema.object(
                ["inbound_id": Schema.text, "tool_calls": Schema.list(Schema.reference("ToolCall"))],
                required: ["inbound_id", "tool_calls"]),
            problems: [404, 503]),
        "GET /api/inbound/{id}/graph": Operation(
            summary: "The call's stages and queues: now, or at its end.", tag: "calls",
            answer: Schema.reference("Graph"), problems: [404, 503]),
        "GET /api/inbound/{id}/recording": Operation(
            summary: "Caller left, AI right; ranges work.", tag: "inbound", contentType: "audio/wav",
            problems: [404, 416, 503]),
        "GET /api/inbound/{id}/events": Operation(
            summary: "What happened, in order.", tag: "inbound", answer: Schema.page(Schema.any), problems: [404, 503]),
        "POST /api/inbound/{id}/hangup": Operation(
            summary: "Ends a connected call.", tag: "inbound", status: 202, problems: [404, 409, 503]),
        "POST /api/inbound/{id}/say": Operation(
            summary: "Has something said, now.", tag: "inbound",
            body: CallRoutes.sayForm,
            status: 202,
            problems: [400, 404, 409, 422, 503]),
        "GET /api/inbound/{id}/sip": Operation(
            summary: "Its SIP messages, without secrets, and a ladder of them.", tag: "inbound", answer: sipTrace,
            problems: [404, 503]),
        "POST /api/inbound/{id}/browser": browserTicket(tag: "inbound"),
        "POST /api/inbound/{id}/transfer": Operation(
            summary: "Hands the caller to a person, who is told what it is about.", tag: "inbound",
            body: CallRoutes.transferForm, status: 202,
            problems: [400, 404, 409, 422, 503]),
        "POST /api/inbound/{id}/answers/{qid}": Operation(
            summary: "An answer given by hand.", tag: "inbound", body: CallRoutes.correctionForm,
            answer: Schema.reference("InboundResult"),
            problems: [400, 404, 409, 422, 503]),
    ]
}
