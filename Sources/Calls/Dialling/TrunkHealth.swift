internal import Store
internal import Synchronization

/// Whether the gateway takes calls: told by every attempt that goes through it.
public final class TrunkHealth: Sendable {
    /// Failures in a row from which on it is taken to be down.
    public static let failureLimit = 3

    public struct Status: Sendable, Equatable {
        /// In a row.
        public var failures = 0
        /// What the last one said.
        public var lastFailure = ""
        public var isDown: Bool { failures >= TrunkHealth.failureLimit }
        /// Why it counts as down; nil: it takes calls.
        public var problem: String? { isDown ? "\(failures) calls in a row failed: \(lastFailure)" : nil }
    }
    private let state = Mutex(Status())

    public init() {}
    public var status: Status { state.withLock { $0 } }

    /// It took a call, whatever the callee did then.
    func worked() { state.withLock { $0 = Status() } }

    func failed(_ reason: String) {
        state.withLock { state in
            state.failures = min(state.failures + 1, 1_000_000)
            state.lastFailure = reason
        }
    }

    /// An attempt has ended: is it the trunk's fault?
    /// - Parameter hasRung: a provisional answer had come.
    func took(_ outcome: AttemptOutcome, hasRung: Bool) {
        switch outcome.code {
        case let code? where [401, 403, 407, 904].contains(code) || (500..<600).contains(code): failed(outcome.reason)
        case 408 where !hasRung: failed("no answer at all")
        case nil where outcome.state == .failed: failed(outcome.reason)
        case nil: break
        default: worked()
        }
    }
}
