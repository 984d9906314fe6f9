internal import Bridge
internal import Foundation
internal import Logging
internal import Net
internal import Pipeline
internal import Realtime
internal import Store

/// A call that a provider brings in: told of by its webhook or its media stream, carried by that stream or by turns.
///
/// What the provider tells of its end may be late, doubled or lost: the states only go forward, and a call whose media
/// does not come is given up.
actor ArrivedCall: CarriedAttempt {
    /// Seconds from the webhook to the media.
    private static let mediaLimit = 15.0

    let record: Call
    /// nil: none of ours; its stream brought the shared token.
    private let carrier: (any Carrier)?
    private let line: CallLine
    private let settings: CallSettings
    private let journal: CallJournal
    private var awaited = AwaitedConversation()
    var conversation: (any CarriedConversation)? { awaited.current }

    init(
        _ record: Call, by carrier: (any Carrier)?, line: CallLine, settings: CallSettings,
        now: @escaping @Sendable () -> Date
    ) {
        self.record = record
        self.carrier = carrier
        self.line = line
        self.settings = settings
        journal = CallJournal(
            record, carrier: carrier?.name ?? Carriers.stream, store: line.store, settings: settings,
            logger: line.logger, now: now)
    }

    /// Stores the call as one that rings. On return its media may come.
    nonisolated func expect() {
        journal.arrived(record)
        line.calls.add(record.id, self)
        line.calls.await(
            record.id,
            .init(
                stream: { [self] stream, loop, id in
                    let carried = StreamedCall(
                        loop: loop, call: record, providerCallID: id, carrier: carrier, line: line, settings: settings,
                        journal: journal)
                    Task { await self.began(carried) }
                    carried.assumeIsolated { $0.run(stream) { reason in Task { await self.streamEnded(reason) } } }
                },
                turns: { [self] ended in byTurns(ended) }))
    }

    private nonisolated func byTurns(_ ended: @escaping @Sendable () -> Void) -> TurnBasedCall? {
        guard let engines = line.cascade(record.brief.language, journal.usage) else {
            Task { await self.unanswered("a call by turns needs recogniser, language model and voice") }
            return nil
        }
        journal.connected()
        let carried = TurnBasedCall(
            call: record, engines: engines, settings: settings, journal: journal, toolBox: line.toolBox(record),
            release: { [self] in await release() }
        ) {
            ended()
            Task { await self.ended() }
        }
        Task { await self.began(carried) }
        return carried
    }

    /// Runs the call to its end; when it returns, all of it is stored.
    func run() async {
        journal.logger.info("a call comes in")
        awaited.limit(Self.mediaLimit) { await self.noMedia() }
        await withCheckedContinuation { awaited.tellsEnd($0) }
        line.calls.stopAwaiting(record.id)
        await journal.close()
        line.calls.remove(record.id)
    }

    private func began(_ carried: any CarriedConversation) { awaited.began(carried) }

    private func ended() { awaited.end() }

    private func noMedia() {
        guard !journal.isConnected, !awaited.isOver else { return }
        journal.logger.error("a call that came in brought no media stream: can the provider reach public_url by wss?")
        unanswered("its media stream did not come")
        // This task is the watchdog, which has been cancelled by now.
        Task { await self.release() }
    }

    private func unanswered(_ reason: String, code: Int? = nil) {
        guard !awaited.isOver, !journal.isConnected else { return }
        line.calls.stopAwaiting(record.id)
        journal.attemptEnded(AttemptOutcome(state: .failed, code: code, reason: reason))
        awaited.end()
    }

    /// A call that was transferred goes on without us.
    private func streamEnded(_ reason: EndReason) async {
        awaited.end()
        if let carrier, reason != .transferred, !type(of: carrier).endsWithStream { await release() }
    }

    /// Has the provider hang up, where nothing else makes it.
    private func release() async {
        guard let carrier, let id = record.providerCallID, let api = carrier.api(for: id) else { return }
        do throws(CarrierFailure) { try await api.hangUp(id) } catch {
            journal.logger.warning("\(carrier.title) did not hang up: \(error.status ?? 0)")
        }
    }

    // MARK: What the provider tells, and commands

    func take(_ report: CarrierReport) async {
        guard report.isFinal, !awaited.isOver else { return }
        guard journal.isConnected else { return unanswered("the caller gave up before the answer") }
        await hangUp(.calleeHangup)
    }

    func cancel() { unanswered("cancelled by an operator") }

    func hangUp(_ reason: EndReason) async {
        guard journal.isConnected else {
            cancel()
            return await release()
        }
        await awaited.toHangUp(reason)?.hangUp(reason)
    }
}
