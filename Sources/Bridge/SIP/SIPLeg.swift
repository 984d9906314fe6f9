public import Net

/// One SIP call of ours with its media, to a callee, from a caller or to a person: offer and answer (the first ones and
/// those of re-INVITEs), hold, the far end's replacement (RFC 3891), REFER and the hang-up.
///
///     invite ──▶ calling ───answered──▶ connected ──▶ over
///     receive ─▶ incoming ──ACK───────▶     │
///                    └──── failed ◀─────────┘ ended
///
/// One INVITE may go to several telephones; the first to answer has the call. After `failed` the leg may `invite`
/// again, with the same RTP port. `hangUp` waits for the far end, with a limit; `close` does not wait. Confined to its
/// loop.
public final class SIPLeg {
    /// A BYE, CANCEL or failed INVITE that gets no answer ends the call after this, ms (RFC 3261 timer F is 32 s).
    static let hangUpLimitMs: UInt64 = 5_000

    private enum State: Equatable {
        case idle
        case calling
        /// It rings here; `answer` is what we will say.
        case incoming(answer: String, isOffer: Bool)
        case connected
        case over
    }
    private enum Leaving {
        case no
        /// BYE or CANCEL goes out then.
        case at(UInt64)
        /// ... and its answer must be there by then.
        case waiting(until: UInt64)
    }

    public let loop: EventLoop
    private let transport: any SIPTransport
    private let settings: Settings
    private let onEvent: (Event) -> Void
    private let session = UInt64.random(in: 1..<1 << 53)
    private var state = State.idle
    private var leaving = Leaving.no
    /// Telephones that ring, or the one that has the call.
    private var dialogs: [Int: Dialog] = [:]
    private var lastDialog = 0
    /// The one that has the call.
    private var current: Int?
    private var negotiation: OfferAnswer?
    /// We have offered in the answer to an empty re-INVITE.
    private var isOfferOpen = false
    private var rtp: RTPSession?
    private var media: Leg?
    private var ticker: EventLoop.Ticker?
    /// Call-IDs of the calls that came to us: the caller's, and of those who took the far end's place.
    public private(set) var arrivedCallIDs: [String] = []

    /// - Parameter onEvent: called on the loop.
    public init(loop: EventLoop, transport: any SIPTransport, settings: Settings, onEvent: @escaping (Event) -> Void) {
        self.loop = loop
        self.transport = transport
        self.settings = settings
        self.onEvent = onEvent
    }

    /// Of the dialog that has the call.
    public var callID: String? { current.flatMap { dialogs[$0]?.callID } }
    /// What has been counted of its RTP.
    public var statistics: RTPSession.Statistics? { rtp?.statistics }
    /// Milliseconds of sound that wait to be played.
    public var unplayedMs: Int { media?.unplayedMs ?? 0 }
    /// Frames between caller and stream that one side did not take in time: the caller's, and the stream's.
    public var dropped: (caller: Int, stream: Int) { (media?.dropped ?? 0, media?.refused ?? 0) }
    /// No far end is left.
    public var isGone: Bool { dialogs.isEmpty }

    // MARK: Beginning

    private func openMedia() throws(NetError) -> RTPSession {
        if let rtp { return rtp }
        let opened = try RTPSession(
            loop: loop, host: settings.rtpHost, ports: settings.rtpPorts, network: settings.network)
        rtp = opened
        return opened
    }

    private func negotiation(host: String, _ rtp: RTPSession, isSecure: Bool, peer: String?) -> OfferAnswer {
        OfferAnswer(host: host, port: rtp.localPort, isSecure: isSecure, session: session, peer: peer)
    }

    /// Calls one telephone, or several that ring together, each with the same offer.
    /// - Parameters:
    ///   - isSecure: the offer is SRTP.
    ///   - peer: host that the signalling goes to.
    /// - Throws: `NetError` where no RTP port is free.
    public func invite(_ invitations: [Invitation], isSecure: Bool, peer: String?) throws(NetError) {
        let rtp = try openMedia()
        let isInside = invitations.contains(where: \.isToOurselves)
        var negotiation = negotiation(
            host: isInside ? transport.inside.host : transport.advertised, rtp, isSecure: isSecure, peer: peer)
        let offer = negotiation.offer()
        self.negotiation = negotiation
        state = .calling
        for var invitation in invitations {
            invitation.sdp = offer
            let id = nextDialog()
            dialogs[id] = transport.invite(invitation, onEvent: listener(id))
        }
    }

    /// Takes a call that comes in, and lets it ring until `answer`.
    /// - Throws: what it was refused for, with the status.
    public func receive(_ call: IncomingCall) throws(Refusal) {
        let rtp: RTPSession
        do throws(NetError) { rtp = try openMedia() } catch { throw refuse(call, 503, error.message) }
        var negotiation = negotiation(
            host: transport.advertised, rtp, isSecure: settings.requiresSRTP, peer: call.source)
        // Without a body it is we who offer, in the answer.
        if let sdp = call.sdp {
            do throws(SDPError) {
                let (body, terms) = try negotiation.answer(sdp)
                rtp.negotiate(terms)
                state = .incoming(answer: body, isOffer: false)
            } catch { throw refuse(call, 488, error.message) }
        } else {
            state = .incoming(answer: negotiation.offer(), isOffer: true)
        }
        self.negotiation = negotiation
        take(call)
        call.dialog.ring()
    }

    private func refuse(_ call: IncomingCall, _ status: Int, _ message: String) -> Refusal {
        call.dialog.reject(status)
        return Refusal(status: status, message: message)
    }

    /// Answers the call that came in; `answered` follows with the ACK.
    public func answer() {
        guard case .incoming(let body, _) = state, let current else { return }
        dialogs[current]?.answer(sdp: body)
    }

    private func nextDialog() -> Int {
        lastDialog += 1
        return lastDialog
    }

    private func listener(_ id: Int) -> @Sendable (DialogEvent) -> Void {
        let me = Confined(self, to: loop), loop = loop
        return { event in loop.post { me.value.handle(event, of: id) } }
    }

    /// The call is the far end's side from now on.
    private func take(_ call: IncomingCall) {
        let id = nextDialog()
        dialogs[id] = call.dialog
        current = id
        arrivedCallIDs.append(call.dialog.callID)
        call.dialog.listen(listener(id))
    }

    // MARK: Media

    /// Joins the leg with a media stream, in place of the one that it is joined with.
    public func open(_ stream: any MediaStream, start: StreamStart) {
        guard state == .connected, let rtp else { return stream.close() }
        if let media { return media.change(to: stream, start: start) }
        let media = Leg(rtp: rtp, stream: stream, start: start)
        self.media = media
        media.onFailure = { [weak self] in self?.onEvent(.mediaFailed($0)) }
        media.onStop = { [weak self] in self?.onEvent(.stopped) }
        media.open()
    }

    /// From now on the other end of the stream is a person: what lags is dropped.
    public func relay() { media?.relay(true) }

    private func take(_ terms: MediaTerms, _ rtp: RTPSession) {
        rtp.negotiate(terms)
        media?.setHeld(terms.isHeld)
        onEvent(.held(terms.isHeld))
    }

    // MARK: Events

    private func handle(_ event: DialogEvent, of id: Int) {
        guard state != .over, let dialog = dialogs[id] else {
            // This leg has no far end that the call could replace.
            if case .replaced(let call) = event { call.dialog.reject(603) }
            return
        }
        switch event {
        case .progress: if current == nil { onEvent(.ringing) }
        case .answered(let sdp): answered(dialog, id, sdp)
        case .acknowledged(let sdp): if id == current { acknowledged(dialog, sdp) }
        case .reoffer(let sdp): if id == current { reoffer(dialog, sdp) }
        case .replaced(let call): replaced(dialog, id, by: call)
        case .referral(let status): if id == current { onEvent(.referral(status: status)) }
        case .referralRequested(let referral): if id == current { onEvent(.referralRequested(referral)) }
        case .reanswered, .reofferRefused: break
        case .cancelled: gone(id, .cancelled)
        case .failed(let status, let phrase, _, let contact):
            gone(id, .refused(status: status, phrase: phrase, contact: contact))
        case .ended(let byRemote):
            if case .incoming = state, byRemote { gone(id, .cancelled) } else { gone(id, .lost) }
        }
    }

    /// A dialog is over. Where none is left, so is the call.
    private func gone(_ id: Int, _ failure: Failure) {
        dialogs[id] = nil
        if dialogs.isEmpty { stopLeaving() }
        if state == .connected {
            if id == current { onEvent(.ended) }
        } else if dialogs.isEmpty {
            current = nil
            onEvent(.failed(failure))
        }
    }

    private func answered(_ dialog: Dialog, _ id: Int, _ sdp: String?) {
        // It crossed our CANCEL: the transport ends it.
        guard state == .calling, case .no = leaving, let rtp else { return }
        do throws(SDPError) {
            guard let terms = try negotiation?.accept(sdp) else { return }
            rtp.negotiate(terms)
        } catch {
            dialog.hangUp()
            return gone(id, .unacceptable(error.message))
        }
        current = id
        for other in dialogs where other.key != id { other.value.hangUp() }
        dialogs = [id: dialog]
        connected(dialog, rtp)
    }

    private func acknowledged(_ dialog: Dialog, _ sdp: String?) {
        guard let rtp else { return }
        switch state {
        case .connected:
            guard isOfferOpen else { return }
            isOfferOpen = false
            // What cannot be taken changes nothing (RFC 3261 §14.1 leaves the session as it was).
            if let terms = try? negotiation?.accept(sdp) { take(terms, rtp) }
        case .incoming(_, let isOffer):
            if isOffer {
                do throws(SDPError) {
                    guard let terms = try negotiation?.accept(sdp) else { return }
                    rtp.negotiate(terms)
                } catch {
                    dialog.hangUp()
                    if let current { gone(current, .unacceptable(error.message)) }
                    return
                }
            }
            connected(dialog, rtp)
        case .idle, .calling, .over: break
        }
    }

    private func connected(_ dialog: Dialog, _ rtp: RTPSession) {
        state = .connected
        rtp.begin()
        if settings.acceptsReferrals { dialog.acceptReferrals() }
        onEvent(.answered)
    }

    /// A re-INVITE: hold, resume, or a new address. We answer with the law in use.
    private func reoffer(_ dialog: Dialog, _ sdp: String?) {
        guard state == .connected, let rtp else { return dialog.reject(488) }
        guard let sdp else {
            // An empty re-INVITE asks for our offer; the ACK brings the answer.
            isOfferOpen = true
            return dialog.answer(sdp: negotiation?.offer() ?? "")
        }
        guard let (body, terms) = try? negotiation?.answer(sdp) else { return dialog.reject(488) }
        dialog.answer(sdp: body)
        take(terms, rtp)
    }

    /// Another dialog takes the far end's place; the call goes on in it.
    private func replaced(_ former: Dialog, _ id: Int, by call: IncomingCall) {
        guard state == .connected, id == current, case .no = leaving, let rtp else { return call.dialog.reject(481) }
        var negotiation = negotiation(
            host: call.isFromOurselves ? transport.inside.host : transport.advertised, rtp,
            isSecure: settings.requiresSRTP, peer: call.source)
        guard let sdp = call.sdp, let (body, terms) = try? negotiation.answer(sdp) else {
            return call.dialog.reject(488)
        }
        self.negotiation = negotiation
        isOfferOpen = false
        take(call)
        if settings.acceptsReferrals { call.dialog.acceptReferrals() }
        call.dialog.answer(sdp: body)
        dialogs[id] = nil
        former.hangUp()
        take(terms, rtp)
        onEvent(.replaced)
    }

    // MARK: REFER

    /// Asks the far end to call another address instead of us. False: there is no far end.
    public func refer(to uri: String, by referrer: String) -> Bool {
        guard state == .connected, case .no = leaving, let current, let dialog = dialogs[current] else { return false }
        dialog.refer(to: uri, by: referrer)
        return true
    }

    /// Tells the far end how the call goes that it asked us to make.
    public func report(_ status: Int, reference: UInt32) {
        if let current { dialogs[current]?.report(status, reference: reference) }
    }

    // MARK: The end

    /// Gives the call up: CANCEL before the answer, 480 where it rings here, BYE after the answer. `failed` or `ended`
    /// follows, 5 s later at the latest.
    /// - Parameter ms: until then what we have said may play to its end.
    public func hangUp(afterMs ms: UInt64 = 0) {
        guard state != .over, case .no = leaving else { return }
        guard !dialogs.isEmpty else { return onEvent(state == .connected ? .ended : .failed(.lost)) }
        leaving = .at(loop.timeMs + ms)
        if ms == 0 { tick(loop.timeMs) }
        ticker = loop.addTicker { [weak self] now in self?.tick(now) }
    }

    private func tick(_ now: UInt64) {
        switch leaving {
        case .no: break
        case .at(let due):
            guard now >= due else { return }
            leaving = .waiting(until: now + Self.hangUpLimitMs)
            media?.close()
            media = nil
            for dialog in dialogs.values { dialog.hangUp() }
        case .waiting(let until):
            guard now >= until else { return }
            stopLeaving()
            dialogs = [:]
            onEvent(
                state == .connected
                    ? .ended : .failed(.refused(status: 408, phrase: "no response", contact: nil)))
        }
    }

    private func stopLeaving() {
        leaving = .no
        ticker?.cancel()
        ticker = nil
    }

    /// Ends whatever there is, without a word.
    public func close() {
        guard state != .over else { return }
        state = .over
        stopLeaving()
        for dialog in dialogs.values { dialog.hangUp() }
        dialogs = [:]
        current = nil
        if let media { media.close() } else { rtp?.close() }
        media = nil
    }
}
