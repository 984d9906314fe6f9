internal import Bridge
internal import Net
internal import Pipeline
internal import Realtime
internal import Synchronization

/// The calls that providers carry: those in progress, so that they can be hung up, and those that were placed and whose
/// streams are awaited.
public final class ProviderCalls: Sendable {
    typealias Arrival =
        @Sendable (_ stream: Confined<any MediaStream>, _ loop: EventLoop, _ providerCallID: String) -> Void

    /// How an attempt of ours takes its conversation, whichever way it comes.
    struct Awaited: Sendable {
        /// The user who must open the stream, with a ticket of that user; nil: the provider.
        var user: String?
        var stream: Arrival
        /// `ended` is to be called when the conversation is over.
        var turns: @Sendable (_ ended: @escaping @Sendable () -> Void) -> TurnBasedCall? = { _ in nil }
    }

    private struct State {
        var calls: [String: any LiveCall] = [:]
        var awaited: [String: Awaited] = [:]
        /// Ids of calls that are about to be in progress.
        var reserved: Set<String> = []
    }
    private let state = Mutex(State())

    public init() {}

    func add(_ callID: String, _ call: any LiveCall) { state.withLock { $0.calls[callID] = call } }
    func remove(_ callID: String) {
        state.withLock {
            $0.calls[callID] = nil
            $0.reserved.remove(callID)
        }
    }

    /// False: a call of this id is in progress, or about to be. Until `remove`.
    func reserve(_ callID: String) -> Bool {
        state.withLock { $0.calls[callID] == nil && $0.reserved.insert(callID).inserted }
    }

    public var count: Int { state.withLock { $0.calls.count } }

    /// nil: there is no such call, or it is an attempt of the dialler's.
    func call(_ callID: String) -> (any LiveCall)? { state.withLock { $0.calls[callID] } }

    func hangUpAll(_ reason: EndReason) {
        for call in state.withLock({ Array($0.calls.values) }) { Task { await call.hangUp(reason) } }
    }

    // MARK: Calls that we had placed

    func await(_ callID: String, _ awaited: Awaited) { state.withLock { $0.awaited[callID] = awaited } }
    func stopAwaiting(_ callID: String) { state.withLock { $0.awaited[callID] = nil } }

    /// Whether a call waits for a stream that this user brings.
    public func isAwaited(_ callID: String, from user: String) -> Bool {
        state.withLock { $0.awaited[callID]?.user == user }
    }

    /// On the stream's loop. False: no attempt waits for it.
    func deliver(
        _ stream: Confined<any MediaStream>, on loop: EventLoop, of providerCallID: String, to callID: String,
        from user: String? = nil
    ) -> Bool {
        let found = state.withLock { state -> Awaited? in
            guard let awaited = state.awaited[callID], awaited.user == user else { return nil }
            state.awaited[callID] = nil
            return awaited
        }
        guard let awaited = found else { return false }
        awaited.stream(stream, loop, providerCallID)
        return true
    }

    /// The conversation of a turn-based call; nil: no attempt waits for it.
    func beginTurns(of callID: String, ended: @escaping @Sendable () -> Void) -> TurnBasedCall? {
        state.withLock { $0.awaited.removeValue(forKey: callID) }?.turns(ended)
    }
}
