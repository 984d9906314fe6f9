// Over 400 lines: one call attempt from INVITE to BYE, in the order of its states.
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
    /// Milliseconds between the last sample played and BYE: the callee's own jitter buffer is drained too.
    private static let drainMs: UInt64 = 300
    /// A BYE, CANCEL or failed INVITE that gets no answer ends the call after this, ms (RFC 3261 timer F is 32 s).
    private static let hangUpLimitMs: UInt64 = 5_000

    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let call: Call
    private let line: CallLine
    private let settings: CallSettings
    private let now: @Sendable () -> Date
    private let journal: CallJournal
    private var logger: Logger { journal.logger }

    /// Redirections followed in one call.
    private static let redirectLimit = 3

    /// Where the call goes now, and where it may go if that fails.
    private var route: Routing.SIPRoute?
    private var routes: [Routing.SIPRoute] = []
    private var redirects = 0
    private var round = 0
    private let begunAt = Date()
    private var negotiation: OfferAnswer?
    /// The call came in by it.
    private let incoming: IncomingCall?
    /// Whom it is for, where that is a person who may be rung.
    private let person: Handover.Target?
    /// He has answered: the other end of his leg.
    private var personStream: (any MediaStream)?
    private(set) var desk: TransferDesk?
    /// When a call that rings with us is answered.
    private var answerAt: UInt64?
    private var dialog: Dialog?
    private var rtp: RTPSession?
    private var leg: Leg?
    private(set) var graph: CallGraph?
    private var ticker: EventLoop.Ticker?
    private var ringDeadline: UInt64 = 0
    private var hangUpAt: UInt64?
    private var giveUpAt: UInt64?
    private var transferDeadline: UInt64?
    /// We have offered in the answer to an empty re-INVITE.
    private var isOfferOpen = false
    /// Call-IDs of those who took the far end's place.
    private var takenOverBy: [String] = []
    /// By its gateway, not straight to an address.
    private var goesThroughTrunk: Bool { incoming == nil && !call.remoteNumber.lowercased().hasPrefix("sip:") }
    /// A provisional answer has come.
    private var hasRung = false
    private var isConnected = false
    private var isCancelled = false
    private var didRingTimeOut = false
    private var isFinished = false
    private var outcome: Outcome?
    private var pendingEnd: EndReason?
    private var done: CheckedContinuation<Void, Never>?

    init(
        loop: EventLoop, call: Call, line: CallLine, settings: CallSettings, now: @escaping @Sendable () -> Date,
        incoming: IncomingCall? = nil,
        person: Handover.Target? = nil
    ) {
        self.incoming = incoming
        self.person = person
        self.loop = loop
        self.call = call
        self.line = line
        self.settings = settings
        self.now = now
        journal = CallJournal(
            call, carrier: "sip", store: line.store, settings: settings, logger: line.logger, now: now)
    }

    // MARK: Commands

    func run() async {
        await withCheckedContinuation { continuation in
            done = continuation
            if let incoming { receive(incoming) } else { begin() }
        }
        line.levels.end(call.id)
        await journal.close()
        // The answer to a BYE is part of it.
        Task { [line, call, begunAt] in
            try? await Task.sleep(for: .milliseconds(500))
            // An INVITE that came was there before we were; an attempt before this one has kept its own.
            let since = incoming == nil ? begunAt : .distantPast
            let callIDs = Set([incoming?.dialog.callID ?? ""] + takenOverBy)
            let messages = line.userAgent.trace.messages(of: callIDs, holding: call.id).filter {
                $0.at >= since
            }
            do { try await line.store.appendTrace(messages, to: call.id) } catch {
                line.logger.error(
                    "the SIP messages of a call cannot be kept: \(error)", metadata: ["call": "\(call.id)"])
            }
        }
    }

    func cancel() {
        guard !isConnected, !isFinished else { return }
        isCancelled = true
        hangUp()
    }

    func hangUp(_ reason: EndReason) {
        guard isConnected else { return cancel() }
        if let graph { graph.finish(reason) } else { conversationEnded(nil, reason: reason) }
    }

    // MARK: Dialling

    private func begin() {
        let route: Routing.SIPRoute
        do throws(Routing.Refusal) {
            guard case .sip(let found) = try settings.routing.route(to: call.remoteNumber) else {
                return attemptEnded(AttemptOutcome(state: .failed, reason: "the number is not reached by SIP"))
            }
            route = found
        } catch {
            return attemptEnded(AttemptOutcome(state: .failed, reason: error.message))
        }
        let rtp: RTPSession
        do throws(NetError) { rtp = try RTPSession(loop: loop, host: settings.rtpHost, ports: settings.rtpPorts) } catch
        {
            return attemptEnded(AttemptOutcome(state: .failed, reason: error.message))
        }
        self.rtp = rtp
        routes = line.trunks?.ordered(route) ?? [route] + route.alternatives
        ringDeadline = EventLoop.nowMs() + UInt64(max(1, settings.ringTimeout) * 1_000)
        ticker = loop.addTicker { [weak self] now in self?.assumeIsolated { $0.tick(now) } }
        invite(through: routes.removeFirst(), rtp)
        logger.info("dialling", metadata: ["attempt": "\(call.attempts.count)"])
    }

    private func invite(through route: Routing.SIPRoute, _ rtp: RTPSession) {
        self.route = route
        let id = call.id
        let callID = "outbound-\(id)-\(ShortID.random())"
        journal.placed(providerCallID: callID)
        let host = line.userAgent.advertised
        var negotiation = OfferAnswer(
            host: host, port: rtp.localPort, isSecure: settings.srtp.isOffered(over: route.isSecure),
            session: sessionID,
            peer: route.host)
        let offer = negotiation.offer()
        self.negotiation = negotiation
        let display = UserAgentText.quoted(call.brief.callerDisplayName)
        let caller = Routing.normalize(call.localNumber) ?? "anonymous"
        let invitation = Invitation(
            requestURI: route.requestURI,
            from: "\(display)<sip:\(caller)@\(host)>;tag=outb-\(ShortID.random())",
            to: "<\(route.requestURI)>",
            callID: callID, proxy: route.proxy, sdp: offer, headers: [("X-Outbound-Call-ID", id)],
            credentials: route.credentials)
        let loop = loop
        round += 1
        dialog = line.userAgent.invite(invitation) { [weak self, round] event in
            loop.post { [weak self] in self?.assumeIsolated { $0.handle(event, of: round) } }
        }
    }

    /// Where a call that failed is tried next: another trunk, or where the callee's side says he is. False: nowhere.
    private func goesElsewhere(_ status: Int, _ contact: String?) -> Bool {
        guard let rtp, !isCancelled, !didRingTimeOut, incoming == nil else { return false }
        if let route { line.trunks?.note(route, hasFailed: TrunkKeeper.isWorthAnother(status) && !hasRung) }
        if TrunkKeeper.isWorthAnother(status), !hasRung, !routes.isEmpty {
            logger.warning("a trunk does not take the call: the next one is tried", metadata: ["status": "\(status)"])
            invite(through: routes.removeFirst(), rtp)
            return true
        }
        if (300..<400).contains(status), let contact, let next = settings.routing.redirect(to: contact, from: route),
            redirects < Self.redirectLimit
        {
            redirects += 1
            invite(through: next, rtp)
            return true
        }
        return false
    }

    /// Of the call that came in.
    func handleIncoming(_ event: DialogEvent) { handle(event, of: 0) }

    private func handle(_ event: DialogEvent, of round: Int) {
        // What an attempt at another trunk still has to say is of no interest.
        guard round == self.round else { return }
        if case .failed(let status, _, _, let contact) = event, !isConnected, goesElsewhere(status, contact) { return }
        handle(event)
    }

    // MARK: Answering

    private func receive(_ incoming: IncomingCall) {
        // Gave up before we had begun.
        guard !isFinished else { return finish() }
        dialog = incoming.dialog
        journal.arrived(call)
        do throws(NetError) { rtp = try RTPSession(loop: loop, host: settings.rtpHost, ports: settings.rtpPorts) } catch
        {
            return refuse(503, error.message)
        }
        var negotiation = OfferAnswer(
            host: line.userAgent.advertised, port: rtp?.localPort ?? 0, isSecure: settings.srtp == .required,
            session: sessionID,
            peer: incoming.source)
        // Without a body it is we who offer, in the answer.
        if let sdp = incoming.sdp {
            do throws(SDPError) {
                let (body, terms) = try negotiation.answer(sdp)
                rtp?.negotiate(terms)
                answer = body
            } catch {
                return refuse(488, error.message)
            }
        } else {
            answer = negotiation.offer()
        }
        self.negotiation = negotiation
        incoming.dialog.ring()
        ringDeadline = .max
        ticker = loop.addTicker { [weak self] now in self?.assumeIsolated { $0.tick(now) } }
        logger.info("a call comes in")
        guard let person else {
            answerAt = EventLoop.nowMs() + UInt64(max(0, settings.inbound.ringSeconds) * 1_000)
            return
        }
        desk = makeDesk()
        desk?.ring(person) { [weak self, loop] stream in
            let stream = Confined(stream, to: loop)
            self?.assumeIsolated { $0.personDecided(stream.value) }
        }
    }

    /// The person has answered, or the AI takes the call in his place.
    private func personDecided(_ stream: (any MediaStream)?) {
        guard !isFinished, !isConnected else {
            stream?.close()
            return
        }
        personStream = stream
        dialog?.answer(sdp: answer)
    }

    private func makeDesk() -> TransferDesk {
        TransferDesk(loop: loop, line: line, settings: settings, journal: journal, call: call) { [weak self] choice in
            self?.assumeIsolated { $0.refer(choice) } ?? false
        }
    }

    /// What a call that came in is answered with.
    private var answer = ""
    private lazy var sessionID = UInt64(max(0, now().timeIntervalSince1970))
    private func refuse(_ status: Int, _ reason: String) {
        dialog?.reject(status)
        attemptEnded(AttemptOutcome(state: .failed, code: status, reason: reason))
    }

    /// The ACK: media may flow.
    private func acknowledged(_ sdp: String?) {
        if isConnected, isOfferOpen { return answeredReoffer(sdp) }
        guard let incoming, !isConnected, let rtp else { return }
        if incoming.sdp == nil {
            do throws(SDPError) {
                guard let terms = try negotiation?.accept(sdp) else { return }
                rtp.negotiate(terms)
            } catch {
                dialog?.hangUp()
                return attemptEnded(AttemptOutcome(state: .failed, code: 488, reason: error.message))
            }
        }
        connected(rtp)
    }

    private func tick(_ now: UInt64) {
        if let at = answerAt, now >= at {
            answerAt = nil
            dialog?.answer(sdp: answer)
        }
        if !isConnected, !isFinished, now >= ringDeadline, !didRingTimeOut, !isCancelled {
            didRingTimeOut = true
            hangUp()
        }
        if let at = transferDeadline, now >= at { transferFailed("nobody answered") }
        if let at = hangUpAt, now >= at {
            hangUpAt = nil
            leg?.close()
            hangUp()
        }
        if let at = giveUpAt, now >= at {
            giveUpAt = nil
            handle(
                isConnected
                    ? .ended(byRemote: false) : .failed(status: 408, phrase: "no response", retryAfterSeconds: nil))
        }
    }

    private func hangUp() {
        answerAt = nil
        guard let dialog else { return attemptEnded(AttemptOutcome(state: .cancelled, reason: "cancelled")) }
        dialog.hangUp()
        if giveUpAt == nil { giveUpAt = EventLoop.nowMs() + Self.hangUpLimitMs }
    }

    private func handle(_ event: DialogEvent) {
        guard !isFinished else {
            if case .replaced(let call) = event { call.dialog.reject(603) }
            return
        }
        switch event {
        case .progress:
            hasRung = true
            journal.ringing()
        case .answered(let sdp):
            if goesThroughTrunk { line.trunk.worked() }
            if let route { line.trunks?.note(route, hasFailed: false) }
            answered(sdp)
        case .acknowledged(let sdp): acknowledged(sdp)
        case .reoffer(let sdp): reoffer(sdp)
        case .replaced(let call): replaced(by: call)
        case .cancelled where isConnected: handle(.ended(byRemote: true))
        case .cancelled:
            attemptEnded(AttemptOutcome(state: .failed, code: 487, reason: "the caller gave up before the answer"))
        case .referral(let status): referred(status)
        case .reanswered, .reofferRefused, .referralRequested: break
        case .failed(let status, let phrase, _, _):
            guard !isConnected else { return conversationEnded(outcome, reason: .providerError) }
            attemptEnded(AttemptOutcome(sipStatus: status, phrase: phrase))
        case .ended:
            guard isConnected else {
                return attemptEnded(AttemptOutcome(state: .failed, reason: "the far end gave the call up"))
            }
            if outcome != nil || pendingEnd != nil {
                finishConversation()
            } else if let graph {
                graph.farEndLeft()
                giveUpAt = nil
                dialog = nil
            } else {
                conversationEnded(nil, reason: .calleeHangup)
                finishConversation()
            }
        }
    }

    private func attemptEnded(_ ended: AttemptOutcome) {
        guard !isFinished else { return }
        isFinished = true
        closeMedia()
        if incoming != nil, dialog == nil { return finish() }
        if goesThroughTrunk, !isCancelled, !didRingTimeOut || !hasRung { line.trunk.took(ended, hasRung: hasRung) }
        var ended = ended
        if isCancelled {
            ended = AttemptOutcome(state: .cancelled, code: ended.code, reason: "cancelled by an operator")
        } else if didRingTimeOut {
            ended = AttemptOutcome(
                state: .noAnswer, code: ended.code, reason: "not answered within \(Int(settings.ringTimeout)) s")
        }
        journal.attemptEnded(ended)
        finish()
    }

    // MARK: Transfer

    /// Blind: the far end is asked to call the operator instead of us.
    private func refer(_ choice: TransferChoice) -> Bool {
        let routes =
            if case .anybody = choice, let number = settings.operatorNumber {
                line.targets(settings, choice: .number(number))
            } else {
                line.targets(settings, choice: choice)
            }
        guard let dialog, let route = routes.first?.routes.first else { return false }
        transferDeadline = EventLoop.nowMs() + UInt64(max(1, settings.ringTimeout) * 1_000)
        dialog.refer(
            to: route.requestURI,
            by: "sip:\(Routing.normalize(call.localNumber) ?? "anonymous")@\(line.userAgent.advertised)")
        return true
    }

    private func referred(_ status: Int) {
        switch status {
        case ..<200: graph?.transferAccepted()
        case 200..<300: graph?.finish(.transferred)
        default: transferFailed("the far end says \(status)")
        }
    }

    private func transferFailed(_ reason: String) {
        transferDeadline = nil
        graph?.transferFailed(reason)
    }

    // MARK: The conversation

    private func answered(_ sdp: String?) {
        guard !isConnected, let rtp else { return }
        do throws(SDPError) {
            guard let terms = try negotiation?.accept(sdp) else { return }
            rtp.negotiate(terms)
        } catch {
            dialog?.hangUp()
            return attemptEnded(AttemptOutcome(state: .failed, code: 488, reason: error.message))
        }
        connected(rtp)
    }

    private func connected(_ rtp: RTPSession) {
        isConnected = true
        rtp.begin()
        journal.connected()
        let id = call.id
        let start = StreamStart(
            streamID: "MZ" + id.replacing("-", with: ""), callID: dialog?.callID ?? id, parameters: streamParameters())
        if let url = settings.streamURL {
            stream(to: url, start: start, rtp: rtp)
        } else {
            converse(start: start, rtp: rtp)
        }
    }

    private func converse(start: StreamStart, rtp: RTPSession) {
        let pair = MediaStreamPair.make()
        let recording = journal.recordingName.flatMap {
            Recording.begin(in: settings.recordingsFolder, named: $0, for: journal)
        }
        let loop = loop
        let graph = CallGraph(
            loop: loop, stream: pair.application, modes: line.modes(call.brief.language, journal.usage),
            brief: call.brief,
            settings: settings.conversation(of: call, canTransfer: TransferDesk.hasSomebody(line, settings)),
            usage: journal.usage,
            levels: line.levels.begin(call.id), recording: recording
        ) { [weak self] event in
            self?.assumeIsolated { $0.handle(event) }
        }
        self.graph = graph
        let desk = desk ?? makeDesk()
        desk.graph = graph
        self.desk = desk
        graph.start(with: personStream)
        personStream = nil
        open(Leg(rtp: rtp, stream: pair.carrier, start: start))
    }

    /// Streams the leg into another process instead (`bridge.stream_url`).
    private func stream(to url: String, start: StreamStart, rtp: RTPSession) {
        guard let target = StreamTarget(url, settings, start) else {
            return streamFailed("bridge.stream_url is no ws: URL")
        }
        Task {
            // Names are resolved off the loop.
            let resolved = await Task.detached {
                Result { try SocketAddress.resolve(target.url.host, port: target.url.port) }
            }
            .value
            guard !isFinished else { return }
            switch resolved {
            case .failure(let error): streamFailed("\(error)")
            case .success(let address):
                let socket = loop.connect(target.url, address: address, headers: target.headers)
                let media: WebSocketMediaStream
                do throws(MediaStreamError) { media = try target.stream(over: socket) } catch {
                    socket.close()
                    return streamFailed(error.reason)
                }
                let leg = Confined(Leg(rtp: rtp, stream: media, start: target.start), to: loop)
                media.onClose = { [weak self] reason in self?.assumeIsolated { $0.streamFailed(reason) } }
                socket.onOpen = { [weak self] in self?.assumeIsolated { $0.open(leg.value) } }
            }
        }
    }

    private func streamFailed(_ reason: String) {
        guard !isFinished else { return }
        logger.error("the media stream failed: \(reason)")
        conversationEnded(nil, reason: .providerError)
    }

    private func streamParameters() -> [String: String] {
        guard settings.streamURL != nil else { return [:] }
        var parameters = ["outbound_id": call.id]
        if let brief = try? JSONEncoder().encode(call.brief) {
            parameters["brief"] = String(decoding: brief, as: UTF8.self)
        }
        return parameters
    }

    private func open(_ leg: Leg) {
        self.leg = leg
        leg.onFailure = { [weak self] failure in self?.assumeIsolated { $0.legFailed(failure) } }
        leg.open()
    }

    private func legFailed(_ failure: Leg.Failure) {
        switch failure {
        case .mediaTimeout:
            // On hold while it calls the operator.
            if transferDeadline != nil { return }
            if let graph { graph.finish(.mediaTimeout) } else { conversationEnded(nil, reason: .mediaTimeout) }
        case .streamClosed(let reason):
            guard graph == nil else { return }  // its own end is reported by the graph
            logger.info("the stream's far end is done: \(reason)")
            conversationEnded(nil, reason: nil)
        }
    }

    /// A re-INVITE: hold, resume, or a new address. We answer with the law in use.
    private func reoffer(_ sdp: String?) {
        guard let rtp, let dialog else { return }
        guard let sdp else {
            // An empty re-INVITE asks for our offer; the ACK brings the answer.
            isOfferOpen = true
            return dialog.answer(sdp: negotiation?.offer() ?? "")
        }
        guard let (body, terms) = try? negotiation?.answer(sdp) else { return dialog.reject(488) }
        take(terms, rtp)
        dialog.answer(sdp: body)
    }

    private func take(_ terms: MediaTerms, _ rtp: RTPSession) {
        rtp.negotiate(terms)
        graph?.setHeld(terms.isHeld)
        leg?.setHeld(terms.isHeld)
    }

    private func answeredReoffer(_ sdp: String?) {
        isOfferOpen = false
        // What cannot be taken changes nothing (RFC 3261 §14.1 leaves the session as it was).
        guard let rtp, let terms = try? negotiation?.accept(sdp) else { return }
        take(terms, rtp)
    }

    /// Somebody else takes the far end's place: the conversation goes on with him.
    private func replaced(by call: IncomingCall) {
        guard isConnected, pendingEnd == nil, let rtp, let former = dialog else { return call.dialog.reject(481) }
        var negotiation = OfferAnswer(
            host: call.isFromOurselves ? line.userAgent.inside.host : line.userAgent.advertised, port: rtp.localPort,
            isSecure: settings.srtp == .required, session: sessionID, peer: call.source)
        guard let sdp = call.sdp, let (body, terms) = try? negotiation.answer(sdp) else {
            return call.dialog.reject(488)
        }
        self.negotiation = negotiation
        isOfferOpen = false
        round += 1
        let loop = loop
        call.dialog.listen { [weak self, round] event in
            loop.post { [weak self] in self?.assumeIsolated { $0.handle(event, of: round) } }
        }
        dialog = call.dialog
        takenOverBy.append(call.dialog.callID)
        take(terms, rtp)
        call.dialog.answer(sdp: body)
        former.hangUp()
        logger.info("another end took the far end's place")
    }

    private func handle(_ event: CallGraph.Event) {
        if case .transfer = event { desk?.begin() }
        if let outcome = journal.took(event) { conversationEnded(outcome, reason: outcome.endReason) }
    }

    private func conversationEnded(_ outcome: Outcome?, reason: EndReason?) {
        guard !isFinished, self.outcome == nil, pendingEnd == nil else { return }
        self.outcome = outcome
        pendingEnd = reason ?? .taskCompleted
        journal.conversationEnded(outcome, reason: reason, media: mediaFigures())
        if dialog == nil {
            finishConversation()
        } else {
            hangUpAt = EventLoop.nowMs() + (reason == .taskCompleted ? Self.drainMs : Self.drainMs / 3)
        }
    }

    private func finishConversation() {
        guard !isFinished else { return }
        isFinished = true
        closeMedia()
        finish()
    }

    private func mediaFigures() -> Call.MediaFigures? {
        guard let counted = rtp?.statistics else { return nil }
        var figures = Call.MediaFigures()
        figures.received = counted.received
        figures.sent = counted.sent
        figures.lost = counted.lost
        figures.late = counted.late
        figures.concealed = counted.concealed
        let tenths = { (value: Double) in (value * 10).rounded() / 10 }
        figures.jitterMs = tenths(counted.jitterMs)
        figures.roundTripMs = counted.roundTripMs.map(tenths)
        figures.opinionScore = counted.opinionScore.map { ($0 * 100).rounded() / 100 }
        return figures
    }

    private func closeMedia() {
        ticker?.cancel()
        ticker = nil
        desk?.close()
        desk = nil
        personStream?.close()
        personStream = nil
        if let leg { leg.close() } else { rtp?.close() }
        leg = nil
        rtp = nil
    }

    private func finish() {
        dialog = nil
        graph = nil
        done?.resume()
        done = nil
    }
}

/// Display names in SIP headers (RFC 3261 §25.1 quoted-string).
enum UserAgentText {
    static func quoted(_ name: String) -> String {
        let safe = name.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }.prefix(64)
        guard !safe.isEmpty else { return "" }
        let escaped = String(String.UnicodeScalarView(safe)).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(escaped)\" "
    }
}
