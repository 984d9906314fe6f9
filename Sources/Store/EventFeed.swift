internal import Synchronization

/// Publishes stored events to watchers. A watcher that falls behind is cut off, and comes back with `after=`.
public final class EventFeed: Sendable {
    /// Events a watcher may be behind.
    public static let backlogLimit = 1_024

    private struct State {
        /// With the company whose events each sees; nil: all.
        var watchers: [Int: (company: CompanyID?, stream: AsyncStream<CallEvent>.Continuation)] = [:]
        var next = 0
    }
    private let state = Mutex(State())

    public init() {}

    /// All events of a company from now on, until the stream is given up or falls behind.
    public func watch(_ company: CompanyID) -> AsyncStream<CallEvent> { watch(of: company) }

    /// Those of all companies: for what the server itself does after an event, never to be shown.
    public func watchInstallation() -> AsyncStream<CallEvent> { watch(of: nil) }

    private func watch(of company: CompanyID?) -> AsyncStream<CallEvent> {
        let (stream, continuation) = AsyncStream<CallEvent>.makeStream(
            bufferingPolicy: .bufferingOldest(Self.backlogLimit))
        let id = state.withLock { state -> Int in
            state.next += 1
            state.watchers[state.next] = (company, continuation)
            return state.next
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.watchers[id] = nil } }
        return stream
    }

    public func publish(_ events: [CallEvent]) {
        guard !events.isEmpty else { return }
        let watchers = state.withLock { $0.watchers }
        for (id, watcher) in watchers {
            for event in events where watcher.company == nil || watcher.company == event.company {
                if case .dropped = watcher.stream.yield(event) {
                    watcher.stream.finish()
                    state.withLock { $0.watchers[id] = nil }
                    break
                }
            }
        }
    }
}
