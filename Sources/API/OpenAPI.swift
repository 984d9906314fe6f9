// Over 400 lines: a table that describes every route and schema.
internal import Calls
internal import Foundation
internal import Net
internal import Realtime
internal import Store

/// `/openapi.json`: every route of the API (OpenAPI 3.1), and `/docs`, a page that shows it.
///
/// The table below says what each route takes and gives; a test walks it and the router in both directions.
enum OpenAPI {
    /// What a route takes and gives.
    struct Operation: Sendable {
        var summary: String
        var tag: String
        var query: [Parameter] = []
        var headers: [Parameter] = []
        var body: JSONValue?
        /// The answer when all went well.
        var status = 200
        /// nil: no body.
        var answer: JSONValue? = Schema.any
        var contentType = "application/json"
        /// Statuses of problems beside 401, 403, 422 and 429.
        var problems: [Int] = []
    }

    struct Parameter: Sendable {
        /// Characters of a value where nothing else is said.
        static let usualLimit = 64

        var name: String
        var schema: JSONValue
        var summary: String
        /// Characters of a value.
        var limit = Self.usualLimit
    }

    // MARK: Schemas

    private enum Schema {
        static let any: JSONValue = ["type": "object"]
        static let text: JSONValue = ["type": "string"]
        static let flag: JSONValue = ["type": "boolean"]
        static let time: JSONValue = ["type": "string", "format": "date-time"]
        static let count: JSONValue = ["type": "integer", "minimum": 0]

        static func text(_ limit: Int, minimum: Int = 1) -> JSONValue {
            ["type": "string", "minLength": .number(Double(minimum)), "maxLength": .number(Double(limit))]
        }
        static func whole(_ range: ClosedRange<Int>) -> JSONValue {
            [
                "type": "integer", "minimum": .number(Double(range.lowerBound)),
                "maximum": .number(Double(range.upperBound)),
            ]
        }
        static func choice(_ values: [String]) -> JSONValue {
            ["type": "string", "enum": .array(values.map { .string($0) })]
        }
        static func list(_ items: JSONValue) -> JSONValue { ["type": "array", "items": items] }
        static func nullable(_ schema: JSONValue) -> JSONValue { ["anyOf": [schema, ["type": "null"]]] }
        static func reference(_ name: String) -> JSONValue { ["$ref": .string("#/components/schemas/" + name)] }
        static func object(_ members: [String: JSONValue], required: [String] = [], isClosed: Bool = false) -> JSONValue
        {
            var object: [String: JSONValue] = ["type": "object", "properties": .object(members)]
            if !required.isEmpty { object["required"] = .array(required.map { .string($0) }) }
            if isClosed { object["additionalProperties"] = false }
            return .object(object)
        }
        static func page(_ item: JSONValue, more: [String: JSONValue] = [:]) -> JSONValue {
            object(["items": list(item), "next_cursor": nullable(text)].merging(more) { $1 }, required: ["items"])
        }
    }

    private static let limit = Parameter(
        name: "limit", schema: Schema.whole(CallFilter.limitRange), summary: "rows of a page (50)")
    private static let cursor = Parameter(
        name: "cursor", schema: Schema.text(ListCursor.lengthLimit), summary: "`next_cursor` of the page before",
        limit: ListCursor.lengthLimit)
    private static func search(_ summary: String) -> Parameter {
        Parameter(
            name: "q", schema: Schema.text(CallFilter.searchLimit, minimum: 0), summary: summary,
            limit: CallFilter.searchLimit)
    }

    // What lists are asked by; the routes read their queries by these.
    static let listQuery = [
        Parameter(name: "state", schema: Schema.choice(states), summary: "in this state"),
        search("words of a purpose, an id, a number whole or its last four digits"),
        Parameter(name: "from", schema: Schema.time, summary: "created at or after"),
        Parameter(name: "to", schema: Schema.time, summary: "created before"), limit, cursor,
    ]
    static let activeQuery = [
        Parameter(
            name: "state", schema: Schema.text(Parameter.usualLimit),
            summary: "only these of queued, dialing, ringing, connected; commas between them"),
        limit, cursor,
    ]
    static let numberQuery = [limit, cursor, search("a whole number")]
    static let auditQuery = [
        limit, cursor,
        Parameter(name: "action", schema: Schema.text(Parameter.usualLimit), summary: "e.g. call.create"),
    ]
    static let deliveryQuery = [
        limit, cursor,
        Parameter(
            name: "state", schema: Schema.choice(Delivery.State.allCases.map(\.rawValue)), summary: "in this state"),
        Parameter(name: "outbound_id", schema: Schema.text(Parameter.usualLimit), summary: "of this call"),
    ]

    private static let activeStates = Schema.object(
        Dictionary(uniqueKeysWithValues: ActiveFilter.states.map { ($0.rawValue, Schema.count) }),
        required: ActiveFilter.states.map(\.rawValue))
    private static let sipTrace = Schema.object(
        [
            "items": Schema.list(
                Schema.object(
                    [
                        "at": Schema.time, "direction": Schema.choice(["sent", "received"]), "peer": Schema.text,
                        "summary": Schema.text,
                        "text": Schema.text,
                    ], required: ["at", "direction", "peer", "summary", "text"])), "ladder": Schema.text,
        ], required: ["items", "ladder"])

    private static let states = CallState.allCases.map(\.rawValue)

    private static let condition = Schema.object(
        ["question": Schema.text(10), "equals": ["type": ["boolean", "number", "string"]]],
        required: ["question", "equals"], isClosed: true)

    private static let questionItem: JSONValue = [
        "anyOf": [
            Schema.text(CallRequest.questionLimit),
            Schema.object(
                [
                    "text": Schema.text(CallRequest.questionLimit),
                    "type": Schema.nullable(Schema.choice(Question.Kind.allCases.map(\.rawValue))),
                    "choices": Schema.nullable(Schema.list(Schema.text(100))), "required": Schema.nullable(Schema.flag),
                    "ask_if": Schema.nullable(condition),
                ], required: ["text"], isClosed: true),
        ]
    ]

    private static let questions: JSONValue = [
        "type": "array", "minItems": .number(Double(CallRequest.questionCount.lowerBound)),
        "maxItems": .number(Double(CallRequest.questionCount.upperBound)), "items": questionItem,
    ]

    private static let components: [String: JSONValue] = [
        "Problem": Schema.object(
            [
                "type": Schema.text, "title": Schema.text, "status": Schema.whole(400...599), "code": Schema.text,
                "detail": Schema.text,
                "errors": Schema.list(
                    Schema.object(["field": Schema.text, "message": Schema.text], required: ["field", "message"])),
            ], required: ["type", "title", "status", "code", "detail"]),
        "NewCall": Schema.object(
            [
                "caller_number": Schema.text(64), "callee_number": Schema.text(256),
                "purpose": Schema.text(CallRequest.purposeLimit),
                "questions": questions,
                "caller_display_name": Schema.nullable(Schema.text(CallRequest.displayNameLimit, minimum: 0)),
                "max_duration": Schema.nullable(Schema.whole(CallRequest.durationRange)),
                "priority": Schema.nullable(Schema.whole(1...10)),
                "scheduled_at": Schema.nullable(Schema.time), "retry_on_no_answer": Schema.nullable(Schema.flag),
                "max_retries": Schema.nullable(Schema.whole(0...10)),
                "language": Schema.nullable(Schema.text(LanguageTag.lengthLimit, minimum: 2)),
                "agent": Schema.nullable(Schema.text(64)), "metadata": Schema.nullable(Schema.any),
                "webhook_url": Schema.nullable(Schema.text(WebhookSender.urlLimit)),
                "voicemail": Schema.nullable(Schema.choice(VoicemailAction.allCases.map(\.rawValue))),
                "voicemail_message": Schema.nullable(Schema.text(VoicemailPolicy.messageLimit)),
            ], required: ["caller_number", "callee_number", "purpose", "questions"], isClosed: true),
        "Created": Schema.object(
            [
                "outbound_id": ["type": "string", "pattern": "^ob-[0-9a-f]{8}$"], "state": Schema.choice(states),
                "created_at": Schema.time,
                "message": Schema.text, "warnings": Schema.list(Schema.text),
            ], required: ["outbound_id", "state", "created_at", "message"]),
        "Call": Schema.object(
            [
                "outbound_id": Schema.text, "call_id": Schema.nullable(Schema.text), "state": Schema.choice(states),
                "caller_number": Schema.text,
                "callee_number": Schema.text, "purpose": Schema.text, "questions": Schema.list(Schema.any),
                "created_at": Schema.time,
                "started_at": Schema.nullable(Schema.time), "answered_at": Schema.nullable(Schema.time),
                "completed_at": Schema.nullable(Schema.time),
                "attempt_count": Schema.count, "attempts": Schema.list(Schema.any),
                "next_attempt_at": Schema.nullable(Schema.time),
                "failure_reason": Schema.nullable(Schema.text), "end_reason": Schema.nullable(Schema.text),
                "blocked": Schema.list(Schema.reference("Block")),
                "result": Schema.nullable(Schema.reference("Result")), "requested_by": Schema.text,
                "priority": Schema.whole(1...10),
            ],
            required: [
                "outbound_id", "state", "caller_number", "callee_number", "purpose", "questions", "created_at",
                "attempt_count",
            ]),
        "InboundCall": Schema.object(
            [
                "inbound_id": Schema.text, "call_id": Schema.nullable(Schema.text), "state": Schema.choice(states),
                "caller_number": Schema.text,
                "called_number": Schema.text, "created_at": Schema.time, "answered_at": Schema.nullable(Schema.time),
                "completed_at": Schema.nullable(Schema.time), "failure_reason": Schema.nullable(Schema.text),
                "end_reason": Schema.nullable(Schema.text),
                "result": Schema.nullable(Schema.reference("InboundResult")),
            ], required: ["inbound_id", "state", "caller_number", "called_number", "created_at"]),
        "InboundResult": Schema.object(
            [
                "inbound_id": Schema.text, "state": Schema.choice(states), "final": Schema.flag,
                "answers": Schema.list(Schema.reference("Answer")),
                "summary": Schema.nullable(Schema.text), "transcript": Schema.list(Schema.reference("TranscriptEntry")),
                "cost": Schema.reference("Cost"),
            ], required: ["inbound_id", "state", "final", "answers"]),
        "Correction": Schema.object(
            [
                "status": Schema.nullable(Schema.choice(["answered", "unclear", "refused", "not_asked"])),
                "answer_text": Schema.nullable(Schema.text(CallRoutes.answerLimit, minimum: 0)),
                "answer_summary": Schema.nullable(Schema.text(CallRoutes.answerLimit, minimum: 0)),
                "value": [
                    "type": ["boolean", "number", "string", "null"],
                    "maxLength": .number(Double(CallRoutes.answerLimit)),
                ],
            ], isClosed: true),
        "Block": Schema.object(
            [
                "at": Schema.time, "rule": Schema.choice(DialRule.allCases.map(\.rawValue)), "detail": Schema.text,
                "until": Schema.nullable(Schema.time),
            ],
            required: ["at", "rule", "detail"]),
        "Result": Schema.object(
            [
                "outbound_id": Schema.text, "state": Schema.choice(states), "final": Schema.flag,
                "task_completed": Schema.flag,
                "answers": Schema.list(Schema.reference("Answer")), "summary": Schema.nullable(Schema.text),
                "summary_source": Schema.nullable(Schema.choice(["model", "template"])),
                "sentiment": Schema.nullable(Schema.choice(CallReview.Sentiment.allCases.map(\.rawValue))),
                "cost": Schema.reference("Cost"),
                "transcript": Schema.list(Schema.reference("TranscriptEntry")),
                "duration_seconds": Schema.nullable(["type": "number"]),
            ], required: ["outbound_id", "state", "final", "task_completed", "answers"]),
        "Cost": Schema.object(
            [
                "total": Schema.text, "known": Schema.text, "currency": Schema.nullable(Schema.text),
                "components": Schema.list(
                    Schema.object(
                        [
                            "component": Schema.text, "amount": Schema.text, "estimated": Schema.flag,
                            "lines": Schema.list(
                                Schema.object(
                                    [
                                        "unit": Schema.text, "quantity": Schema.text,
                                        "unit_price": Schema.nullable(Schema.text),
                                        "amount": Schema.nullable(Schema.text),
                                    ], required: ["unit", "quantity"])),
                        ], required: ["component", "amount", "lines"])),
            ], required: ["total", "known", "components"]),
        "Answer": Schema.object(
            [
                "question_id": Schema.text, "question_text": Schema.text, "status": Schema.text,
                "answer_text": Schema.nullable(Schema.text),
                "answer_summary": Schema.nullable(Schema.text), "value": [:],
                "confidence": Schema.nullable(["type": "number"]),
                "evidence": Schema.nullable(Schema.any),
            ], required: ["question_id", "question_text", "status"]),
        "TranscriptEntry": Schema.object(
            [
                "timestamp": ["type": "number"], "end": ["type": "number"],
                "speaker": Schema.choice(["ai", "customer"]), "text": Schema.text,
            ],
            required: ["timestamp", "speaker", "text"]),
        "Transfer": Schema.object(
            [
                "operator_id": Schema.nullable(Schema.text(20)), "to": Schema.nullable(Schema.text(256)),
                "mode": Schema.nullable(Schema.choice(CallSettings.TransferMode.allCases.map(\.rawValue))),
            ], isClosed: true),
        "NewOperator": Schema.object(
            [
                "name": Schema.text(OperatorRoutes.nameLimit), "sip_user": Schema.text(OperatorRoutes.userLimit),
                "sip_password": Schema.nullable(
                    Schema.text(
                        OperatorRoutes.passwordRange.upperBound, minimum: OperatorRoutes.passwordRange.lowerBound)),
                "number": Schema.nullable(Schema.text(64)), "address": Schema.nullable(Schema.text(256)),
                "status": Schema.nullable(Schema.choice(Operator.Status.allCases.map(\.rawValue))),
                "away_message": Schema.nullable(Schema.text(OperatorRoutes.messageLimit, minimum: 0)),
                "ring_timeout": Schema.nullable(Schema.whole(OperatorRoutes.ringRange)),
                "order": Schema.nullable(Schema.whole(0...1_000)),
            ], required: ["name", "sip_user"], isClosed: true),
        "Operator": Schema.object(
            [
                "id": Schema.text, "name": Schema.text, "number": Schema.nullable(Schema.text), "sip_user": Schema.text,
                "has_password": Schema.flag,
                "address": Schema.nullable(Schema.text),
                "status": Schema.choice(Operator.Status.allCases.map(\.rawValue)),
                "away_message": Schema.nullable(Schema.text), "ring_timeout": Schema.count, "order": Schema.count,
                "in_call": Schema.flag,
                "registered": Schema.flag, "phones": Schema.list(Schema.any), "created_at": Schema.time,
                "updated_at": Schema.time,
            ], required: ["id", "name", "sip_user", "status", "registered", "in_call"]),
        "NewTemplate": Schema.object(
            [
                "name": Schema.text(100), "purpose": Schema.text(CallRequest.purposeLimit), "questions": questions,
                "language": Schema.nullable(Schema.text(LanguageTag.lengthLimit, minimum: 2)),
                "caller_display_name": Schema.nullable(Schema.text(100, minimum: 0)),
                "greeting": Schema.nullable(Schema.text(TemplateRoutes.greetingLimit, minimum: 0)),
            ], required: ["name", "purpose", "questions"], isClosed: true),
        "Template": Schema.object(
            [
                "id": Schema.text, "name": Schema.text, "purpose": Schema.text, "questions": Schema.list(Schema.any),
                "created_at": Schema.time,
            ],
            required: ["id", "name", "purpose", "questions"]),
        "Key": Schema.object(
            [
                "id": Schema.text, "name": Schema.text, "role": Schema.choice(["viewer", "operator", "admin"]),
                "created_at": Schema.time,
                "created_by": Schema.text, "expires_at": Schema.nullable(Schema.time),
                "revoked_at": Schema.nullable(Schema.time),
                "is_valid": Schema.flag,
            ], required: ["id", "name", "role", "is_valid"]),
        "Delivery": Schema.object(
            [
                "id": Schema.text, "outbound_id": Schema.text, "event": Schema.text, "endpoint": Schema.text,
                "state": Schema.choice(Delivery.State.allCases.map(\.rawValue)), "attempts": Schema.count,
                "created_at": Schema.time,
            ], required: ["id", "event", "state", "attempts"]),
        "Graph": graph,
        "Queued": Schema.object(
            ["outbound_id": Schema.text, "message": Schema.text], required: ["outbound_id", "message"]),
        "Session": Schema.object(
            [
                "name": Schema.text, "role": Schema.choice(["viewer", "operator", "admin"]),
                "last_event_id": Schema.count,
            ], required: ["name", "role"]),
    ]

    // MARK: Routes

    /// `GET …/{id}/graph`.
    private static let graph = Schema.object(
        [
            "outbound_id": Schema.text, "inbound_id": Schema.text, "live": Schema.flag,
            "mode": Schema.nullable(Schema.text),
            "stages": Schema.list(
                Schema.object(
                    [
                        "name": Schema.text, "lane": Schema.choice(["caller", "conversation", "ai"]),
                        "frames": Schema.count, "mean_ms": Schema.nullable(["type": "number"]),
                        "worst_ms": Schema.nullable(["type": "number"]),
                    ], required: ["name", "lane", "frames"])),
            "links": Schema.list(
                Schema.object(["from": Schema.text, "to": Schema.text], required: ["from", "to"])),
            "edges": Schema.list(
                Schema.object(
                    [
                        "name": Schema.text, "from": Schema.text, "to": Schema.text, "depth": Schema.count,
                        "peak": Schema.count, "limit": Schema.count, "oldest_ms": Schema.count,
                        "sent": Schema.count, "dropped": Schema.count, "waits": Schema.count,
                        "when_full": Schema.choice(["wait", "drop_oldest", "pause_source"]),
                    ],
                    required: [
                        "name", "from", "to", "depth", "limit", "oldest_ms", "sent", "dropped", "waits", "when_full",
                    ])),
        ], required: ["live", "mode", "stages", "links", "edges"])

    private static let nothing = Schema.object([:])

    private static func browserTicket(tag: String) -> Operation {
        Operation(
            summary:
                "A one-time token for the microphone and speaker of the asker's browser, for the `start` of a media stream to `url`: answers a call "
                + "that rings for him (`browser:`), or takes over one in progress.", tag: tag, status: 201,
            answer: Schema.object(
                [
                    "outbound_id": Schema.text, "inbound_id": Schema.text, "url": Schema.text, "token": Schema.text,
                    "expires_in": Schema.count,
                ],
                required: ["url", "token", "expires_in"]), problems: [404, 409, 503])
    }

    private static func control(_ summary: String) -> Operation {
        Operation(
            summary: summary, tag: "calls", status: 202, answer: Schema.reference("Queued"), problems: [404, 409, 503])
    }

    static let operations: [String: Operation] = [
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
            body: Schema.object(
                ["api_key": Schema.text(200), "username": Schema.text(64), "password": Schema.text(200)], isClosed: true
            ),
            answer: Schema.reference("Session"),
            problems: [400, 422, 503]),
        "GET /api/session": Operation(summary: "Who is asking.", tag: "access", answer: Schema.reference("Session")),
        "DELETE /api/session": Operation(summary: "Logs out.", tag: "access", status: 204, answer: nil),
        "GET /api/keys": Operation(
            summary: "API keys.", tag: "access", answer: Schema.page(Schema.reference("Key")), problems: [503]),
        "POST /api/keys": Operation(
            summary: "Makes a key; it is told this once.", tag: "access",
            body: Schema.object(
                [
                    "name": Schema.text(64), "role": Schema.choice(["viewer", "operator", "admin"]),
                    "expires_in_days": Schema.nullable(Schema.whole(1...3_650)),
                ], required: ["name", "role"], isClosed: true), status: 201, answer: Schema.reference("Key"),
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
            query: auditQuery, answer: Schema.page(Schema.any),
            problems: [422, 503]),

        "POST /api/outbound": Operation(
            summary: "Places a call.", tag: "calls",
            headers: [
                Parameter(
                    name: "Idempotency-Key", schema: Schema.text(RepeatableRequest.keyLimit),
                    summary: "the same within 24 h gives the first answer again")
            ], body: Schema.reference("NewCall"), status: 202, answer: Schema.reference("Created"),
            problems: [400, 409, 415, 422, 503, 507]),
        "POST /api/outbound/check": Operation(
            summary: "What placing a call would say of its members; nothing is stored.", tag: "calls",
            body: Schema.reference("NewCall"),
            answer: Schema.object(["warnings": Schema.list(Schema.text)], required: ["warnings"]),
            problems: [400, 422, 503]),
        "GET /api/outbound": Operation(
            summary: "Calls, newest first.", tag: "calls",
            query: listQuery,
            answer: Schema.page(
                Schema.reference("Call"), more: ["total": Schema.count, "total_is_capped": Schema.flag]),
            problems: [422, 503]),
        "GET /api/outbound/active": Operation(
            summary: "Calls that have not ended, oldest first.", tag: "calls", query: activeQuery,
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
            body: Schema.object(["text": Schema.text(CallRoutes.sayLimit)], required: ["text"], isClosed: true),
            status: 202,
            answer: Schema.reference("Queued"), problems: [400, 404, 409, 422, 503]),
        "POST /api/outbound/{id}/answers/{qid}": Operation(
            summary: "Corrects an answer by hand; who, when and what it was is kept.", tag: "calls",
            body: Schema.reference("Correction"), answer: Schema.reference("Result"),
            problems: [400, 404, 409, 422, 503]),

        "GET /api/templates": Operation(
            summary: "Saved purposes and questions.", tag: "templates",
            answer: Schema.page(Schema.reference("Template")), problems: [503]),
        "POST /api/templates": Operation(
            summary: "Saves one.", tag: "templates", body: Schema.reference("NewTemplate"), status: 201,
            answer: Schema.reference("Template"),
            problems: [400, 409, 422, 503, 507]),
        "GET /api/templates/{id}": Operation(
            summary: "One template.", tag: "templates", answer: Schema.reference("Template"), problems: [404, 503]),
        "PUT /api/templates/{id}": Operation(
            summary: "Replaces it.", tag: "templates", body: Schema.reference("NewTemplate"),
            answer: Schema.reference("Template"),
            problems: [400, 404, 409, 422, 503, 507]),
        "DELETE /api/templates/{id}": Operation(
            summary: "Deletes it.", tag: "templates", status: 204, answer: nil, problems: [404, 503]),

        "GET /api/do-not-call": Operation(
            summary: "Who must not be called.", tag: "numbers",
            query: numberQuery,
            answer: Schema.page(Schema.any, more: ["total": Schema.count]), problems: [422, 503]),
        "POST /api/do-not-call": Operation(
            summary: "Adds numbers, all or none.", tag: "numbers",
            body: Schema.object(
                [
                    "number": Schema.nullable(Schema.text(256)),
                    "numbers": Schema.nullable(["type": "array", "items": Schema.text(256), "maxItems": 10_000]),
                    "reason": Schema.nullable(Schema.text(200, minimum: 0)),
                ], isClosed: true), status: 201,
            answer: Schema.object(["added": Schema.count, "known": Schema.count], required: ["added", "known"]),
            problems: [400, 409, 422, 503, 507]),
        "DELETE /api/do-not-call/{number}": Operation(
            summary: "Takes a number off.", tag: "numbers", status: 204, answer: nil, problems: [404, 503]),
        "GET /api/numbers": Operation(
            summary: "Numbers of ours that may be shown.", tag: "numbers",
            query: numberQuery,
            answer: Schema.page(Schema.any, more: ["total": Schema.count]), problems: [422, 503]),
        "POST /api/numbers": Operation(
            summary: "Adds one.", tag: "numbers",
            body: Schema.object(
                [
                    "number": Schema.text(64), "label": Schema.nullable(Schema.text(100, minimum: 0)),
                    "daily_cap": Schema.nullable(Schema.whole(1...1_000_000)),
                    "template_id": Schema.nullable(Schema.text(20)),
                ], required: ["number"], isClosed: true), status: 201, problems: [400, 409, 422, 503, 507]),
        "DELETE /api/numbers/{number}": Operation(
            summary: "Takes it off.", tag: "numbers", status: 204, answer: nil, problems: [404, 503]),

        "GET /api/webhooks/deliveries": Operation(
            summary: "Messages of the outbox, newest first.", tag: "webhooks",
            query: deliveryQuery, answer: Schema.page(Schema.reference("Delivery")), problems: [422, 503]),
        "POST /api/webhooks/deliveries/replay": Operation(
            summary: "Sends all that were given up again.", tag: "webhooks", status: 202,
            answer: Schema.object(["replayed": Schema.count], required: ["replayed"]), problems: [503]),
        "POST /api/webhooks/deliveries/{id}/replay": Operation(
            summary: "Sends one again.", tag: "webhooks", status: 202,
            answer: Schema.object(["replayed": Schema.count], required: ["replayed"]),
            problems: [404, 503]),

        "GET /api/inbound": Operation(
            summary: "Calls that came in, newest first.", tag: "inbound", query: listQuery,
            answer: Schema.page(
                Schema.reference("InboundCall"), more: ["total": Schema.count, "total_is_capped": Schema.flag]),
            problems: [422, 503]),
        "GET /api/inbound/active": Operation(
            summary: "Those that have not ended, oldest first.", tag: "inbound", query: activeQuery,
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
            body: Schema.object(["text": Schema.text(CallRoutes.sayLimit)], required: ["text"], isClosed: true),
            status: 202,
            problems: [400, 404, 409, 422, 503]),
        "GET /api/inbound/{id}/sip": Operation(
            summary: "Its SIP messages, without secrets, and a ladder of them.", tag: "inbound", answer: sipTrace,
            problems: [404, 503]),
        "GET /api/outbound/{id}/sip": Operation(
            summary: "Its SIP messages, without secrets, and a ladder of them.", tag: "calls", answer: sipTrace,
            problems: [404, 503]),
        "POST /api/outbound/{id}/browser": browserTicket(tag: "calls"),
        "POST /api/inbound/{id}/browser": browserTicket(tag: "inbound"),
        "POST /api/inbound/{id}/transfer": Operation(
            summary: "Hands the caller to a person, who is told what it is about.", tag: "inbound",
            body: Schema.reference("Transfer"), status: 202,
            problems: [400, 404, 409, 422, 503]),
        "POST /api/outbound/{id}/transfer": Operation(
            summary: "Hands the callee to a person, who is told what it is about.", tag: "calls",
            body: Schema.reference("Transfer"), status: 202,
            problems: [400, 404, 409, 422, 503]),
        "GET /api/operators": Operation(
            summary: "Who answers calls, and whether their phones are there.", tag: "operators",
            answer: Schema.page(Schema.reference("Operator")),
            problems: [503]),
        "POST /api/operators": Operation(
            summary: "Adds one.", tag: "operators", body: Schema.reference("NewOperator"), status: 201,
            answer: Schema.reference("Operator"),
            problems: [400, 409, 422, 503, 507]),
        "GET /api/operators/{id}": Operation(
            summary: "One operator.", tag: "operators", answer: Schema.reference("Operator"), problems: [404, 503]),
        "PUT /api/operators/{id}": Operation(
            summary: "Replaces what is known of him; without sip_password his stays.", tag: "operators",
            body: Schema.reference("NewOperator"),
            answer: Schema.reference("Operator"), problems: [400, 404, 409, 422, 503, 507]),
        "DELETE /api/operators/{id}": Operation(
            summary: "Removes him.", tag: "operators", status: 204, answer: nil, problems: [404, 503]),
        "PUT /api/operators/{id}/status": Operation(
            summary: "Whether he takes calls now.", tag: "operators",
            body: Schema.object(
                [
                    "status": Schema.choice(Operator.Status.allCases.map(\.rawValue)),
                    "away_message": Schema.nullable(Schema.text(OperatorRoutes.messageLimit, minimum: 0)),
                ], required: ["status"], isClosed: true), answer: Schema.reference("Operator"),
            problems: [400, 404, 422, 503]),
        "POST /api/inbound/{id}/answers/{qid}": Operation(
            summary: "An answer given by hand.", tag: "inbound", body: Schema.reference("Correction"),
            answer: Schema.reference("InboundResult"),
            problems: [400, 404, 409, 422, 503]),

        "POST /receive": Operation(
            summary:
                "Dials a user, in the older orchestrator's form: what has an answer is known, what has none is asked.",
            tag: "orchestrator",
            body: Schema.object(
                [
                    "user": Schema.object(
                        [
                            "name": Schema.nullable(Schema.text(OrchestratorRoutes.nameLimit, minimum: 0)),
                            "phone": Schema.text(256),
                        ],
                        required: ["phone"]),
                    "vulnerability": Schema.nullable(Schema.any),
                    "questions": Schema.nullable([
                        "type": "array", "maxItems": .number(Double(CallRequest.questionCount.upperBound)),
                        "items": Schema.object(
                            [
                                "question": Schema.text(CallRequest.questionLimit),
                                "answer": Schema.nullable(Schema.text(OrchestratorRoutes.answerLimit, minimum: 0)),
                            ], required: ["question"], isClosed: true),
                    ]),
                ], required: ["user"], isClosed: true), status: 202, answer: Schema.reference("Created"),
            problems: [400, 409, 422, 503]),
        "POST /send_llm_result": Operation(
            summary: "Posts a call's result to result_callback_url again.", tag: "orchestrator",
            body: Schema.object(
                ["outbound_id": Schema.nullable(Schema.text(64)), "call_id": Schema.nullable(Schema.text(256))],
                isClosed: true),
            status: 202, problems: [400, 404, 409, 422, 503]),

        "GET /api/knowledge": Operation(
            summary: "What the AI answers from.", tag: "knowledge", answer: Schema.page(Schema.any),
            problems: [404, 422, 503]),
        "POST /api/knowledge": Operation(
            summary: "Adds a pair or a document.", tag: "knowledge",
            body: Schema.object(
                [
                    "question": Schema.nullable(Schema.text), "answer": Schema.nullable(Schema.text),
                    "title": Schema.nullable(Schema.text),
                    "text": Schema.nullable(Schema.text), "content_type": Schema.nullable(Schema.text),
                    "content_base64": Schema.nullable(Schema.text),
                ], isClosed: true), status: 201, problems: [400, 404, 409, 422, 503, 507]),
        "DELETE /api/knowledge/{id}": Operation(
            summary: "Deletes it.", tag: "knowledge", status: 204, answer: nil, problems: [404, 503]),
        "POST /api/knowledge/search": Operation(
            summary: "What it would find.", tag: "knowledge", body: Schema.any, answer: Schema.page(Schema.any),
            problems: [400, 404, 422, 503]),
    ]

    /// Not of the API: called by providers, who have their own documents.
    static let undocumented = Routes.carriers.map { $0.prefix } + ["/web/", "/favicon.ico"]
    /// Pages of the dashboard.
    static let pages: Set<String> = [
        "/", "/outbound", "/outbound/new", "/outbound/{id}", "/inbound", "/inbound/{id}", "/templates", "/operators",
        "/settings", "/settings/{page}",
        "/login",
    ]
    static let open: Set<String> = ["GET /health", "GET /ready", "POST /api/session"]

    static let document: JSONValue = {
        var paths: [String: JSONValue] = [:]
        for (key, operation) in operations {
            let words = key.split(separator: " ").map(String.init)
            // Lists end with a slash, as the contract writes them; both ways work.
            var path: [String: JSONValue] = if case .object(let known)? = paths[words[1]] { known } else { [:] }
            path[words[0].lowercased()] = describe(operation, path: words[1], isOpen: open.contains(key))
            paths[words[1]] = .object(path)
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Trunkline", "version": "1",
                "description": "Places phone calls, lets an AI hold them, and tells what came of them.",
            ],
            "servers": [["url": "/"]], "paths": .object(paths),
            "components": [
                "schemas": .object(components),
                "securitySchemes": [
                    "key": ["type": "http", "scheme": "bearer"],
                    "session": ["type": "apiKey", "in": "cookie", "name": .string(Authenticator.cookie)],
                ],
            ], "security": [["key": []], ["session": []]],
        ]
    }()

    private static func describe(_ operation: Operation, path: String, isOpen: Bool) -> JSONValue {
        var parameters: [JSONValue] = []
        for part in path.split(separator: "/") where part.hasPrefix("{") {
            parameters.append([
                "name": .string(String(part.dropFirst().dropLast())), "in": "path", "required": true,
                "schema": Schema.text(256),
            ])
        }
        for (place, items) in [("query", operation.query), ("header", operation.headers)] {
            parameters += items.map {
                [
                    "name": .string($0.name), "in": .string(place), "schema": $0.schema,
                    "description": .string($0.summary),
                ]
            }
        }
        var responses: [String: JSONValue] = [:]
        let good = String(operation.status)
        if let answer = operation.answer {
            let schema = operation.contentType == "application/json" ? answer : Schema.text
            responses[good] = ["description": "done", "content": .object([operation.contentType: ["schema": schema]])]
        } else {
            responses[good] = ["description": "done"]
        }
        if operation.contentType == "audio/wav" { responses["206"] = responses[good] }
        // 422: a query parameter that the route does not know.
        for status in operation.problems + (isOpen ? [401, 429] : [401, 403, 422, 429]) {
            responses[String(status)] = [
                "description": "what is wrong",
                "content": ["application/problem+json": ["schema": Schema.reference("Problem")]],
            ]
        }
        var description: [String: JSONValue] = [
            "summary": .string(operation.summary), "tags": [.string(operation.tag)], "parameters": .array(parameters),
            "responses": .object(responses),
        ]
        if let body = operation.body {
            description["requestBody"] = ["required": true, "content": ["application/json": ["schema": body]]]
        }
        if isOpen { description["security"] = [] }
        return .object(description)
    }

    // MARK: A page

    /// Built of the document on the server: no script, nothing from elsewhere.
    static let page: String = {
        func escaped(_ text: String) -> String {
            text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;").replacing(
                "\"", with: "&quot;")
        }
        var text = """
            <!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Trunkline API</title>\
            <link rel="stylesheet" href="/web/docs.css"><main><h1>Trunkline API</h1><p>Every route, as <a href="/openapi.json">OpenAPI 3.1</a>. \
            Send <code>Authorization: Bearer KEY</code>. Problems come as <code>application/problem+json</code> (RFC 9457) with one entry for every \
            bad field.</p>
            """
        let tags = Dictionary(grouping: operations) { $0.value.tag }.sorted { $0.key < $1.key }
        for (tag, operations) in tags {
            text += "<section><h2>\(escaped(tag))</h2>"
            let sorted = operations.sorted {
                $0.key.split(separator: " ").reversed().joined() < $1.key.split(separator: " ").reversed().joined()
            }
            for (key, operation) in sorted {
                text += "<article><h3><code>\(escaped(key))</code></h3><p>\(escaped(operation.summary))</p>"
                let parameters = operation.query + operation.headers
                if !parameters.isEmpty {
                    text +=
                        "<dl>"
                        + parameters.map { "<dt><code>\(escaped($0.name))</code></dt><dd>\(escaped($0.summary))</dd>" }
                        .joined() + "</dl>"
                }
                if let body = operation.body {
                    text += "<details><summary>body</summary><pre>\(escaped(body.text))</pre></details>"
                }
                text +=
                    "<p class=\"answers\">\(operation.status), \(operation.problems.map(String.init).joined(separator: ", "))</p></article>"
            }
            text += "</section>"
        }
        text += "<section><h2>schemas</h2>"
        for (name, schema) in components.sorted(by: { $0.key < $1.key }) {
            text +=
                "<details id=\"\(escaped(name))\"><summary>\(escaped(name))</summary><pre>\(escaped(schema.text))</pre></details>"
        }
        return text + "</section></main></html>"
    }()
}
