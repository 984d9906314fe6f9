internal import Bridge
internal import Foundation
internal import Logging
internal import Net
internal import Pipeline
internal import Realtime
internal import Store

/// One attempt that a carrier carries: placed by its API, its media streamed to us or turn-based, its states told to
/// its webhooks.
///
/// What the carrier tells may be late, doubled or lost: the states only go forward, and where it is silent too long it
/// is asked.
actor CarrierAttempt: CarriedAttempt {
    /// Seconds beyond the ringing in which the carrier must have told how it ended.
    private static let ringingGrace = 10.0
    /// Seconds from the answer to the media stream.
    private static let streamLimit = 15.0
    /// Seconds from our wish to end the call until the carrier must have told that it has ended.
    private static let endLimit = 5.0

    private let call: Call
    private let carrier: any Carrier
    private let api: any CarrierAPI
    /// E.164.
    private let number: String
    private let line: CallLine
    private let settings: CallSettings
    private let journal: CallJournal
    private var logger: Logger { journal.logger }

    /// The carrier's id of the call.
    private var placedID: String?
    /// Whether the carrier has placed the call is not known: its answer was lost, and its reports are awaited.
    private var isUncertain = false
    private(set) var conversation: (any CarriedConversation)?
    private var isOver = false
    /// The carrier has told that the call has ended.
    private var isGone = false
    private var isCancelled = false
    private var isEnding = false
    /// The carrier says that a machine has answered, and it is to be left a message.
    private var isMachine = false
    private var watchdog: Task<Void, Never>?
    private var done: CheckedContinuation<Void, Never>?

    /// - Parameter number: the callee's in E.164, as the call was routed.
    init(
        call: Call, to number: String, by carrier: any Carrier, _ api: any CarrierAPI, line: CallLine,
        settings: CallSettings, now: @escaping @Sendable () -> Date
    ) {
        self.call = call
        self.number = number
        self.carrier = carrier
        self.api = api
        self.line = line
        self.settings = settings
        journal = CallJournal(
            call, carrier: carrier.name, store: line.store, settings: settings, logger: line.logger, now: now)
    }

    // MARK: Commands

    func run() async {
        line.calls.await(
            call.id,
            .init(
                stream: { [call, carrier, line, settings, journal] stream, loop, providerCallID in
                    let conversation = StreamedCall(
                        loop: loop, call: call, providerCallID: providerCallID, carrier: carrier, line: line,
                        settings: settings, journal: journal)
                    Task { await self.began(conversation) }
                    conversation.assumeIsolated {
                        $0.run(stream) { reason in Task { await self.conversationEnded(reason) } }
                    }
                },
                turns: { [call, line, settings, journal] ended in
                    guard let engines = line.cascade(call.brief.language, journal.usage) else { return nil }
                    let conversation = TurnBasedCall(
                        call: call, engines: engines, settings: settings, journal: journal, toolBox: line.toolBox(call)
                    ) {
                        Task { await self.conversationEnded(nil) }
                    }
                    Task { await self.began(conversation) }
                    return conversation
                }))
        await place()
        if !isOver { await withCheckedContinuation { done = $0 } }
        line.calls.stopAwaiting(call.id)
        watchdog?.cancel()
        await journal.close()
    }

    func cancel() {
        guard !journal.isConnected, !isOver else { return }
        isCancelled = true
        if isUncertain, placedID == nil { unanswered() } else { end() }
    }

    func hangUp(_ reason: EndReason) {
        guard journal.isConnected else { return cancel() }
        if let conversation {
            Task { await conversation.hangUp(reason) }
        } else {
            over { $0.conversationEnded(nil, reason: reason) }
        }
    }

    // MARK: Placing

    private func place() async {
        guard let from = settings.routing.plan.e164(call.localNumber) else {
            return over { $0.attemptEnded(AttemptOutcome(state: .failed, reason: "no route for this number")) }
        }
        logger.info("dialling through \(carrier.title)", metadata: ["attempt": "\(call.attempts.count)"])
        do throws(CarrierFailure) {
            let id = try await api.place(
                CarrierPlacement(
                    callID: call.id, to: number, from: from, ringSeconds: Int(settings.ringTimeout),
                    timeLimit: min(call.maxDuration, settings.maxCallDuration) + 60))
            line.trunk.worked()
            // A report may have been faster.
            if placedID == nil { known(as: id) }
            if isOver { return leave() }
            if isCancelled { return end() }
            watch(settings.ringTimeout + Self.ringingGrace) { await $0.askHowItEnded() }
        } catch {
            notPlaced(error)
        }
    }

    private func notPlaced(_ error: CarrierFailure) {
        line.trunk.failed("\(carrier.title): status \(error.status ?? 0)")
        logger.warning(
            error.isUncertain
                ? "\(carrier.title) may have placed the call: its answer is missing"
                : "\(carrier.title) did not place the call",
            metadata: ["code": "\(error.code ?? 0)", "status": "\(error.status ?? 0)"])
        guard error.isUncertain, !isCancelled else {
            return over {
                $0.attemptEnded(
                    AttemptOutcome(
                        state: isCancelled ? .cancelled : .failed, code: error.status, reason: error.message))
            }
        }
        // Where it was placed, its reports come: the first may have been here before this.
        guard !isOver, !journal.isConnected else { return }
        isUncertain = true
        watch(settings.ringTimeout + Self.ringingGrace) { await $0.askHowItEnded() }
    }

    /// One deadline at a time.
    private func watch(_ seconds: Double, _ then: @escaping @Sendable (CarrierAttempt) async -> Void) {
        watchdog?.cancel()
        watchdog = Task {
            try? await Task.sleep(for: .seconds(seconds))
            if !Task.isCancelled { await then(self) }
        }
    }

    // MARK: What the carrier tells

    /// False: the report is of another call than the one placed.
    func take(_ report: CarrierReport) -> Bool {
        guard isOurs(report) else { return false }
        if report.isFinal { isGone = true }
        guard !isOver else { return true }
        // First: who answered may be told before anything else is.
        if report.state == .answered { answered() }
        if let whom = report.answeredBy { answered(by: whom) }
        switch report.state {
        case nil, .answered: break
        case .ringing: journal.ringing()
        case .completed: completed()
        case .busy: over { $0.attemptEnded(AttemptOutcome(state: .busy, code: report.sipCode, reason: "busy")) }
        case .noAnswer:
            over { $0.attemptEnded(AttemptOutcome(state: .noAnswer, code: report.sipCode, reason: "not answered")) }
        case .cancelled:
            let reason = isCancelled ? "cancelled by an operator" : "not answered"
            over {
                $0.attemptEnded(
                    AttemptOutcome(state: isCancelled ? .cancelled : .noAnswer, code: report.sipCode, reason: reason))
            }
        case .failed: over { $0.attemptEnded(failure(report.sipCode)) }
        }
        return true
    }

    /// From the first report of it on, a call is known by the id that it has there.
    private func isOurs(_ report: CarrierReport) -> Bool {
        guard placedID != report.callID else { return true }
        if let placedID {
            guard placedID == report.placementID else { return false }
        } else {
            // An earlier attempt's, told late.
            guard report.callID != call.providerCallID else { return false }
        }
        known(as: report.callID)
        return true
    }

    private func known(as id: String) {
        placedID = id
        journal.placed(providerCallID: id)
    }

    private func failure(_ sipCode: Int?) -> AttemptOutcome {
        guard let sipCode, (400..<700).contains(sipCode) else {
            return AttemptOutcome(
                state: .failed, code: sipCode, reason: "\(carrier.title) could not reach the number")
        }
        return AttemptOutcome(sipStatus: sipCode, phrase: "")
    }

    /// The carrier asks what to do with the call, so it was answered.
    func answered() {
        guard !isOver, !journal.isConnected else { return }
        journal.connected()
        watch(Self.streamLimit) { await $0.noStream() }
    }

    private func answered(by whom: AnsweredBy) {
        journal.answered(by: whom)
        guard whom == .voicemail else { return }
        guard settings.voicemailMessage(of: call) != nil else { return hangUp(.voicemail) }
        isMachine = true
        if let conversation { Task { await conversation.answeringMachine() } }
    }

    private func began(_ arrived: any CarriedConversation) {
        // Told by a task of its own, so perhaps only after the conversation's end, whose deadline must stand.
        guard !journal.isEnded else { return }
        watchdog?.cancel()
        conversation = arrived
        if isCancelled || isEnding {
            Task { await arrived.hangUp(.operatorHangup) }
        } else if isMachine {
            Task { await arrived.answeringMachine() }
        }
    }

    private func noStream() {
        logger.error(
            """
            the call was answered, but its media stream did not come: \
            can \(carrier.title) reach public_url by wss?
            """)
        over { $0.conversationEnded(nil, reason: .providerError) }
    }

    /// The conversation is over and its stream closed: the carrier hangs up and reports it. A call that was transferred
    /// to an operator goes on.
    private func conversationEnded(_ reason: EndReason?) {
        guard !isOver else { return }
        if reason == .transferred { isGone = true }
        if isGone || !type(of: carrier).endsWithStream { return over { _ in } }
        isEnding = true
        watch(Self.endLimit / 2) { await $0.over { _ in } }
    }

    /// The call has ended at the carrier. What a conversation still has to store, it stores.
    private func completed() {
        if journal.isEnded { return over { _ in } }
        if let conversation {
            Task { await conversation.hangUp(.calleeHangup) }
        } else if journal.isConnected {
            over { $0.conversationEnded(nil, reason: .calleeHangup) }
        } else if isCancelled {
            unanswered()
        } else {
            over {
                $0.attemptEnded(AttemptOutcome(state: .failed, reason: "the call ended before its media stream came"))
            }
        }
    }

    /// Nothing was heard in all the time it may have rung: a report was lost.
    private func askHowItEnded() async {
        guard !isOver, !journal.isConnected else { return }
        guard let placedID else {
            // Were it placed all the same: its webhook, which does not know it any more, hangs it up.
            return over {
                $0.attemptEnded(
                    AttemptOutcome(
                        state: .failed, reason: "\(carrier.title) did not tell whether it placed the call",
                        isUncertain: true))
            }
        }
        if let report = try? await api.report(of: placedID), !isOver, !journal.isConnected,
            report.state != nil, report.state != .ringing
        {
            _ = take(report)
            return
        }
        over {
            $0.attemptEnded(
                AttemptOutcome(state: .noAnswer, reason: "\(carrier.title) did not tell how the call ended"))
        }
    }

    // MARK: The end

    /// Asks the carrier to give the call up, and waits for it to say so.
    private func end() {
        guard !isEnding, let placedID else { return }
        isEnding = true
        watch(Self.endLimit) { await $0.unanswered() }
        Task { [carrier, api, logger] in
            do throws(CarrierFailure) { try await api.cancel(placedID) } catch {
                logger.warning("\(carrier.title) did not cancel the call")
            }
        }
    }

    private func unanswered() {
        over { $0.attemptEnded(AttemptOutcome(state: .cancelled, reason: "cancelled by an operator")) }
    }

    /// Ends the attempt; where the carrier may still hold the call, it is told to hang up.
    private func over(_ record: (CallJournal) -> Void) {
        guard !isOver else { return }
        isOver = true
        record(journal)
        leave()
        done?.resume()
        done = nil
    }

    private func leave() {
        guard let placedID, !isGone else { return }
        Task { [carrier, api, logger] in
            do throws(CarrierFailure) { try await api.hangUp(placedID) } catch {
                logger.warning("\(carrier.title) did not hang up: \(error.status ?? 0)")
            }
        }
    }
}
