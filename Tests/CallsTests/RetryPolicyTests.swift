import Foundation
import Pipeline
import Realtime
import Store
import Testing

@testable import Calls

@Suite struct RetryPolicyTests {
    private func call(attempts: Int, maxRetries: Int = 2, retryOnNoAnswer: Bool = true) -> Call {
        var call = Call(
            localNumber: "1", remoteNumber: "2",
            brief: Brief(purpose: "p", questions: [Question(id: "q1", text: "A?")]),
            retryOnNoAnswer: retryOnNoAnswer,
            maxRetries: maxRetries, createdAt: Date())
        call.state = .ringing
        call.attemptsThisRound = attempts
        call.attempts = [.init(startedAt: Date())]
        return call
    }
    @Test func busyIsTriedAgainThenEnds() throws {
        let policy = RetryPolicy(.init())
        var first = call(attempts: 1)
        let events = try policy.conclude(
            &first, with: AttemptOutcome(state: .busy, code: 486, reason: "busy"), at: Date())
        #expect(
            first.state == .queued && first.nextAttemptAt != nil
                && events.map(\.name) == ["outbound_attempt_failed", "outbound_retry_scheduled"])
        var last = call(attempts: 3)
        let final = try policy.conclude(
            &last, with: AttemptOutcome(state: .busy, code: 486, reason: "busy"), at: Date())
        #expect(last.state == .busy && final.map(\.name) == ["outbound_attempt_failed", "outbound_failed"])
        #expect(last.answers.map(\.status) == [.notAsked])
    }
    @Test func aCallThatMayHaveRungIsNotDialledAgain() throws {
        var settings = CallSettings.Retry()
        settings.retryOn = [.failed]
        let policy = RetryPolicy(settings)
        for isUncertain in [false, true] {
            var call = call(attempts: 1)
            let outcome = AttemptOutcome(state: .failed, reason: "lost", isUncertain: isUncertain)
            _ = try policy.conclude(&call, with: outcome, at: Date())
            #expect(call.state == (isUncertain ? .failed : .queued))
            #expect(call.attempts.last?.reason == "lost")
        }
    }
    @Test func retriesStopWhereTheCallForbidsThem() {
        let policy = RetryPolicy(.init())
        #expect(!policy.retries(call(attempts: 1), after: .rejected))
        #expect(!policy.retries(call(attempts: 1, retryOnNoAnswer: false), after: .noAnswer))
        #expect(!policy.retries(call(attempts: 1, maxRetries: 0), after: .busy))
    }
}
