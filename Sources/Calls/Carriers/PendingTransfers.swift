internal import Synchronization

/// Transfers of calls whose carrier asks by a webhook whom to dial, when our stream has ended.
public final class PendingTransfers: Sendable {
    /// Calls that are known; the oldest gives way.
    static let limit = 10_000

    private struct State {
        /// By the carrier's id; nil: the call is not to be transferred so far.
        var wanted: [String: CarrierTransfer?] = [:]
        var order: [String] = []
    }
    private let state = Mutex(State())

    public init() {}

    /// The call's webhook is going to ask.
    public func expect(_ callID: String) {
        state.withLock { state in
            guard state.wanted[callID] == nil else { return }
            if state.order.count >= Self.limit { state.wanted[state.order.removeFirst()] = nil }
            state.wanted.updateValue(nil, forKey: callID)
            state.order.append(callID)
        }
    }

    /// False: the call's webhook is not going to ask.
    func set(_ transfer: CarrierTransfer, of callID: String) -> Bool {
        state.withLock { state in
            guard state.wanted[callID] != nil else { return false }
            state.wanted.updateValue(transfer, forKey: callID)
            return true
        }
    }

    /// Whom to dial, once; nil: the call is not to be transferred.
    public func take(_ callID: String) -> CarrierTransfer? {
        state.withLock { state in
            guard let wanted = state.wanted.removeValue(forKey: callID) else { return nil }
            state.order.removeAll { $0 == callID }
            return wanted
        }
    }
}
