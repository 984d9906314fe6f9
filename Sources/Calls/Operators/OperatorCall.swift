internal import Bridge
internal import Foundation
internal import Logging
internal import Net
internal import Pipeline
internal import Store

/// A call of ours to a person: all his phones ring, and the first to answer has it. Confined to its loop.
final class OperatorCall {
    enum Event {
        /// The other end of the person's leg.
        case answered(any MediaStream)
        /// Nobody answered; the reason is for the record.
        case failed(String)
        case held(Bool)
        /// The person wants the caller sent on.
        case referral(Referral)
        /// Was answered, and has hung up; or his line is dead.
        case ended
    }

    let loop: EventLoop
    private let line: CallLine
    private let settings: CallSettings
    private let onEvent: (Event) -> Void
    private var dialogs: [Dialog] = []
    private var answered: Dialog?
    private var rtp: RTPSession?
    private var leg: Leg?
    private var ticker: EventLoop.Ticker?
    private var deadline: UInt64 = 0
    private var isOver = false
    private var negotiation: OfferAnswer?
    private var isOfferOpen = false
    private var lastFailure = "none of the phones could be reached"

    init(loop: EventLoop, line: CallLine, settings: CallSettings, onEvent: @escaping (Event) -> Void) {
        self.loop = loop
        self.line = line
        self.settings = settings
        self.onEvent = onEvent
    }

    /// - Parameters:
    ///   - routes: where his phones are; they ring together.
    ///   - caller: number and name that the phones show.
    ///   - place: whose place the caller takes there, instead of ringing.
    func ring(
        _ routes: [Routing.SIPRoute], caller: (number: String, name: String), id: String, seconds: Int,
        place: Handover.Place? = nil
    ) {
        guard !routes.isEmpty else { return fail("no phone is registered") }
        do throws(NetError) { rtp = try RTPSession(loop: loop, host: settings.rtpHost, ports: settings.rtpPorts) } catch
        {
            return fail(error.message)
        }
        deadline = EventLoop.nowMs() + UInt64(clamping: max(1, seconds)) * 1_000
        let me = Confined(self, to: loop), loop = loop
        ticker = loop.addTicker { now in me.value.tick(now) }
        let isInside = place?.isOurs ?? false
        let host = isInside ? line.userAgent.inside.host : line.userAgent.advertised
        var negotiation = OfferAnswer(
            host: host, port: rtp?.localPort ?? 0,
            isSecure: settings.srtp.isOffered(over: routes.allSatisfy(\.isSecure)),
            peer: routes.map(\.host).first { SocketAddress.isLoopback($0) })
        let offer = negotiation.offer()
        self.negotiation = negotiation
        let user = Routing.normalize(caller.number) ?? "anonymous"
        for route in routes {
            let index = dialogs.count
            var invitation = Invitation(
                requestURI: route.requestURI,
                from:
                    "\(UserAgentText.quoted(caller.name))<sip:\(user)@\(host)>;tag=oper-\(ShortID.random())",
                to: "<\(route.requestURI)>", callID: "operator-\(id)-\(ShortID.random())",
                proxy: route.proxy,
                sdp: offer,
                headers: [("X-Trunkline-Call-ID", id)]
                    + (place.map { [("Replaces", $0.replaces), ("Require", "replaces")] } ?? []),
                credentials: route.credentials)
            invitation.isToOurselves = isInside
            dialogs.append(
                line.userAgent.invite(invitation) { event in
                    loop.post { me.value.handle(event, of: index) }
                })
        }
    }

    private func tick(_ now: UInt64) {
        guard answered == nil, now >= deadline else { return }
        fail("nobody answered")
    }

    private func handle(_ event: DialogEvent, of place: Int) {
        guard dialogs.indices.contains(place) else { return }
        let dialog = dialogs[place]
        guard !isOver else {
            if case .answered = event { dialog.hangUp() }
            if case .replaced(let call) = event { call.dialog.reject(603) }
            return
        }
        switch event {
        case .replaced(let call): replaced(dialog, by: call)
        case .acknowledged(let sdp): acknowledged(sdp, dialog)
        case .progress, .cancelled, .reanswered, .reofferRefused, .referral: break
        case .answered(let sdp): answered(dialog, sdp)
        case .failed(let status, _, _, _):
            guard answered == nil else { return }
            lastFailure = Self.reason(status)
            gone(place)
        case .ended:
            if answered == dialog { return end() }
            gone(place)
        case .reoffer(let sdp): if answered == dialog { reoffer(sdp, dialog) }
        case .referralRequested(let referral): if answered == dialog { onEvent(.referral(referral)) }
        }
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 486, 600: "busy"
        case 408, 480, 487: "nobody answered"
        case 603, 607, 608: "declined"
        default: "the phone says \(status)"
        }
    }

    /// One of his phones will not answer. One that declines (6xx) could end it for all (RFC 3261 §16.7), but another
    /// may be somebody else's hand.
    private var silent: Set<Int> = []
    private func gone(_ place: Int) {
        silent.insert(place)
        if silent.count == dialogs.count, answered == nil { fail(lastFailure) }
    }

    private func answered(_ dialog: Dialog, _ sdp: String?) {
        guard answered == nil else { return dialog.hangUp() }
        guard let rtp, let terms = try? negotiation?.accept(sdp) else {
            lastFailure = "no codec in common, or not secured"
            dialog.hangUp()
            return
        }
        answered = dialog
        for other in dialogs where other != dialog { other.hangUp() }
        ticker?.cancel()
        ticker = nil
        rtp.negotiate(terms)
        let pair = MediaStreamPair.make()
        let leg = Leg(
            rtp: rtp, stream: pair.carrier, start: StreamStart(streamID: "MZ" + dialog.callID, callID: dialog.callID))
        self.leg = leg
        leg.onFailure = { [weak self] _ in self?.end() }
        leg.open()
        dialog.acceptReferrals()
        onEvent(.answered(pair.application))
    }

    /// From now on he talks with the caller: what lags is dropped.
    func relay() { leg?.relay(true) }

    private func reoffer(_ sdp: String?, _ dialog: Dialog) {
        guard let sdp else {
            isOfferOpen = true
            return dialog.answer(sdp: negotiation?.offer() ?? "")
        }
        guard let rtp, let (body, terms) = try? negotiation?.answer(sdp) else { return dialog.reject(488) }
        dialog.answer(sdp: body)
        take(terms, rtp)
    }

    private func take(_ terms: MediaTerms, _ rtp: RTPSession) {
        rtp.negotiate(terms)
        leg?.setHeld(terms.isHeld)
        onEvent(.held(terms.isHeld))
    }

    /// The answer to an offer of ours that an empty re-INVITE asked for.
    private func acknowledged(_ sdp: String?, _ dialog: Dialog) {
        guard isOfferOpen, dialog == answered else { return }
        isOfferOpen = false
        guard let rtp, let terms = try? negotiation?.accept(sdp) else { return }
        take(terms, rtp)
    }

    /// Another phone takes this one's place, and goes on talking with the caller.
    private func replaced(_ dialog: Dialog, by call: IncomingCall) {
        guard dialog == answered, let rtp else { return call.dialog.reject(481) }
        var negotiation = OfferAnswer(
            host: call.isFromOurselves ? line.userAgent.inside.host : line.userAgent.advertised, port: rtp.localPort,
            isSecure: settings.srtp == .required, peer: call.source)
        guard let sdp = call.sdp, let (body, terms) = try? negotiation.answer(sdp) else {
            return call.dialog.reject(488)
        }
        self.negotiation = negotiation
        isOfferOpen = false
        let place = dialogs.count, loop = loop, me = Confined(self, to: loop)
        dialogs.append(call.dialog)
        answered = call.dialog
        call.dialog.listen { event in loop.post { me.value.handle(event, of: place) } }
        call.dialog.acceptReferrals()
        call.dialog.answer(sdp: body)
        dialog.hangUp()
        take(terms, rtp)
    }

    /// How the call goes that the person asked for.
    func report(_ status: Int, reference: UInt32) { answered?.report(status, reference: reference) }

    private func fail(_ reason: String) {
        guard !isOver else { return }
        close()
        onEvent(.failed(reason))
    }

    private func end() {
        guard !isOver else { return }
        close()
        onEvent(.ended)
    }

    /// Ends whatever there is, without a word.
    func close() {
        guard !isOver else { return }
        isOver = true
        ticker?.cancel()
        ticker = nil
        for dialog in dialogs { dialog.hangUp() }
        if let leg { leg.close() } else { rtp?.close() }
        leg = nil
        rtp = nil
    }
}
