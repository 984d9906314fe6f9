internal import Logging
internal import Realtime
internal import Synchronization

/// The calls that go by turns: finds the conversation of a provider's call, or begins it.
public final class TurnServer: Sendable {
    private let line: CallLine
    private let calls = Mutex<[String: TurnBasedCall]>([:])

    public init(line: CallLine) { self.line = line }

    /// - Parameter providerCallID: the carrier's id of the call.
    public func conversation(of providerCallID: String) -> TurnBasedCall? { calls.withLock { $0[providerCallID] } }

    /// - Parameter callID: of the call's record, which awaits its media.
    /// - Returns: nil: it cannot be held.
    public func begin(_ providerCallID: String, callID: String) -> TurnBasedCall? {
        if let known = conversation(of: providerCallID) { return known }
        // Not every provider tells of the end: what is over is forgotten without it.
        let forget: @Sendable () -> Void = { [weak self] in self?.forget(providerCallID) }
        guard let conversation = line.calls.beginTurns(of: callID, ended: forget) else {
            line.logger.error(
                """
                a call by turns cannot be held: it needs recogniser, language model and voice (agent.fallback, or \
                agent.mode cascade)
                """
            )
            return nil
        }
        calls.withLock { $0[providerCallID] = conversation }
        return conversation
    }

    private func forget(_ providerCallID: String) { calls.withLock { $0[providerCallID] = nil } }

    /// The provider says that the call has ended.
    public func ended(_ providerCallID: String) async {
        guard let conversation = calls.withLock({ $0.removeValue(forKey: providerCallID) }) else { return }
        await conversation.hangUp(.calleeHangup)
    }
}
