internal import JSON
internal import Realtime
internal import Store

/// What the tools tell of calls: less than the API does, since a model reads all of it. What the other party said is
/// marked, for it may read like an instruction.
enum MCPResults {
    private static let mark: [String: JSONValue] = ["untrusted": true]

    /// A call that has ended, by its payload.
    static func isFinal(_ call: [String: JSONValue]) -> Bool {
        guard case .string(let state)? = call["state"] else { return true }
        return CallState(rawValue: state)?.isTerminal ?? true
    }

    private static func pick(_ names: [String], of members: [String: JSONValue]) -> [String: JSONValue] {
        members.filter { names.contains($0.key) }
    }

    /// Its words are another party's.
    private static func marked(_ value: JSONValue) -> JSONValue {
        guard case .object(let members) = value else { return value }
        return .object(members.merging(mark) { $1 })
    }

    private static func items(_ value: JSONValue?) -> [JSONValue] {
        if case .array(let items)? = value { items } else { [] }
    }

    // MARK: get_call

    static let callSchema = Schema.object(
        [
            "outbound_id": Schema.text, "state": Schema.choice(CallState.allCases.map(\.rawValue)),
            "final": Schema.flag, "task_completed": Schema.flag, "answered_by": Schema.text,
            "end_reason": Schema.nullable(Schema.text), "failure_reason": Schema.nullable(Schema.text),
            "next_attempt_at": Schema.nullable(Schema.time), "duration_seconds": Schema.nullable(["type": "number"]),
            "answers": Schema.list(Schema.any), "summary": Schema.nullable(Schema.text),
            "summary_source": Schema.nullable(Schema.text), "untrusted": Schema.flag,
        ], required: ["outbound_id", "state", "final", "answers", "summary", "end_reason"])

    /// - Parameters:
    ///   - call: `GET /api/outbound/{id}`.
    ///   - result: `GET /api/outbound/{id}/result`, read after it.
    static func call(_ call: [String: JSONValue], _ result: [String: JSONValue]) -> [String: JSONValue] {
        var members = pick(["failure_reason", "next_attempt_at"], of: call)
        members.merge(
            pick(
                [
                    "outbound_id", "state", "final", "task_completed", "answered_by", "end_reason",
                    "duration_seconds", "summary", "summary_source",
                ], of: result)
        ) { $1 }
        let answers = items(result["answers"]).map(marked)
        members["answers"] = .array(answers)
        // The summary is made of the answers.
        if !answers.isEmpty || result["summary"] ?? .null != .null { members.merge(mark) { $1 } }
        return members
    }

    // MARK: get_transcript

    static let transcriptSchema = Schema.object(
        [
            "outbound_id": Schema.text, "state": Schema.text, "final": Schema.flag,
            "entries": Schema.list(
                Schema.object(
                    [
                        "turn": Schema.count, "speaker": Schema.choice(["ai", "customer"]), "text": Schema.text,
                        "timestamp": ["type": "number"], "end": ["type": "number"], "untrusted": Schema.flag,
                    ], required: ["turn", "speaker", "text", "timestamp", "end"])),
        ], required: ["outbound_id", "state", "final", "entries"])

    /// - Parameter after: the last turn that is known.
    static func transcript(
        _ call: [String: JSONValue], _ transcript: [String: JSONValue], after: Int?
    ) -> [String: JSONValue] {
        var members = pick(["outbound_id", "state"], of: call)
        members["final"] = .bool(isFinal(call))
        members["entries"] = .array(
            items(transcript["transcript"]).enumerated().dropFirst(after.map { $0 + 1 } ?? 0).map { turn, entry in
                guard case .object(var entry) = entry else { return entry }
                entry["turn"] = .whole(turn)
                return entry["speaker"] == .string(TranscriptEntry.Speaker.ai.rawValue)
                    ? .object(entry) : marked(.object(entry))
            })
        return members
    }

    // MARK: list_calls

    static let listSchema = Schema.object(
        [
            "items": Schema.list(
                Schema.object(
                    ["outbound_id": Schema.text, "state": Schema.text, "purpose": Schema.text],
                    required: ["outbound_id", "state", "purpose"])),
            "next_cursor": Schema.nullable(Schema.text), "total": Schema.count, "total_is_capped": Schema.flag,
        ], required: ["items", "next_cursor", "total"])

    /// - Parameter page: `GET /api/outbound`.
    static func list(_ page: [String: JSONValue]) -> [String: JSONValue] {
        var members = page
        members["items"] = .array(
            items(page["items"]).map { item in
                guard case .object(let call) = item else { return item }
                return .object(
                    pick(
                        [
                            "outbound_id", "state", "caller_number", "callee_number", "purpose", "agent",
                            "scheduled_at", "created_at", "completed_at", "duration_seconds", "task_completed",
                            "end_reason", "failure_reason", "requested_by",
                        ], of: call))
            })
        return members
    }
}
