internal import Store

extension OpenAPI {
    /// Calls that are placed.
    static let outbound: [String: Operation] = [
        "POST /api/outbound": Operation(
            summary: "Places a call.", tag: "calls",
            headers: [CallRoutes.idempotencyKey], body: CallRequest.form, status: 202,
            answer: Schema.reference("Created"),
            problems: [400, 409, 415, 422, 503, 507]),
        "POST /api/outbound/check": Operation(
            summary: "What placing a call would say of its members; nothing is stored.", tag: "calls",
            body: CallRequest.form,
            answer: Schema.object(
                [
                    "warnings": Schema.list(Schema.text),
                    "warning_details": Schema.list(Schema.reference("NamedProblem")),
                ], required: ["warnings", "warning_details"]),
            problems: [400, 422, 503]),
        "GET /api/outbound": Operation(
            summary: "Calls, newest first.", tag: "calls",
            query: ListQuery.calls,
            answer: Schema.page(
                Schema.reference("Call"), more: ["total": Schema.count, "total_is_capped": Schema.flag]),
            problems: [422, 503]),
        "GET /api/outbound/active": Operation(
            summary: "Calls that have not ended, oldest first.", tag: "calls", query: ListQuery.active,
            answer: Schema.page(Schema.reference("Call"), more: ["total": Schema.count, "states": activeStates]),
            problems: [422, 503]),
        "GET /api/outbound/stats": Operation(summary: "Totals.", tag: "calls", problems: [503]),
        "GET /api/outbound/{id}": Operation(
            summary: "One call.", tag: "calls", answer: Schema.reference("Call"), problems: [404, 503]),
        "DELETE /api/outbound/{id}": Operation(
            summary: "Erases an ended call with all that is kept of it.", tag: "calls", status: 204, answer: nil,
            problems: [404, 409, 503, 507]),
        "GET /api/outbound/{id}/result": Operation(
            summary: "What came of it; before the end what there is.", tag: "calls", answer: Schema.reference("Result"),
            problems: [404, 503]),
        "GET /api/outbound/{id}/transcript": Operation(
            summary: "What was said, and heard.", tag: "calls",
            answer: Schema.object(
                ["outbound_id": Schema.text, "transcript": Schema.list(Schema.reference("TranscriptEntry"))],
                required: ["outbound_id", "transcript"]),
            problems: [404, 503]),
        "GET /api/outbound/{id}/tools": Operation(
            summary: "The calls of the agent's tools, in the order in which they finished.", tag: "calls",
            answer: Schema.object(
                ["outbound_id": Schema.text, "tool_calls": Schema.list(Schema.reference("ToolCall"))],
                required: ["outbound_id", "tool_calls"]),
            problems: [404, 503]),
        "GET /api/outbound/{id}/graph": Operation(
            summary: "The call's stages and queues: now, or at its end.", tag: "calls",
            answer: Schema.reference("Graph"), problems: [404, 503]),
        "GET /api/outbound/{id}/recording": Operation(
            summary: "Stereo WAV, the callee left; ranges work.", tag: "calls", contentType: "audio/wav",
            problems: [404, 416, 503]),
        "GET /api/outbound/{id}/events": Operation(
            summary: "Its events.", tag: "calls", answer: Schema.page(Schema.any), problems: [404, 503]),
        "POST /api/outbound/{id}/cancel": control("Gives up a call that is not connected."),
        "POST /api/outbound/{id}/retry": control("Dials an ended call again."),
        "POST /api/outbound/{id}/hangup": control("Ends a connected call."),
        "POST /api/outbound/{id}/say": Operation(
            summary: "Has something said to the callee, now.", tag: "calls",
            body: CallRoutes.sayForm,
            status: 202,
            answer: Schema.reference("Queued"), problems: [400, 404, 409, 422, 503]),
        "POST /api/outbound/{id}/answers/{qid}": Operation(
            summary: "Corrects an answer by hand; who, when and what it was is kept.", tag: "calls",
            body: CallRoutes.correctionForm, answer: Schema.reference("Result"),
            problems: [400, 404, 409, 422, 503]),
        "GET /api/outbound/{id}/sip": Operation(
            summary: "Its SIP messages, without secrets, and a ladder of them.", tag: "calls", answer: sipTrace,
            problems: [404, 503]),
        "POST /api/outbound/{id}/browser": browserTicket(tag: "calls"),
        "POST /api/outbound/{id}/transfer": Operation(
            summary: "Hands the callee to a person, who is told what it is about.", tag: "calls",
            body: CallRoutes.transferForm, status: 202,
            problems: [400, 404, 409, 422, 503]),
        "POST /receive": Operation(
            summary:
                "Dials a user, in the older orchestrator's form: what has an answer is known, what has none is asked.",
            tag: "orchestrator",
            body: OrchestratorRoutes.form, status: 202, answer: Schema.reference("Created"),
            problems: [400, 409, 422, 503]),
        "POST /send_llm_result": Operation(
            summary: "Posts a call's result to result_callback_url again.", tag: "orchestrator",
            body: OrchestratorRoutes.resultForm,
            status: 202, problems: [400, 404, 409, 422, 503]),
    ]

    private static func control(_ summary: String) -> Operation {
        Operation(
            summary: summary, tag: "calls", status: 202, answer: Schema.reference("Queued"), problems: [404, 409, 503])
    }

    static func browserTicket(tag: String) -> Operation {
        Operation(
            summary:
                "A one-time token for the microphone and speaker of the asker's browser, for the `start` of a media "
                + "stream to `url`: answers a call that rings for him (`browser:`), or takes over one in progress.",
            tag: tag, status: 201,
            answer: Schema.object(
                [
                    "outbound_id": Schema.text, "inbound_id": Schema.text, "url": Schema.text, "token": Schema.text,
                    "expires_in": Schema.count,
                ],
                required: ["url", "token", "expires_in"]), problems: [404, 409, 503])
    }

    static let activeStates = Schema.object(
        Dictionary(uniqueKeysWithValues: ActiveFilter.states.map { ($0.rawValue, Schema.count) }),
        required: ActiveFilter.states.map(\.rawValue))
    static let sipTrace = Schema.object(
        [
            "items": Schema.list(
                Schema.object(
                    [
                        "at": Schema.time, "direction": Schema.choice(["sent", "received"]), "peer": Schema.text,
                        "summary": Schema.text,
                        "text": Schema.text,
                    ], required: ["at", "direction", "peer", "summary", "text"])), "ladder": Schema.text,
        ], required: ["items", "ladder"])
}
