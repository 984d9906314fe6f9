public import Bridge
internal import Foundation
internal import Logging
internal import Net
internal import Pipeline
internal import Realtime
internal import Store

/// Calls placed through Twilio: how to reach it, and how it reaches us.
public struct TwilioCarrier: Sendable {
    public var rest: TwilioREST
    /// Our address as Twilio sees it, without a slash at the end.
    public var publicURL: String
    /// Ask Twilio who answered; a machine's call is ended.
    public var detectsMachines: Bool

    public init(rest: TwilioREST, publicURL: String, detectsMachines: Bool) {
        self.rest = rest
        self.publicURL = publicURL
        self.detectsMachines = detectsMachines
    }

    /// Webhook of one call; Twilio's signature covers the query.
    func webhook(_ path: String, of callID: String) -> String { "\(publicURL)/twilio/\(path)?call=\(callID)" }
}

/// What Twilio tells of a call (twilio.com/docs/voice/api/call-resource#statuscallback).
public struct TwilioReport: Sendable, Equatable {
    public enum Status: String, Sendable {
        case queued, initiated, ringing
        case inProgress = "in-progress"
        case completed, busy
        case noAnswer = "no-answer"
        case canceled, failed
    }
    public var callSID: String
    public var status: Status?
    /// Of the trunk, where Twilio tells it.
    public var sipCode: Int?
    /// `human`, `machine_start`, `machine_end_beep` …, `fax` or `unknown`.
    public var answeredBy: String?

    public init(callSID: String, status: String? = nil, sipCode: Int? = nil, answeredBy: String? = nil) {
        self.callSID = callSID
        self.status = status.flatMap(Status.init(rawValue:))
        self.sipCode = sipCode
        self.answeredBy = answeredBy
    }

    /// The call is over at Twilio.
    public var isFinal: Bool { [.completed, .busy, .noAnswer, .canceled, .failed].contains(status) }

    var verdict: AnsweredBy? {
        switch answeredBy {
        case "human": .human
        case let told? where told.hasPrefix("machine") || told == "fax": .voicemail
        default: nil
        }
    }
}

/// One attempt that Twilio carries: placed by its REST API, its media streamed to us, its states told to
/// `/twilio/status`.
///
/// What Twilio tells may be late, doubled or lost: the states only go forward, and where it is silent too long it is
/// asked.
actor TwilioAttempt: CarriedAttempt {
    /// Seconds beyond the ringing in which Twilio must have told how it ended.
    private static let ringingGrace = 10.0
    /// Seconds from the answer to the media stream.
    private static let streamLimit = 15.0
    /// Seconds from our wish to end the call until Twilio must have told that it has ended.
    private static let endLimit = 5.0

    private let call: Call
    /// In E.164.
    private let number: String
    private let carrier: TwilioCarrier
    private let line: CallLine
    private let settings: CallSettings
    private let journal: CallJournal
    private var logger: Logger { journal.logger }

    private var sid: String?
    private(set) var conversation: (any CarriedConversation)?
    private var isOver = false
    /// Twilio has told that the call has ended.
    private var isGone = false
    private var isCancelled = false
    private var isEnding = false
    /// Twilio says that a machine has answered, and it is to be left a message.
    private var isMachine = false
    private var watchdog: Task<Void, Never>?
    private var done: CheckedContinuation<Void, Never>?

    /// - Parameter number: the callee's in E.164, as the call was routed.
    init(
        call: Call, to number: String, carrier: TwilioCarrier, line: CallLine, settings: CallSettings,
        now: @escaping @Sendable () -> Date
    ) {
        self.call = call
        self.number = number
        self.carrier = carrier
        self.line = line
        self.settings = settings
        journal = CallJournal(
            call, carrier: "twilio", store: line.store, settings: settings, logger: line.logger, now: now)
    }

    // MARK: Commands

    func run() async {
        line.calls.await(
            call.id,
            .init(
                stream: { [call, line, settings, journal] stream, loop, sid in
                    let conversation = StreamedCall(
                        loop: loop, call: call, providerCallID: sid, line: line, settings: settings, journal: journal)
                    Task { await self.began(conversation) }
                    conversation.assumeIsolated {
                        $0.run(stream) { reason in Task { await self.conversationEnded(reason) } }
                    }
                },
                turns: { [call, line, settings, journal] ended in
                    guard let engines = line.cascade(call.brief.language, journal.usage) else { return nil }
                    let conversation = TurnBasedCall(call: call, engines: engines, settings: settings, journal: journal)
                    {
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
        end()
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
        let id = call.id
        guard let from = settings.routing.plan.e164(call.localNumber) else {
            return over { $0.attemptEnded(AttemptOutcome(state: .failed, reason: "the caller number is not in E.164")) }
        }
        logger.info("dialling through Twilio", metadata: ["attempt": "\(call.attempts.count)"])
        do {
            let placed = try await carrier.rest.place(
                .init(
                    to: number, from: from, url: carrier.webhook("voice", of: id),
                    statusCallback: carrier.webhook("status", of: id),
                    machineCallback: carrier.detectsMachines ? carrier.webhook("status", of: id) : nil,
                    ringSeconds: Int(settings.ringTimeout),
                    timeLimit: min(call.maxDuration, settings.maxCallDuration) + 60))
            sid = placed.sid
            line.trunk.worked()
            journal.placed(providerCallID: placed.sid)
            if isOver { return leave() }
            if isCancelled { return end() }
            watch(settings.ringTimeout + Self.ringingGrace) { await $0.askHowItEnded() }
        } catch {
            let failure = error as? TwilioREST.Failure
            line.trunk.failed("Twilio: " + (failure.map { "status \($0.status ?? 0)" } ?? "not reached"))
            // A call that may have been placed all the same is hung up by `/twilio/voice`, which does not know it any
            // more.
            logger.warning(
                "Twilio did not place the call",
                metadata: ["code": "\(failure?.code ?? 0)", "status": "\(failure?.status ?? 0)"])
            over {
                $0.attemptEnded(
                    AttemptOutcome(state: isCancelled ? .cancelled : .failed, code: failure?.status, reason: "\(error)")
                )
            }
        }
    }

    /// One deadline at a time.
    private func watch(_ seconds: Double, _ then: @escaping @Sendable (TwilioAttempt) async -> Void) {
        watchdog?.cancel()
        watchdog = Task {
            try? await Task.sleep(for: .seconds(seconds))
            if !Task.isCancelled { await then(self) }
        }
    }

    // MARK: What Twilio tells

    /// False: the report is of another call than the one placed.
    func take(_ report: TwilioReport) -> Bool {
        guard sid == nil || sid == report.callSID else { return false }
        if report.isFinal { isGone = true }
        guard !isOver else { return true }
        if let verdict = report.verdict { answered(by: verdict) }
        switch report.status {
        case nil, .queued, .initiated: break
        case .ringing: journal.ringing()
        case .inProgress: answered()
        case .completed: completed()
        case .busy: over { $0.attemptEnded(AttemptOutcome(state: .busy, code: report.sipCode, reason: "busy")) }
        case .noAnswer:
            over { $0.attemptEnded(AttemptOutcome(state: .noAnswer, code: report.sipCode, reason: "not answered")) }
        case .canceled:
            let reason = isCancelled ? "cancelled by an operator" : "not answered"
            over {
                $0.attemptEnded(
                    AttemptOutcome(state: isCancelled ? .cancelled : .noAnswer, code: report.sipCode, reason: reason))
            }
        case .failed: over { $0.attemptEnded(Self.failure(report.sipCode)) }
        }
        return true
    }

    private static func failure(_ sipCode: Int?) -> AttemptOutcome {
        guard let sipCode, (400..<700).contains(sipCode) else {
            return AttemptOutcome(state: .failed, code: sipCode, reason: "Twilio could not reach the number")
        }
        return AttemptOutcome(sipStatus: sipCode, phrase: "")
    }

    /// Twilio asks what to do with the call, so it was answered.
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
        logger.error("the call was answered, but its media stream did not come: can Twilio reach public_url by wss?")
        over { $0.conversationEnded(nil, reason: .providerError) }
    }

    /// The conversation is over and its stream closed: Twilio hangs up and says so. A call that went to an operator is
    /// his.
    private func conversationEnded(_ reason: EndReason?) {
        guard !isOver else { return }
        if reason == .transferred { isGone = true }
        if isGone { return over { _ in } }
        isEnding = true
        watch(Self.endLimit / 2) { await $0.over { _ in } }
    }

    /// The call has ended at Twilio. What a conversation still has to store, it stores.
    private func completed() {
        if journal.isEnded { return over { _ in } }
        if let conversation {
            Task { await conversation.hangUp(.calleeHangup) }
        } else if journal.isConnected {
            over { $0.conversationEnded(nil, reason: .calleeHangup) }
        } else {
            over {
                $0.attemptEnded(AttemptOutcome(state: .failed, reason: "the call ended before its media stream came"))
            }
        }
    }

    /// Nothing was heard in all the time it may have rung: a report was lost.
    private func askHowItEnded() async {
        guard !isOver, !journal.isConnected, let sid else { return }
        if let resource = try? await carrier.rest.call(sid), !isOver, !journal.isConnected {
            let report = TwilioReport(callSID: sid, status: resource.status)
            switch report.status {
            case nil, .queued, .initiated, .ringing: break
            default:
                _ = take(report)
                return
            }
        }
        over { $0.attemptEnded(AttemptOutcome(state: .noAnswer, reason: "Twilio did not tell how the call ended")) }
    }

    // MARK: The end

    /// Asks Twilio to give the call up, and waits for it to say so.
    private func end() {
        guard !isEnding, let sid else { return }
        isEnding = true
        watch(Self.endLimit) { await $0.unanswered() }
        Task { [carrier, logger] in
            do { _ = try await carrier.rest.cancel(sid) } catch { logger.warning("Twilio did not cancel the call") }
        }
    }

    private func unanswered() {
        over { $0.attemptEnded(AttemptOutcome(state: .cancelled, reason: "cancelled by an operator")) }
    }

    /// Ends the attempt; where Twilio may still hold the call, it is told to hang up.
    private func over(_ record: (CallJournal) -> Void) {
        guard !isOver else { return }
        isOver = true
        record(journal)
        leave()
        done?.resume()
        done = nil
    }

    private func leave() {
        guard let sid, !isGone else { return }
        Task { [carrier, logger] in
            do { _ = try await carrier.rest.complete(sid) } catch {
                logger.warning("Twilio did not hang up: \((error as? TwilioREST.Failure)?.status ?? 0)")
            }
        }
    }
}
