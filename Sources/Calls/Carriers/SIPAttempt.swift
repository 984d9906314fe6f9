internal import Bridge
internal import Foundation
internal import Logging
internal import Net
internal import Pipeline
internal import Realtime
internal import Store

/// One attempt over our own SIP leg: INVITE, ringing, conversation, hang-up; or a call that came in. An actor of the
/// call's event loop.
actor SIPAttempt: CallAttempt, GraphCall {
    /// How the call comes about.
    enum Way: Sendable {
        /// We call, as the dialling policy has routed it.
        case out(Routing.SIPRoute)
        /// It came in. `person`: whom it is for, where that is one who may be rung.
        case incoming(IncomingCall, person: TransferTarget?)
    }

    private enum Phase {
        case idle
        /// CANCEL goes out at `until`.
        case calling(until: UInt64)
        /// It rings here until `until`; nil: until a person has decided.
        case ringing(until: UInt64?)
        case connected
        /// The conversation is over, and the far end not yet gone.
        case leaving
        case over
    }
    /// Why we gave the call up before the answer.
    private enum GivenUp { case cancelled, ringTimeOut }

    /// Milliseconds between the last sample played and BYE: the callee's own jitter buffer is drained too.
    private static let drainMs: UInt64 = 300
    /// Seconds that our own conversation has at least, where it takes a call over.
    private static let leastSeconds = 30
    /// Redirections followed in one call.
    private static let redirectLimit = 3

    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let call: Call
    private let way: Way
    private let line: CallLine
    private let settings: CallSettings
    private let now: @Sendable () -> Date
    private let journal: CallJournal
    private var logger: Logger { journal.logger }
    private let begunAt = Date()

    private var phase = Phase.idle
    private var givenUp: GivenUp?
    /// Where the call goes now, and where it may go if that fails.
    private var route: Routing.SIPRoute?
    private var routes: [Routing.SIPRoute] = []
    private var redirects = 0
    /// A provisional answer has come.
    private var hasRung = false
    private var leg: SIPLeg?
    private(set) var host: ConversationHost?
    /// Another server holds the conversation, or has held it.
    private var outside: OutsideConversation?
    private var answeredMs: UInt64 = 0
    private var ticker: EventLoop.Ticker?
    private var arrivedCallIDs: [String] = []
    private var done: CheckedContinuation<Void, Never>?

    init(
        loop: EventLoop, call: Call, way: Way, line: CallLine, settings: CallSettings,
        now: @escaping @Sendable () -> Date
    ) {
        self.loop = loop
        self.call = call
        self.way = way
        self.line = line
        self.settings = settings
        self.now = now
        journal = CallJournal(
            call, carrier: Carriers.sip, store: line.store, settings: settings, logger: line.logger, now: now)
    }

    // MARK: Commands

    func run() async {
        await withCheckedContinuation { continuation in
            done = continuation
            begin()
        }
        await journal.close()
        // An INVITE that came was there before we were; an attempt before this one has kept its own.
        var since = begunAt
        if case .incoming = way { since = .distantPast }
        line.keepTrace(of: call.id, callIDs: Set(arrivedCallIDs), since: since)
    }

    func cancel() {
        guard givenUp == nil else { return }
        switch phase {
        // Nothing has been sent yet: `begin` finds it given up.
        case .idle: givenUp = .cancelled
        case .calling, .ringing: giveUp(.cancelled)
        case .connected, .leaving, .over: break
        }
    }

    func hangUp(_ reason: EndReason) {
        guard case .connected = phase else { return cancel() }
        if let graph { graph.finish(reason) } else { conversationEndedElsewhere(reason) }
    }

    private func giveUp(_ why: GivenUp) {
        givenUp = why
        leg?.hangUp()
    }

    private func begin() {
        guard givenUp == nil else { return attemptEnded(AttemptOutcome(state: .cancelled, reason: "cancelled")) }
        let leg = SIPLeg(loop: loop, transport: line.userAgent, settings: settings.leg(on: line.network)) {
            [weak self] event in self?.assumeIsolated { $0.handle(event) }
        }
        self.leg = leg
        switch way {
        case .out(let route): dial(route)
        case .incoming(let call, let person): receive(call, for: person, leg)
        }
        if case .over = phase { return }
        ticker = loop.addTicker { [weak self] now in self?.assumeIsolated { $0.tick(now) } }
    }

    private func tick(_ now: UInt64) {
        switch phase {
        case .calling(let until) where now >= until && givenUp == nil: giveUp(.ringTimeOut)
        case .ringing(let until?) where now >= until && givenUp == nil:
            phase = .ringing(until: nil)
            leg?.answer()
        default: break
        }
    }

    // MARK: Dialling

    private func dial(_ route: Routing.SIPRoute) {
        routes = line.trunks?.ordered(route) ?? [route] + route.alternatives
        phase = .calling(until: loop.timeMs + UInt64(max(1, settings.ringTimeout) * 1_000))
        logger.info("dialling", metadata: ["attempt": "\(call.attempts.count)"])
        invite(through: routes.removeFirst())
    }

    private func invite(through route: Routing.SIPRoute) {
        self.route = route
        let callID = "outbound-\(call.id)-\(ShortID.random())"
        let display = UserAgentText.quoted(call.brief.callerDisplayName)
        let invitation = Invitation(
            to: route,
            from: "\(display)<sip:\(caller)@\(line.userAgent.advertised)>;tag=outb-\(ShortID.random())",
            callID: callID, headers: [("X-Outbound-Call-ID", call.id)])
        do throws(NetError) {
            try leg?.invite(
                [invitation], isSecure: settings.srtp.isOffered(over: route.isSecure), peer: route.host)
            journal.placed(providerCallID: callID)
        } catch { attemptEnded(AttemptOutcome(state: .failed, reason: error.message)) }
    }

    /// The number that we show.
    private var caller: String { Routing.normalize(call.localNumber) ?? "anonymous" }

    /// Tries a failed call elsewhere: by another trunk, or where a redirection points. False: there is no other way.
    private func goesElsewhere(_ status: Int, _ contact: String?) -> Bool {
        guard givenUp == nil, case .out = way else { return false }
        if let route { line.trunks?.note(route, hasFailed: TrunkKeeper.isWorthAnother(status) && !hasRung) }
        if TrunkKeeper.isWorthAnother(status), !hasRung, !routes.isEmpty {
            logger.warning("a trunk does not take the call: the next one is tried", metadata: ["status": "\(status)"])
            invite(through: routes.removeFirst())
            return true
        }
        if (300..<400).contains(status), let contact, let next = settings.routing.redirect(to: contact, from: route),
            redirects < Self.redirectLimit
        {
            redirects += 1
            invite(through: next)
            return true
        }
        return false
    }

    /// By its gateway, not straight to an address.
    private var goesThroughTrunk: Bool {
        if case .out = way { !call.remoteNumber.lowercased().hasPrefix("sip:") } else { false }
    }

    // MARK: Answering

    private func receive(_ incoming: IncomingCall, for person: TransferTarget?, _ leg: SIPLeg) {
        journal.arrived(call)
        do throws(SIPLeg.Refusal) { try leg.receive(incoming) } catch {
            return attemptEnded(AttemptOutcome(state: .failed, code: error.status, reason: error.message))
        }
        logger.info("a call comes in")
        guard let person else {
            phase = .ringing(until: loop.timeMs + UInt64(max(0, settings.inbound.ringSeconds) * 1_000))
            return
        }
        phase = .ringing(until: nil)
        let host = makeHost(call)
        self.host = host
        // The caller is answered in either case: if the person does not take the call, the AI does.
        host.transfer.ring(person) { [weak self] _ in self?.assumeIsolated { $0.leg?.answer() } }
    }

    // MARK: What happens to the leg

    private func handle(_ event: SIPLeg.Event) {
        if case .over = phase { return }
        switch event {
        case .ringing:
            hasRung = true
            journal.ringing()
        case .answered: answered()
        case .failed(let failure): failed(failure)
        case .held(let isHeld): graph?.setHeld(isHeld)
        case .replaced: logger.info("another end took the far end's place")
        case .referral(let status): referred(status)
        case .referralRequested: break
        case .stopped: outside?.stopped()
        case .mediaFailed(let failure): mediaFailed(failure)
        case .ended: ended()
        }
    }

    private func failed(_ failure: SIPLeg.Failure) {
        switch failure {
        case .refused(let status, let phrase, let contact):
            guard !goesElsewhere(status, contact) else { return }
            attemptEnded(AttemptOutcome(sipStatus: status, phrase: phrase))
        case .unacceptable(let message): attemptEnded(AttemptOutcome(state: .failed, code: 488, reason: message))
        case .cancelled:
            attemptEnded(
                AttemptOutcome(state: .failed, code: 487, reason: "the caller gave up before the answer"))
        case .lost: attemptEnded(AttemptOutcome(state: .failed, reason: "the far end gave the call up"))
        }
    }

    private func ended() {
        switch phase {
        case .connected:
            if let graph { graph.farEndLeft() } else { conversationEndedElsewhere(.calleeHangup) }
        case .leaving: finish()
        case .idle, .calling, .ringing, .over: break
        }
    }

    private func mediaFailed(_ failure: Leg.Failure) {
        switch failure {
        case .mediaTimeout:
            // On hold while it calls the operator.
            if host?.transfer.isWithCarrier == true || outside?.isReferring == true { return }
            if let graph { graph.finish(.mediaTimeout) } else { conversationEndedElsewhere(.mediaTimeout) }
        case .streamClosed: outside?.streamClosed()  // the end of its own stream is reported by the graph
        }
    }

    /// There was no conversation.
    private func attemptEnded(_ ended: AttemptOutcome) {
        if goesThroughTrunk, givenUp != .cancelled, givenUp == nil || !hasRung {
            line.trunk.took(ended, hasRung: hasRung)
        }
        var ended = ended
        switch givenUp {
        case nil: break
        case .cancelled:
            ended = AttemptOutcome(state: .cancelled, code: ended.code, reason: "cancelled by an operator")
        case .ringTimeOut:
            ended = AttemptOutcome(
                state: .noAnswer, code: ended.code, reason: "not answered within \(Int(settings.ringTimeout)) s")
        }
        journal.attemptEnded(ended)
        finish()
    }

    // MARK: The conversation

    private func answered() {
        if goesThroughTrunk { line.trunk.worked() }
        if let route { line.trunks?.note(route, hasFailed: false) }
        phase = .connected
        answeredMs = loop.timeMs
        ticker?.cancel()
        ticker = nil
        journal.connected()
        let start = start
        let target = StreamTarget(of: call, settings, streamID: start.streamID, callID: start.callID)
        if let target, host?.transfer.isSomebodyWaiting != true {
            stream(to: target)
        } else {
            converse(start: start, call)
        }
    }

    private var start: StreamStart {
        StreamStart(streamID: "MZ" + call.id.replacing("-", with: ""), callID: leg?.callID ?? call.id)
    }

    private func makeHost(_ call: Call) -> ConversationHost {
        ConversationHost(
            loop: loop, call: call, line: line, settings: settings, journal: journal,
            carrier: .init(
                transfers: { [weak self] choice in self?.assumeIsolated { $0.refer(choice) } ?? false },
                figures: { [weak self] in self?.assumeIsolated { $0.figures } }))
    }

    private func converse(start: StreamStart, _ call: Call) {
        let pair = MediaStreamPair.make()
        let host = host ?? makeHost(call)
        self.host = host
        host.start(pair.application) { [weak self] reason in self?.assumeIsolated { $0.leave(reason) } }
        leg?.open(pair.carrier, start: start)
    }

    private var figures: Call.MediaFigures? { Call.MediaFigures(leg) }

    /// The journal knows how the conversation ended: the far end is hung up.
    private func leave(_ reason: EndReason?) {
        guard case .connected = phase else { return }
        phase = .leaving
        guard let leg, !leg.isGone else { return finish() }
        switch reason {
        case .taskCompleted: leg.hangUp(afterMs: Self.drainMs)
        case nil: leg.hangUp(afterMs: UInt64(min(leg.unplayedMs, OutsideConversation.farewellMs)) + Self.drainMs)
        default: leg.hangUp(afterMs: Self.drainMs / 3)
        }
    }

    private func finish() {
        phase = .over
        ticker?.cancel()
        ticker = nil
        outside?.close()
        host?.close()
        host = nil
        leg?.close()
        arrivedCallIDs = leg?.arrivedCallIDs ?? []
        leg = nil
        done?.resume()
        done = nil
    }

    // MARK: REFER

    /// Blind: the far end is asked to call another address instead of us.
    private func refer(_ choice: TransferChoice) -> Bool {
        guard let leg, let route = line.referral(call.company, settings, choice) else { return false }
        return leg.refer(to: route.requestURI, by: "sip:\(caller)@\(line.userAgent.advertised)")
    }

    private func referred(_ status: Int) {
        if let outside, outside.isReferring { return outside.referred(status) }
        switch status {
        case ..<200: host?.transfer.carrier(.accepted)
        case 200..<300: host?.transfer.carrier(.finished)
        default: host?.transfer.carrier(.failed("the far end says \(status)"))
        }
    }

    // MARK: A conversation that another server holds

    private func stream(to target: StreamTarget) {
        let outside = OutsideConversation(
            loop: loop, call: call, line: line, settings: settings, target: target, journal: journal,
            owner: .init(
                join: { [weak self, loop] stream, start in
                    let box = Confined(stream, to: loop)
                    self?.assumeIsolated { $0.leg?.open(box.value, start: start) }
                },
                refer: { [weak self] choice in self?.assumeIsolated { $0.refer(choice) } ?? false },
                converse: { [weak self] in self?.assumeIsolated { $0.takeOver() } },
                end: { [weak self] reason in self?.assumeIsolated { $0.conversationEndedElsewhere(reason) } }))
        self.outside = outside
        outside.begin()
    }

    /// Our own conversation goes on with what is left of the call's time.
    private func takeOver() {
        guard case .connected = phase else { return }
        var call = call
        let spentMs = loop.timeMs - min(loop.timeMs, answeredMs)
        call.maxDuration = max(Self.leastSeconds, call.maxDuration - Int(spentMs / 1_000))
        converse(start: start, call)
    }

    /// - Parameter reason: nil: as the other server wanted it.
    private func conversationEndedElsewhere(_ reason: EndReason?) {
        guard case .connected = phase else { return }
        let reason = outside == nil ? reason : outside?.reason(reason)
        outside?.close()
        journal.conversationEnded(nil, reason: reason, media: figures)
        leave(reason)
    }
}
