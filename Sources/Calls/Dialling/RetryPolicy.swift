internal import Foundation
internal import Realtime
internal import Store

/// What follows an attempt that was not answered.
struct RetryPolicy: Sendable {
    private let settings: CallSettings.Retry
    init(_ settings: CallSettings.Retry) { self.settings = settings }

    func retries(_ call: Call, after state: CallState) -> Bool {
        guard call.direction == .outbound, settings.isEnabled, settings.retryOn.contains(state),
            state != .noAnswer || call.retryOnNoAnswer
        else { return false }
        return call.attemptsThisRound <= call.maxRetries
    }

    /// An answering machine had the call: it is queued again, and nothing that was said counts.
    func redial(_ call: inout Call, at now: Date) throws -> [CallEvent] {
        try call.apply(.attemptEnded(.noAnswer, willRetry: true))
        if !call.attempts.isEmpty {
            call.attempts[call.attempts.count - 1].endedAt = now
            call.attempts[call.attempts.count - 1].outcome = EndReason.voicemail.rawValue
        }
        call.answeredAt = nil
        call.answeredBy = .voicemail
        call.answers = TaskTracker(questions: call.brief.questions).answers
        let outcome = AttemptOutcome(state: .noAnswer, reason: "an answering machine had the call")
        return [
            CallEvent(
                kind: "attempt_failed", at: now, of: call,
                payload: CallEvent.payload(AttemptPayload(attempt: call.attempts.count, outcome: outcome))),
            next(&call, at: now),
        ]
    }

    private func next(_ call: inout Call, at now: Date) -> CallEvent {
        let next = now.addingTimeInterval(settings.interval)
        call.nextAttemptAt = next
        return CallEvent(
            kind: "retry_scheduled", at: now, of: call,
            payload: CallEvent.payload(["at": CallEvent.time(next)]))
    }

    /// Ends the attempt in the record, and either queues the next or ends the call. Returns the events that tell of it.
    func conclude(_ call: inout Call, with outcome: AttemptOutcome, at now: Date) throws -> [CallEvent] {
        if !call.attempts.isEmpty, call.attempts[call.attempts.count - 1].endedAt == nil {
            call.attempts[call.attempts.count - 1].endedAt = now
            call.attempts[call.attempts.count - 1].outcome = outcome.state.rawValue
            call.attempts[call.attempts.count - 1].code = outcome.code
            call.attempts[call.attempts.count - 1].reason = outcome.reason
        }
        let willRetry = !outcome.isUncertain && retries(call, after: outcome.state)
        if outcome.state == .cancelled {
            try call.apply(.cancel)
        } else {
            try call.apply(.attemptEnded(outcome.state, willRetry: willRetry))
        }
        var events: [CallEvent] = []
        if outcome.state != .cancelled, call.direction == .outbound {
            events.append(
                CallEvent(
                    kind: "attempt_failed", at: now, of: call,
                    payload: CallEvent.payload(AttemptPayload(attempt: call.attempts.count, outcome: outcome))))
        }
        if willRetry {
            events.append(next(&call, at: now))
        } else {
            call.completedAt = now
            call.failureReason = outcome.state == .cancelled ? nil : outcome.reason
            call.closeAnswers()
            events.append(CallEvent.terminal(of: call, at: now))
        }
        return events
    }
}
