internal import Bridge
internal import Calls
internal import JSON
internal import Problems
internal import Realtime
internal import Store

extension OpenAPI {
    private static let states = CallState.allCases.map(\.rawValue)
    /// Every code of a problem, with its English text.
    private static let code: JSONValue = [
        "type": "string", "enum": .array(ProblemCode.allCases.map { .string($0.name) }),
        "description": .string(ProblemCode.allCases.map { "\($0.name): \($0.rawValue)" }.joined(separator: "\n")),
    ]

    /// Schemas of answers, by name.
    static let answers: [String: JSONValue] = [
        "Problem": Schema.object(
            [
                "type": Schema.text, "title": Schema.text, "status": Schema.whole(400...599), "code": Schema.text,
                "detail": Schema.text, "detail_code": code, "params": Schema.any,
                "errors": Schema.list(
                    Schema.object(
                        ["field": Schema.text, "message": Schema.text, "code": code, "params": Schema.any],
                        required: ["field", "message", "code", "params"])),
            ], required: ["type", "title", "status", "code", "detail"]),
        "NamedProblem": Schema.object(
            ["code": code, "params": Schema.any, "message": Schema.text], required: ["code", "params", "message"]),
        "Created": Schema.object(
            [
                "outbound_id": ["type": "string", "pattern": "^ob-[0-9a-f]{8}$"], "state": Schema.choice(states),
                "created_at": Schema.time,
                "message": Schema.text, "warnings": Schema.list(Schema.text),
                "warning_details": Schema.list(Schema.reference("NamedProblem")),
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
                "carrier": Schema.nullable(Schema.choice(Carriers.recorded)),
                "dialect": Schema.nullable(Schema.choice(Dialects.names)),
                "stream": Schema.nullable(
                    Schema.object(
                        [
                            "url": Schema.nullable(Schema.text), "dialect": Schema.text,
                            "headers": Schema.list(Schema.text), "parameters": Schema.list(Schema.text),
                        ], required: ["dialect", "headers", "parameters"])),
                "stream_failure": Schema.nullable(Schema.text),
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
                "carrier": Schema.nullable(Schema.choice(Carriers.recorded)),
                "dialect": Schema.nullable(Schema.choice(Dialects.names)),
                "result": Schema.nullable(Schema.reference("InboundResult")),
            ], required: ["inbound_id", "state", "caller_number", "called_number", "created_at"]),
        "InboundResult": Schema.object(
            [
                "inbound_id": Schema.text, "state": Schema.choice(states), "final": Schema.flag,
                "answers": Schema.list(Schema.reference("Answer")),
                "summary": Schema.nullable(Schema.text), "transcript": Schema.list(Schema.reference("TranscriptEntry")),
                "cost": Schema.reference("Cost"), "tool_calls": Schema.list(Schema.reference("ToolCall")),
            ], required: ["inbound_id", "state", "final", "answers"]),
        "ToolCall": Schema.toolCall,
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
                "tool_calls": Schema.list(Schema.reference("ToolCall")),
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
                "question_id": Schema.text, "question_text": Schema.text,
                "status": Schema.choice(Answer.Status.allCases.map(\.rawValue)),
                "answer_text": Schema.nullable(Schema.text),
                "answer_summary": Schema.nullable(Schema.text), "value": [:],
                "confidence": Schema.nullable(["type": "number"]), "confidence_source": Schema.nullable(Schema.text),
                "settled": Schema.nullable(Schema.choice(Answer.Settled.allCases.map(\.rawValue))),
                "evidence": Schema.nullable(Schema.any),
            ], required: ["question_id", "question_text", "status"]),
        "TranscriptEntry": Schema.object(
            [
                "timestamp": ["type": "number"], "end": ["type": "number"],
                "speaker": Schema.choice(["ai", "customer"]), "text": Schema.text,
            ],
            required: ["timestamp", "speaker", "text"]),
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
}
