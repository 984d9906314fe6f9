extension OpenAPI {
    /// The server, who may use it, and what was posted.
    static let server: [String: Operation] = [
        "GET /health": Operation(summary: "The process lives.", tag: "server", contentType: "text/plain"),
        "GET /ready": Operation(summary: "Calls can be taken.", tag: "server", contentType: "text/plain"),
        "GET /metrics": Operation(
            summary: "Prometheus metrics.", tag: "server", contentType: "text/plain", problems: [503]),
        "GET /openapi.json": Operation(summary: "This document.", tag: "server"),
        "GET /docs": Operation(summary: "A page that shows this document.", tag: "server", contentType: "text/html"),
        "GET /api/providers": Operation(
            summary: "How the speech engines stand.", tag: "server", answer: Schema.page(Schema.any)),
        "POST /api/session": Operation(
            summary: "Logs in with an API key, or with name and password; sets a cookie.", tag: "access",
            body: SessionRoutes.form,
            answer: Schema.reference("Session"),
            problems: [400, 422, 503]),
        "GET /api/session": Operation(summary: "Who is asking.", tag: "access", answer: Schema.reference("Session")),
        "DELETE /api/session": Operation(summary: "Logs out.", tag: "access", status: 204, answer: nil),
        "GET /api/keys": Operation(
            summary: "API keys.", tag: "access", answer: Schema.page(Schema.reference("Key")), problems: [503]),
        "POST /api/keys": Operation(
            summary: "Makes a key; it is told this once.", tag: "access",
            body: AdminRoutes.keyForm, status: 201, answer: Schema.reference("Key"),
            problems: [400, 409, 422, 503]),
        "DELETE /api/keys/{id}": Operation(
            summary: "Revokes a key.", tag: "access", status: 204, answer: nil, problems: [404, 409, 503]),
        "GET /api/retention": Operation(
            summary: "What is kept of calls, and for how long.", tag: "access",
            answer: Schema.object(
                [
                    "retention_days": Schema.nullable(Schema.count), "records_calls": Schema.flag,
                    "is_encrypted": Schema.flag,
                ],
                required: ["retention_days", "records_calls", "is_encrypted"])),
        "GET /api/audit": Operation(
            summary: "Who did what, newest first.", tag: "access",
            query: ListQuery.audit, answer: Schema.page(Schema.any),
            problems: [422, 503]),
        "GET /api/webhooks/deliveries": Operation(
            summary: "Messages of the outbox, newest first.", tag: "webhooks",
            query: ListQuery.deliveries, answer: Schema.page(Schema.reference("Delivery")), problems: [422, 503]),
        "POST /api/webhooks/deliveries/replay": Operation(
            summary: "Sends all that were given up again.", tag: "webhooks", status: 202,
            answer: Schema.object(["replayed": Schema.count], required: ["replayed"]), problems: [503]),
        "POST /api/webhooks/deliveries/{id}/replay": Operation(
            summary: "Sends one again.", tag: "webhooks", status: 202,
            answer: Schema.object(["replayed": Schema.count], required: ["replayed"]),
            problems: [404, 503]),
        "GET /api/forms/{name}": Operation(
            summary:
                "A form's fields as JSON Schema, with this server's defaults; `x-warnings` of a field has what its "
                + "values would be warned of, by value.",
            tag: "server", problems: [404]),
    ]
}
