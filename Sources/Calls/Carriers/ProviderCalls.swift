internal import Realtime
internal import Synchronization

/// The calls that providers stream to us, for whoever wants one hung up.
public final class LiveStreams: Sendable {
    private let calls = Mutex<[String: @Sendable (EndReason) -> Void]>([:])

    public init() {}

    func add(_ outboundID: String, hangUp: @escaping @Sendable (EndReason) -> Void) { calls.withLock { $0[outboundID] = hangUp } }
    func remove(_ outboundID: String) { calls.withLock { $0[outboundID] = nil } }

    public var count: Int { calls.withLock { $0.count } }

    /// False: there is no such stream.
    func hangUp(_ outboundID: String, _ reason: EndReason) -> Bool {
        guard let hangUp = calls.withLock({ $0[outboundID] }) else { return false }
        hangUp(reason)
        return true
    }

    func hangUpAll(_ reason: EndReason) { for hangUp in calls.withLock({ Array($0.values) }) { hangUp(reason) } }
}
