internal import Bridge
internal import Foundation
internal import Logging
public import Realtime
internal import Synchronization

/// The calls that go by turns: finds the conversation of a provider's call, or begins it.
public final class TurnServer: Sendable {
    private let line: CallLine
    private let settings: CallSettings
    private let brief: Brief
    private let calls = Mutex<[String: TurnBasedCall]>([:])

    /// - Parameter brief: for calls that come without one of their own.
    public init(line: CallLine, settings: CallSettings, brief: Brief) {
        self.line = line
        self.settings = settings
        self.brief = brief
    }

    /// - Parameter providerCallID: e.g. Twilio's `CallSid`.
    public func conversation(of providerCallID: String) -> TurnBasedCall? { calls.withLock { $0[providerCallID] } }

    /// - Parameter outboundID: of a call that we had placed; nil for one that came by itself.
    /// - Returns: nil: it cannot be held.
    public func begin(_ providerCallID: String, from: String, to: String, outboundID: String?) -> TurnBasedCall? {
        if let known = conversation(of: providerCallID) { return known }
        // Not every provider tells of the end: what is over is forgotten without it.
        let forget: @Sendable () -> Void = { [weak self] in self?.forget(providerCallID) }
        guard
            let conversation = outboundID.map({ line.calls.beginTurns(of: $0, ended: forget) })
                ?? unasked(providerCallID, from: from, to: to, ended: forget)
        else {
            line.logger.error("a call by turns cannot be held: it needs recogniser, language model and voice (agent.fallback, or agent.mode cascade)")
            return nil
        }
        calls.withLock { $0[providerCallID] = conversation }
        return conversation
    }

    private func forget(_ providerCallID: String) { calls.withLock { $0[providerCallID] = nil } }

    private func unasked(_ providerCallID: String, from: String, to: String, ended: @escaping @Sendable () -> Void) -> TurnBasedCall? {
        let call = Call(
            providerCallID: providerCallID, from: from, to: to, brief: brief, maxDuration: settings.maxCallDuration, requestedBy: "twilio",
            at: Date())
        let id = call.outboundID
        let journal = CallJournal(call, carrier: "twilio", store: line.store, settings: settings, logger: line.logger, now: { Date() })
        guard let engines = line.cascade(brief.language, journal.usage) else { return nil }
        journal.insert(call)
        let release: @Sendable () async -> Void = { [line] in _ = try? await line.twilio?.rest.complete(providerCallID) }
        let conversation = TurnBasedCall(call: call, engines: engines, settings: settings, journal: journal, release: release) { [line] in
            ended()
            Task {
                await journal.close()
                line.calls.remove(id)
            }
        }
        line.calls.add(id, conversation)
        return conversation
    }

    /// The provider says that the call has ended.
    public func ended(_ providerCallID: String) async {
        guard let conversation = calls.withLock({ $0.removeValue(forKey: providerCallID) }) else { return }
        await conversation.hangUp(.calleeHangup)
    }
}
