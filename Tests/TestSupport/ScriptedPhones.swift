public import Bridge
public import Net
internal import Pipeline

/// A SIP stack that is a script: each INVITE of ours rings a phone, and phones call us.
///
/// `@unchecked Sendable`: touched by the thread that drives the manual loop alone.
public final class ScriptedPhones: SIPTransport, @unchecked Sendable {
    public let advertised = "127.0.0.1"
    public let inside: (host: String, port: UInt16) = ("127.0.0.1", 5_060)
    public let trace = SIPTrace()
    public let loop: EventLoop
    public let network: VirtualNetwork
    /// Those that we have called, in order.
    public private(set) var called: [ScriptedPhone] = []
    private var phones: [Int: ScriptedPhone] = [:]

    public init(on loop: EventLoop, network: VirtualNetwork) {
        self.loop = loop
        self.network = network
    }

    public func invite(_ invitation: Invitation, onEvent: @escaping @Sendable (DialogEvent) -> Void) -> Dialog {
        let phone = ScriptedPhone(self, invitation: invitation)
        phone.onEvent = onEvent
        called.append(phone)
        return add(phone, callID: invitation.callID)
    }

    private func add(_ phone: ScriptedPhone, callID: String) -> Dialog {
        let id = phones.count + 1
        phones[id] = phone
        return Dialog(id: id, callID: callID, transport: self)
    }

    public func perform(_ command: DialogCommand, on dialog: Int) { phones[dialog]?.told(command) }

    public func listen(to dialog: Int, _ onEvent: @escaping @Sendable (DialogEvent) -> Void) {
        phones[dialog]?.onEvent = onEvent
    }

    /// A phone calls us.
    public func call(from: String, to: String) throws -> (phone: ScriptedPhone, call: IncomingCall) {
        let phone = ScriptedPhone(self, invitation: nil)
        let offer = try phone.offer()
        let dialog = add(phone, callID: "phone-\(phones.count)")
        return (phone, IncomingCall(dialog: dialog, from: from, to: to, sdp: offer, source: "127.0.0.1"))
    }
}

/// The far end of one dialog, with its media: sends a frame every 20 ms while the call is answered, and counts the
/// sound that it hears.
public final class ScriptedPhone {
    /// Of ours; nil: it has called us.
    public let invitation: Invitation?
    /// What our side has done, in order.
    public private(set) var commands: [DialogCommand] = []
    public private(set) var isAnswered = false
    public private(set) var isOver = false
    /// Milliseconds of sound, not silence.
    public private(set) var heardMs = 0
    /// Keys that our side has pressed.
    public private(set) var digits: [Character] = []
    /// It leaves our CANCEL or BYE unanswered.
    public var isDead = false
    var onEvent: @Sendable (DialogEvent) -> Void = { _ in }

    private let loop: EventLoop
    private let network: VirtualNetwork
    private var rtp: RTPSession?
    private var negotiation: OfferAnswer?
    private var ticker: EventLoop.Ticker?
    private var speech = 0
    /// A sample louder than this is sound.
    private static let soundPeak: Int16 = 1_000

    init(_ phones: ScriptedPhones, invitation: Invitation?) {
        loop = phones.loop
        network = phones.network
        self.invitation = invitation
    }

    public var hasRung: Bool { commands.contains(.ring) }
    public var isHungUpByUs: Bool {
        commands.contains { if case .hangUp = $0 { true } else { false } }
    }
    /// Where we have asked it to call instead.
    public var referredTo: String? {
        for case .refer(let target, _) in commands { return target }
        return nil
    }
    /// What we have told it of the call that it asked for.
    public var reports: [Int] {
        commands.compactMap { if case .report(let status, _) = $0 { status } else { nil } }
    }

    // MARK: Signalling

    private func open() throws -> RTPSession {
        if let rtp { return rtp }
        let opened = try RTPSession(
            loop: loop, host: "127.0.0.1", ports: PortRange(30_000...30_999), network: network)
        opened.onFrame = { [unowned self] frame in
            if frame.peak > Self.soundPeak { heardMs += EncodedFrame.milliseconds }
        }
        opened.onDigit = { [unowned self] in digits.append($0) }
        negotiation = OfferAnswer(host: "127.0.0.1", port: opened.localPort, isSecure: false)
        rtp = opened
        return opened
    }

    func offer() throws -> String {
        _ = try open()
        return negotiation?.offer() ?? ""
    }

    public func ring() { tell(.progress(status: 180, sdp: nil)) }

    public func refuse(_ status: Int, _ phrase: String = "", contact: String? = nil) {
        end(.failed(status: status, phrase: phrase, retryAfterSeconds: nil, contact: contact))
    }

    public func answer() throws {
        try loop.run {
            let rtp = try open()
            guard let (body, terms) = try negotiation?.answer(invitation?.sdp ?? "") else { return }
            rtp.negotiate(terms)
            talk()
            onEvent(.answered(sdp: body))
        }
    }

    /// BYE, or CANCEL where the call it made is not answered.
    public func hangUp() { end(isAnswered || invitation != nil ? .ended(byRemote: true) : .cancelled) }

    /// Re-INVITE: `sendonly` puts us on hold, `sendrecv` takes us back.
    public func reoffer(_ direction: String) {
        let body = (negotiation?.offer() ?? "").replacing("a=sendrecv", with: "a=" + direction)
        tell(.reoffer(sdp: body))
    }

    /// A re-INVITE without SDP; the ACK brings the answer to our offer.
    public func reofferEmpty() { tell(.reoffer(sdp: nil)) }

    /// NOTIFY: how the call goes that we have referred it to.
    public func notify(_ status: Int) { tell(.referral(status: status)) }

    /// REFER: we are to call another address in its place.
    public func refer(to uri: String) { tell(.referralRequested(Referral(uri: uri, reference: 1))) }

    private func tell(_ event: DialogEvent) { loop.run { onEvent(event) } }

    private func end(_ event: DialogEvent) {
        guard !isOver else { return }
        loop.run { over(event) }
    }

    private func over(_ event: DialogEvent) {
        isOver = true
        ticker?.cancel()
        ticker = nil
        rtp?.close()
        onEvent(event)
    }

    /// By our side.
    func told(_ command: DialogCommand) {
        commands.append(command)
        switch command {
        case .answer(let sdp): answered(sdp)
        case .hangUp where !isOver && !isDead:
            if isAnswered {
                over(.ended(byRemote: false))
            } else if invitation != nil {
                over(.failed(status: 487, phrase: "Request Terminated", retryAfterSeconds: nil))
            } else {
                over(.ended(byRemote: false))
            }
        default: break
        }
    }

    private func answered(_ sdp: String) {
        if let terms = try? negotiation?.accept(sdp) { rtp?.negotiate(terms) }
        guard !isAnswered else { return }
        talk()
        onEvent(.acknowledged(sdp: nil))
    }

    // MARK: Media

    /// Its line is dead: nothing comes any more, and nothing is said about it.
    public func fallSilent() {
        loop.run {
            ticker?.cancel()
            ticker = nil
        }
    }

    public func speak(ms: Int) { speech = ms / EncodedFrame.milliseconds }

    private func talk() {
        isAnswered = true
        ticker = loop.addTicker { [unowned self] now in
            rtp?.poll(now: now)
            rtp?.send(speech > 0 ? ScriptedCaller.voice : nil)
            speech = max(0, speech - 1)
        }
    }
}
