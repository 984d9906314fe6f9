internal import Bridge
internal import Foundation
internal import Logging
internal import Net
internal import Pipeline
internal import Realtime
internal import Store

/// One attempt that rings in a browser: the page of the user who requested the call opens a media stream
/// (`WS /media/browser`).
actor BrowserAttempt: CarriedAttempt {
    private let call: Call
    private let line: CallLine
    private let settings: CallSettings
    private let journal: CallJournal
    private var awaited = AwaitedConversation()
    var conversation: (any CarriedConversation)? { awaited.current }

    init(call: Call, line: CallLine, settings: CallSettings, now: @escaping @Sendable () -> Date) {
        self.call = call
        self.line = line
        self.settings = settings
        journal = CallJournal(
            call, carrier: Carriers.browser, store: line.store, settings: settings, logger: line.logger, now: now)
    }

    func run() async {
        line.calls.await(
            call.id,
            .init(
                user: call.requestedBy,
                stream: { [call, line, settings, journal] stream, loop, callID in
                    let conversation = StreamedCall(
                        loop: loop, call: call, providerCallID: callID, line: line, settings: settings, journal: journal
                    )
                    Task { await self.began(conversation) }
                    conversation.assumeIsolated { $0.run(stream) { _ in Task { await self.ended() } } }
                }))
        journal.placed(providerCallID: call.id)
        journal.ringing()
        awaited.limit(max(1, settings.ringTimeout)) { await self.notAnswered() }
        await withCheckedContinuation { awaited.tellsEnd($0) }
        await journal.close()
    }

    private func notAnswered() {
        guard !journal.isConnected else { return }
        unanswered(AttemptOutcome(state: .noAnswer, reason: "not answered within \(Int(settings.ringTimeout)) s"))
    }

    private func unanswered(_ outcome: AttemptOutcome) {
        guard !awaited.isOver else { return }
        line.calls.stopAwaiting(call.id)
        journal.attemptEnded(outcome)
        awaited.end()
    }

    private func began(_ conversation: any CarriedConversation) { awaited.began(conversation) }

    private func ended() { awaited.end() }

    // MARK: Commands

    func cancel() {
        guard !journal.isConnected else { return }
        unanswered(AttemptOutcome(state: .cancelled, reason: "cancelled by an operator"))
    }

    func hangUp(_ reason: EndReason) async {
        guard journal.isConnected else { return cancel() }
        await awaited.toHangUp(reason)?.hangUp(reason)
    }
}
