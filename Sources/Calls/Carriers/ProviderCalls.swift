internal import Bridge
internal import Net
internal import Pipeline
internal import Realtime
internal import Synchronization

/// The calls that providers carry: those in progress, for whoever wants one hung up, and those that were placed and are awaited.
public final class ProviderCalls: Sendable {
    typealias Arrival = @Sendable (_ stream: Confined<any MediaStream>, _ loop: EventLoop, _ providerCallID: String) -> Void

    /// What can be done with a call in progress.
    struct Control: Sendable {
        var hangUp: @Sendable (EndReason) async -> Void
        var say: @Sendable (String) async -> Bool
        var transfer: @Sendable (TransferChoice, CallSettings.TransferMode?) async -> Bool
        var edges: @Sendable () async -> [EdgeReading]
    }

    /// How an attempt of ours takes its conversation, whichever way it comes.
    struct Awaited: Sendable {
        var stream: Arrival
        /// `ended` is to be called when the conversation is over.
        var turns: @Sendable (_ ended: @escaping @Sendable () -> Void) -> TurnBasedCall?
    }

    private struct State {
        var calls: [String: Control] = [:]
        var awaited: [String: Awaited] = [:]
    }
    private let state = Mutex(State())

    public init() {}

    func add(_ outboundID: String, _ control: Control) { state.withLock { $0.calls[outboundID] = control } }
    func remove(_ outboundID: String) { state.withLock { $0.calls[outboundID] = nil } }

    public var count: Int { state.withLock { $0.calls.count } }

    /// nil: no provider carries such a call.
    func control(of outboundID: String) -> Control? { state.withLock { $0.calls[outboundID] } }

    func hangUpAll(_ reason: EndReason) {
        for control in state.withLock({ Array($0.calls.values) }) { Task { await control.hangUp(reason) } }
    }

    // MARK: Calls that we had placed

    func await(_ outboundID: String, _ awaited: Awaited) { state.withLock { $0.awaited[outboundID] = awaited } }
    func stopAwaiting(_ outboundID: String) { state.withLock { $0.awaited[outboundID] = nil } }

    /// On the stream's loop. False: nobody waits for it.
    func deliver(_ stream: Confined<any MediaStream>, on loop: EventLoop, of providerCallID: String, to outboundID: String) -> Bool {
        guard let awaited = state.withLock({ $0.awaited.removeValue(forKey: outboundID) }) else { return false }
        awaited.stream(stream, loop, providerCallID)
        return true
    }

    /// The conversation of a call that goes by turns; nil: nobody waits for it.
    func beginTurns(of outboundID: String, ended: @escaping @Sendable () -> Void) -> TurnBasedCall? {
        state.withLock { $0.awaited.removeValue(forKey: outboundID) }?.turns(ended)
    }
}
