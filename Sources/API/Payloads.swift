public import Calls
public import Foundation
internal import JSON
public import Realtime
internal import Store

/// Calls as JSON (docs/api.md).
enum Payloads {
    static func time(_ date: Date?) -> JSONValue { .optional(date.map(Timestamp.text)) }

    /// `010****5678`: enough to recognise a number, not enough to dial it.
    static func masked(_ number: String) -> String {
        if let at = number.firstIndex(of: "@"), number.lowercased().hasPrefix("sip:") {
            let user = number[number.index(number.startIndex, offsetBy: 4)..<at]
            return "sip:" + user.prefix(1) + "***" + number[at...]
        }
        guard number.count > 7 else { return String(number.prefix(1)) + "***" }
        return number.prefix(3) + "****" + number.suffix(4)
    }

    static func call(_ call: Call, isMasked: Bool, now: Date) -> JSONValue {
        let number = { (text: String) in JSONValue.string(isMasked ? masked(text) : text) }
        var members: [String: JSONValue] = [
            call.direction.idName: .string(call.id), "call_id": .optional(call.providerCallID),
            "state": .string(call.state.rawValue),
            "caller_number": number(call.callerNumber), "callee_number": number(call.calledNumber),
            "caller_display_name": .string(call.brief.callerDisplayName), "purpose": .string(call.brief.purpose),
            "questions": .array(call.brief.questions.map(question)), "max_duration": .number(Double(call.maxDuration)),
            "priority": .number(Double(call.priority)), "scheduled_at": time(call.scheduledAt),
            "retry_on_no_answer": .bool(call.retryOnNoAnswer), "max_retries": .number(Double(call.maxRetries)),
            "language": .string(call.brief.language), "created_at": time(call.createdAt),
            "started_at": time(call.startedAt),
            "answered_at": time(call.answeredAt), "completed_at": time(call.completedAt),
            "attempt_count": .number(Double(call.attempts.count)), "attempts": .array(call.attempts.map(attempt)),
            "next_attempt_at": time(call.state == .queued ? call.nextAttemptAt : nil),
            "failure_reason": .optional(call.failureReason),
            "end_reason": .optional(call.endReason?.rawValue), "answered_by": .string(call.answeredBy.rawValue),
            "requested_by": .string(call.requestedBy),
            "duration_seconds": .optional(call.duration(at: now).map { ($0 * 10).rounded() / 10 }),
            "task_completed": .bool(call.isTaskCompleted), "recording_url": .optional(recordingURL(call)),
        ]
        members["carrier"] = .optional(call.carrier)
        members["dialect"] = .optional(call.dialect)
        members["webhook_url"] = .optional(isMasked ? nil : call.webhookURL)
        members["stream"] = stream(call.stream, isMasked: isMasked)
        members["stream_failure"] = .optional(call.streamFailure)
        members["agent"] = "default"
        members["voicemail"] = .optional(call.voicemail?.action?.rawValue)
        members["voicemail_message"] = .optional(call.voicemail?.message)
        members["blocked"] = .array((call.blocks ?? []).map(block))
        members["transfers"] = .array(
            (call.transfers ?? []).map {
                [
                    "at": time($0.at), "operator_id": .optional($0.operatorID),
                    "name": .string($0.operatorID == nil && isMasked ? masked($0.name) : $0.name),
                    "outcome": .string($0.outcome.rawValue), "reason": .optional($0.reason),
                ]
            })
        members["metadata"] = call.metadata.flatMap { try? JSONValue(parsing: Array($0.utf8)) } ?? .null
        if call.state.isTerminal, call.answeredAt != nil {
            members["result"] = result(call, transcript: nil, now: now)
        } else {
            members["result"] = .null
        }
        if call.direction == .inbound { incoming(call, &members) }
        return .object(members)
    }

    /// Of its headers and parameters the names alone: the values may be secrets.
    private static func stream(_ stream: Call.Stream?, isMasked: Bool) -> JSONValue {
        guard let stream else { return .null }
        let names = { (texts: [String: String]) in JSONValue.array(texts.keys.sorted().map { .string($0) }) }
        return [
            "url": .optional(isMasked ? nil : stream.place), "dialect": .string(stream.dialect),
            "headers": names(stream.headers), "parameters": names(stream.parameters),
        ]
    }

    /// Of a call that came in: the number called, which is ours; nothing of dialling.
    private static func incoming(_ call: Call, _ members: inout [String: JSONValue]) {
        members["called_number"] = .string(call.calledNumber)
        members["operator_name"] = .optional(call.operatorName)
        for name in [
            "callee_number", "priority", "scheduled_at", "retry_on_no_answer", "max_retries", "attempt_count",
            "attempts", "next_attempt_at",
            "blocked",
            "voicemail", "voicemail_message", "requested_by",
        ] { members[name] = nil }
    }

    static func question(_ question: Question) -> JSONValue {
        var members: [String: JSONValue] = [
            "id": .string(question.id), "text": .string(question.text), "type": .string(question.kind.rawValue),
            "required": .bool(question.isRequired),
        ]
        if let condition = question.condition {
            members["ask_if"] = ["question": .string(condition.question), "equals": value(condition.equals)]
        }
        if !question.choices.isEmpty { members["choices"] = .array(question.choices.map { .string($0) }) }
        return .object(members)
    }

    static func attempt(_ attempt: Call.Attempt) -> JSONValue {
        [
            "started_at": time(attempt.startedAt), "ended_at": time(attempt.endedAt),
            "outcome": .optional(attempt.outcome),
            "code": .optional(attempt.code.map(Double.init)), "reason": .optional(attempt.reason),
        ]
    }

    static func recordingURL(_ call: Call) -> String? {
        call.recording.map { _ in "/api/\(call.direction.rawValue)/\(call.id)/recording" }
    }

    /// Why a dial had to wait, or never was.
    static func block(_ block: Call.Block) -> JSONValue {
        [
            "at": time(block.at), "rule": .string(block.rule.rawValue), "detail": .string(block.detail),
            "until": time(block.until),
        ]
    }

    static func value(_ value: Answer.Value?) -> JSONValue {
        switch value {
        case nil: .null
        case .boolean(let value): .bool(value)
        case .number(let value): .number(value)
        case .text(let value): .string(value)
        }
    }

    static func correction(_ correction: Call.Correction) -> JSONValue {
        [
            "at": time(correction.at), "by": .string(correction.by),
            "question_id": .string(correction.before.questionID),
            "before": [
                "status": .string(correction.before.status.rawValue), "answer_text": .optional(correction.before.text),
                "answer_summary": .optional(correction.before.summary), "value": value(correction.before.value),
            ],
        ]
    }

    static func answer(_ answer: Answer, question: Question) -> JSONValue {
        [
            "question_id": .string(question.id), "question_text": .string(question.text),
            "status": .string(answer.status.rawValue),
            "answer_text": .optional(answer.text), "answer_summary": .optional(answer.summary),
            "value": value(answer.value),
            "confidence": .optional(answer.confidence), "confidence_source": .optional(answer.confidenceSource),
            "settled": .optional(answer.settled?.rawValue),
            "evidence": answer.evidence.map {
                [
                    "turn": .number(Double($0.turn)), "start_ms": .number(Double($0.startMs)),
                    "end_ms": .number(Double($0.endMs)),
                ]
            } ?? .null,
        ]
    }

    static func entry(_ entry: TranscriptEntry) -> JSONValue {
        var members: [String: JSONValue] = [
            "timestamp": .number(Double(entry.startMs) / 1_000), "end": .number(Double(entry.endMs) / 1_000),
            "speaker": .string(entry.speaker.rawValue), "text": .string(entry.text),
        ]
        if entry.speaker == .ai {
            members["interrupted"] = .bool(entry.isInterrupted)
            if let sources = entry.sources { members["sources"] = .array(sources.map { .string($0) }) }
            if let heard = entry.heardText {
                members["heard_text"] = .string(heard)
                members["heard_text_source"] = entry.isCutExact == true ? "words" : "estimate"
            }
        }
        return .object(members)
    }

    /// An engine that failed a while ago is asked again when its cool-down is over.
    static func status(_ status: ProviderHealth.Status) -> JSONValue {
        .object([
            "name": .string(status.name), "usable": .bool(status.coolDownSeconds == 0),
            "failures": .number(Double(status.failures)),
            "cool_down_seconds": .number(status.coolDownSeconds.rounded(.up)),
            "last_failure": status.lastFailure.map { .string($0) } ?? .null,
        ])
    }

    static func latency(_ call: Call) -> JSONValue {
        guard !call.latencies.isEmpty else { return .null }
        func quantiles(_ pick: (TurnLatency) -> Int) -> JSONValue {
            let sorted = call.latencies.map(pick).sorted()
            func at(_ fraction: Double) -> JSONValue {
                .number(
                    Double(
                        sorted[min(sorted.count - 1, max(0, Int((fraction * Double(sorted.count)).rounded(.up)) - 1))]))
            }
            return ["p50_ms": at(0.5), "p95_ms": at(0.95)]
        }
        return [
            "turns": .number(Double(call.latencies.count)), "voice_to_voice": quantiles(\.voiceToVoiceMs),
            "end_of_turn": quantiles(\.endOfTurnMs), "speech_to_text": quantiles(\.speechToTextMs),
            "language_model": quantiles(\.languageModelMs), "text_to_speech": quantiles(\.textToSpeechMs),
            "queueing": quantiles(\.queueingMs), "each": .array(call.latencies.map(each)),
        ]
    }

    /// Where the time of one answer went, in the order in which it passed.
    private static func each(_ latency: TurnLatency) -> JSONValue {
        func ms(_ value: Int) -> JSONValue { .number(Double(value)) }
        return [
            "turn": .optional(latency.turn.map(Double.init)), "voice_to_voice_ms": ms(latency.voiceToVoiceMs),
            "end_of_turn_ms": ms(latency.endOfTurnMs), "speech_to_text_ms": ms(latency.speechToTextMs),
            "language_model_ms": ms(latency.languageModelMs), "text_to_speech_ms": ms(latency.textToSpeechMs),
            "queueing_ms": ms(latency.queueingMs),
        ]
    }

    static func result(_ call: Call, transcript: [TranscriptEntry]?, now: Date) -> JSONValue {
        let pairs = call.brief.questions.compactMap { question in
            call.answers.first { $0.questionID == question.id }.map { answer($0, question: question) }
        }
        var members: [String: JSONValue] = [
            call.direction.idName: .string(call.id), "state": .string(call.state.rawValue),
            "final": .bool(call.state.isTerminal),
            "caller_number": .string(call.callerNumber), "callee_number": .string(call.calledNumber),
            "purpose": .string(call.brief.purpose),
            "duration_seconds": .optional(call.duration(at: now).map { ($0 * 10).rounded() / 10 }),
            "task_completed": .bool(call.isTaskCompleted), "answered_by": .string(call.answeredBy.rawValue),
            "end_reason": .optional(call.endReason?.rawValue), "answers": .array(pairs),
            "summary": .optional(call.summary),
            "summary_source": call.summary == nil ? .null : call.isSummaryByModel == true ? "model" : "template",
            "sentiment": .optional(call.sentiment?.rawValue),
            "sentiment_source": call.sentiment == nil ? .null : "model",
            "recording_url": .optional(recordingURL(call)),
            "cost": cost(call.cost), "latency": latency(call),
            "interruptions": .number(Double(call.interruptions)), "created_at": time(call.createdAt),
            "answered_at": time(call.answeredAt),
            "completed_at": time(call.completedAt),
        ]
        if let corrections = call.corrections { members["corrections"] = .array(corrections.map(correction)) }
        if let media = call.media {
            members["media"] = [
                "packets_received": .number(Double(media.received)), "packets_sent": .number(Double(media.sent)),
                "packets_lost": .number(Double(media.lost)), "packets_late": .number(Double(media.late)),
                "frames_concealed": .number(Double(media.concealed)), "jitter_ms": .optional(media.jitterMs),
                "round_trip_ms": .optional(media.roundTripMs), "mos": .optional(media.opinionScore),
                "stream_frames_unsent": .number(Double(media.unsent ?? 0)),
                "stream_frames_refused": .number(Double(media.refused ?? 0)),
            ]
        }
        if let calls = call.toolCalls { members["tool_calls"] = .array(calls.map(toolCall)) }
        if let transcript {
            members["transcript"] = .array(transcript.map(entry))
            members["ai_turns"] = .number(Double(transcript.count { $0.speaker == .ai }))
            members["customer_turns"] = .number(Double(transcript.count { $0.speaker == .customer }))
        }
        if call.direction == .inbound { members["called_number"] = members.removeValue(forKey: "callee_number") }
        return .object(members)
    }

    /// A component without a price is unknown, never 0.
    static func cost(_ cost: Cost?) -> JSONValue {
        guard let cost else { return ["total": "unknown", "known": "0", "currency": .null, "components": []] }
        return [
            "total": .string(cost.total ?? "unknown"), "known": .string(cost.known), "currency": .string(cost.currency),
            "components": .array(
                cost.components.map { component in
                    [
                        "component": .string(component.name), "amount": .string(component.amount ?? "unknown"),
                        "estimated": .bool(component.isEstimated),
                        "lines": .array(
                            component.lines.map {
                                [
                                    "unit": .string($0.unit), "quantity": .string($0.quantity),
                                    "unit_price": .optional($0.price),
                                    "amount": .optional($0.amount),
                                ]
                            }),
                    ]
                }),
        ]
    }

    static func statistics(_ statistics: CallStatistics) -> JSONValue {
        var states: [String: JSONValue] = [:]
        for state in CallState.allCases {
            states[state.rawValue] = .number(Double(statistics.totals.states[state] ?? 0))
        }
        let total = statistics.totals.states.values.reduce(0, +)
        let ended = statistics.totals.states.filter { $0.key.isTerminal && $0.key != .cancelled }.values.reduce(0, +)
        let completed = statistics.totals.states[.completed] ?? 0
        return [
            "total": .number(Double(total)), "states": .object(states),
            "in_progress": .number(Double(CallState.open.reduce(0) { $0 + (statistics.totals.states[$1] ?? 0) })),
            "success_rate": .optional(ended == 0 ? nil : (Double(completed) / Double(ended) * 1_000).rounded() / 1_000),
            "average_duration_seconds": .optional(statistics.totals.averageDuration.map { ($0 * 10).rounded() / 10 }),
            "answers": .array(
                statistics.answers.sorted { $0.key < $1.key }.map { question, counts in
                    ["question_text": .string(question), "counts": .object(counts.mapValues { .number(Double($0)) })]
                }),
            "by_day": .array(
                statistics.totals.days.map {
                    [
                        "day": .string($0.day), "total": .number(Double($0.total)),
                        "completed": .number(Double($0.completed)),
                    ]
                }),
        ]
    }
}

extension Payloads {
    static func trunk(_ status: TrunkKeeper.Status) -> JSONValue {
        [
            "address": .string(status.address), "reachable": status.isReachable.map { .bool($0) } ?? .null,
            "registered": status.isRegistered.map { .bool($0) } ?? .null,
            "last_status": .optional(status.lastStatus.map(Double.init)),
        ]
    }

    static func template(_ template: CallTemplate) -> JSONValue {
        [
            "id": .string(template.id), "name": .string(template.name), "purpose": .string(template.purpose),
            "questions": .array(template.questions.map(question)), "language": .optional(template.language),
            "caller_display_name": .string(template.callerDisplayName), "greeting": .optional(template.greeting),
            "created_at": time(template.createdAt),
            "updated_at": time(template.updatedAt),
        ]
    }

    static func doNotCall(_ entry: DoNotCallEntry, isMasked: Bool) -> JSONValue {
        [
            "number": .string(isMasked ? masked(entry.number) : entry.number), "reason": .string(entry.reason),
            "added_at": time(entry.addedAt),
            "added_by": .string(entry.addedBy),
        ]
    }

    static func callerNumber(_ number: CallerNumber, dialsToday: Int) -> JSONValue {
        [
            "number": .string(number.number), "label": .string(number.label),
            "daily_cap": .optional(number.dailyCap.map(Double.init)),
            "template_id": .optional(number.templateID),
            "dials_today": .number(Double(dialsToday)), "added_at": time(number.addedAt),
            "added_by": .string(number.addedBy),
        ]
    }

    /// Without the path and query of the address: they may hold a secret.
    static func delivery(_ delivery: Delivery) -> JSONValue {
        let parts = URLComponents(string: delivery.url)
        let port = parts?.port.map { ":\($0)" } ?? ""
        return [
            "id": .string("msg_\(delivery.id)"), "outbound_id": .string(delivery.callID),
            "event": .string(delivery.event),
            "endpoint": .string("\(parts?.scheme ?? "")://\(parts?.host ?? "")\(port)"),
            "state": .string(delivery.state.rawValue),
            "attempts": .number(Double(delivery.attempts)), "created_at": time(delivery.createdAt),
            "next_at": time(delivery.state == .pending ? delivery.nextAt : nil),
            "delivered_at": time(delivery.deliveredAt),
            "last_status": .optional(delivery.lastStatus.map(Double.init)), "last_error": .optional(delivery.lastError),
        ]
    }

    static func key(_ key: StoredKey, now: Date) -> JSONValue {
        [
            "id": .string(key.id), "name": .string(key.name), "role": .string(key.role),
            "created_at": time(key.createdAt),
            "created_by": .string(key.createdBy), "expires_at": time(key.expiresAt), "revoked_at": time(key.revokedAt),
            "is_valid": .bool(key.revokedAt == nil && (key.expiresAt.map { $0 > now } ?? true)),
        ]
    }

    static func audit(_ entry: AuditEntry) -> JSONValue {
        [
            "id": .number(Double(entry.id)), "at": time(entry.at), "actor": .string(entry.actor),
            "action": .string(entry.action),
            "target": .string(entry.target), "detail": .string(entry.detail),
        ]
    }
}

/// A result as the API gives it, for the command line.
public enum ResultText {
    public static func of(_ call: Call, transcript: [TranscriptEntry], now: Date = Date()) -> String {
        Payloads.result(call, transcript: transcript, now: now).text
    }
}
