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
    private(set) var conversation: (any CarriedConversation)?
    private var isOver = false
    /// To be hung up as soon as its conversation is known.
    private var wantedEnd: EndReason?
    private var watchdog: Task<Void, Never>?
    private var done: CheckedContinuation<Void, Never>?

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
                    conversation.assumeIsolated { $0.run(stream) { _ in Task { await self.over() } } }
                }))
        journal.placed(providerCallID: call.id)
        journal.ringing()
        watchdog = Task { [settings] in
            try? await Task.sleep(for: .seconds(max(1, settings.ringTimeout)))
            if !Task.isCancelled { self.nobodyAnswered() }
        }
        if !isOver { await withCheckedContinuation { done = $0 } }
        await journal.close()
    }

    private func nobodyAnswered() {
        guard !journal.isConnected else { return }
        unanswered(AttemptOutcome(state: .noAnswer, reason: "not answered within \(Int(settings.ringTimeout)) s"))
    }

    private func unanswered(_ outcome: AttemptOutcome) {
        guard !isOver else { return }
        line.calls.stopAwaiting(call.id)
        journal.attemptEnded(outcome)
        over()
    }

    private func began(_ conversation: any CarriedConversation) {
        watchdog?.cancel()
        guard !isOver else { return }
        self.conversation = conversation
        if let wantedEnd { Task { await conversation.hangUp(wantedEnd) } }
    }

    private func over() {
        guard !isOver else { return }
        isOver = true
        watchdog?.cancel()
        conversation = nil
        done?.resume()
        done = nil
    }

    // MARK: Commands

    func cancel() {
        guard !journal.isConnected else { return }
        unanswered(AttemptOutcome(state: .cancelled, reason: "cancelled by an operator"))
    }

    func hangUp(_ reason: EndReason) async {
        guard journal.isConnected else { return cancel() }
        guard let conversation else { return wantedEnd = reason }
        await conversation.hangUp(reason)
    }
}
