internal import Foundation
internal import Realtime

/// What follows an attempt that was not answered.
struct RetryPolicy: Sendable {
    private let settings: CallSettings.Retry
    init(_ settings: CallSettings.Retry) { self.settings = settings }

    func retries(_ call: Call, after state: CallState) -> Bool {
        guard settings.isEnabled, settings.retryOn.contains(state), state != .noAnswer || call.retryOnNoAnswer else { return false }
        return call.attemptsThisRound <= call.maxRetries
    }

    /// Ends the attempt in the record, and either queues the next or ends the call. Returns the events that tell of it.
    func conclude(_ call: inout Call, with outcome: AttemptOutcome, at now: Date) throws -> [CallEvent] {
        if !call.attempts.isEmpty, call.attempts[call.attempts.count - 1].endedAt == nil {
            call.attempts[call.attempts.count - 1].endedAt = now
            call.attempts[call.attempts.count - 1].outcome = outcome.state.rawValue
            call.attempts[call.attempts.count - 1].code = outcome.code
            call.attempts[call.attempts.count - 1].reason = outcome.reason
        }
        let willRetry = retries(call, after: outcome.state)
        if outcome.state == .cancelled {
            try call.apply(.cancel)
        } else {
            try call.apply(.attemptEnded(outcome.state, willRetry: willRetry))
        }
        var events: [CallEvent] = []
        if outcome.state != .cancelled {
            events.append(
                CallEvent(
                    name: "outbound_attempt_failed", at: now, outboundID: call.outboundID,
                    payload: CallEvent.payload(AttemptPayload(attempt: call.attempts.count, outcome: outcome))))
        }
        if willRetry {
            let next = now.addingTimeInterval(settings.interval)
            call.nextAttemptAt = next
            events.append(
                CallEvent(
                    name: "outbound_retry_scheduled", at: now, outboundID: call.outboundID,
                    payload: CallEvent.payload(["at": CallEvent.time(next)])))
        } else {
            call.completedAt = now
            call.failureReason = outcome.state == .cancelled ? nil : outcome.reason
            call.closeAnswers()
            events.append(CallEvent.terminal(of: call, at: now))
        }
        return events
    }
}
