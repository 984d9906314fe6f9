internal import Bridge
internal import Foundation
internal import Logging
internal import Net
internal import Pipeline
internal import Realtime
internal import Store

/// A caller's transfer to a person (RFC 3725), for callers of every carrier: does what `TransferMachine` decides.
///
/// The caller's side is a `CallGraph`; each person rung is a `SIPLeg` of ours. Confined to the loop of the call.
final class WarmTransfer {
    /// A call of ours to a person.
    private struct Line {
        var leg: SIPLeg
        var operatorID: String?
        /// After the answer: the other end of the leg.
        var stream: (any MediaStream)?
    }

    private let loop: EventLoop
    private let line: CallLine
    private let settings: CallSettings
    private let journal: CallJournal
    private let callerNumber: String
    private let company: CompanyID
    private let conversation: ConversationRequest
    /// Transfers the call by the carrier's own means, which reports the result by `carrier`. False: it cannot.
    private let ownWay: (TransferChoice) -> Bool
    weak var graph: CallGraph?

    private var machine: TransferMachine
    private var lines: [Int: Line] = [:]
    private var guest: (any MediaStream)?
    private var onDecision: ((Bool) -> Void)?
    private var ticker: EventLoop.Ticker?

    init(
        loop: EventLoop, line: CallLine, settings: CallSettings, journal: CallJournal, call: Call,
        ownWay: @escaping (TransferChoice) -> Bool
    ) {
        self.loop = loop
        self.line = line
        self.settings = settings
        self.journal = journal
        callerNumber = call.remoteNumber
        company = call.company
        conversation = ConversationRequest(call)
        self.ownWay = ownWay
        machine = TransferMachine(
            mode: settings.transferMode, askLimitMs: UInt64(max(1, settings.ringTimeout) * 1_000))
    }

    // MARK: Wishes

    /// An operator wants the caller transferred, who is told first. False: it cannot be done now.
    func request(_ choice: TransferChoice, _ mode: CallSettings.TransferMode?) -> Bool {
        announce(.operators(choice, mode))
    }

    /// A person at a separate stream takes the AI's place, once the caller has been told. False: it cannot be done
    /// now.
    func takeOver(_ person: StreamedPerson) -> Bool {
        guard guest == nil, graph != nil else { return false }
        let stream = CrossLoopStream.hand(person.stream, of: person.loop, to: loop)
        stream.onClose = { [weak self] _ in
            self?.guest = nil
            self?.handle(.guestLeft)
        }
        guest = stream
        guard announce(.guest(person.name)) else {
            guest = nil
            return false
        }
        return true
    }

    /// The machine knows the wish before the caller can have been told.
    private func announce(_ wish: TransferMachine.Wish) -> Bool {
        handle(.wished(wish))
        guard machine.state == .announcing(wish) else { return false }
        var isSomebodyThere = false
        if case .guest = wish { isSomebodyThere = true }
        guard graph?.requestTransfer(isSomebodyThere: isSomebodyThere) == true else {
            handle(.cannotAnnounce)
            return false
        }
        return true
    }

    /// The caller has been told.
    func announced() { handle(.announced(targets: line.targets(company, settings, choice: machine.choice))) }

    // MARK: Before the answer

    /// A person's phones ring while the caller's call rings. `onDecision` is called once, with whether the person takes
    /// the call.
    func ring(_ target: TransferTarget, onDecision: @escaping (Bool) -> Void) {
        self.onDecision = onDecision
        handle(.early(target))
    }

    /// The caller's call is answered. Returns the stream of the waiting person; nil: none waits.
    func callerAnswered() -> (any MediaStream)? {
        guard case .waiting(let person) = machine.state, let known = lines[person.leg], let stream = known.stream else {
            return nil
        }
        handle(.callerAnswered)
        known.leg.relay()
        return stream
    }

    /// A person waits for the caller's call to be answered.
    var isSomebodyWaiting: Bool { if case .waiting = machine.state { true } else { false } }

    // MARK: The carrier's own way

    /// What becomes of it.
    enum Progress {
        case accepted
        case finished
        case failed(String)
    }

    func carrier(_ progress: Progress) {
        switch progress {
        case .accepted: handle(.carrierAccepted)
        case .finished: handle(.carrierFinished)
        case .failed(let reason): handle(.carrierFailed(reason))
        }
    }

    /// The carrier is transferring the call: a caller on hold meanwhile is not a dead line.
    var isWithCarrier: Bool { if case .asking = machine.state { true } else { false } }

    /// The call is over.
    func close() {
        onDecision = nil
        handle(.callerLeft)
        guest?.close()
        guest = nil
    }

    // MARK: Actions

    private func handle(_ event: TransferMachine.Event) {
        for action in machine.handle(event, at: loop.timeMs) { perform(action) }
        if machine.deadline == nil {
            ticker?.cancel()
            ticker = nil
        } else if ticker == nil {
            ticker = loop.addTicker(every: .tenth) { [weak self] _ in self?.handle(.tick) }
        }
    }

    private func perform(_ action: TransferMachine.Action) {
        switch action {
        case .ask(let choice):
            if !ownWay(choice) { handle(.carrierFailed("there is no number to transfer to")) }
        case .playMusic: graph?.playMusic()
        case .ring(let person): ring(person)
        case .drop(let leg): drop(leg)
        case .brief(let person): brief(person)
        case .join(let leg): join(leg)
        case .joinGuest:
            if let guest { graph?.bridge(to: guest) }
            guest = nil
        case .hold(let isOnHold): graph?.holdByPerson(isOnHold)
        case .detach: graph?.detach()
        case .report(let leg, let status, let reference): lines[leg]?.leg.report(status, reference: reference)
        case .note(let name, let operatorID, let outcome, let reason):
            journal.transfer(to: name, operatorID: operatorID, outcome, reason: reason)
        case .accepted: graph?.transferAccepted()
        case .finish: graph?.finish(.transferred)
        case .giveBack(let reason): graph?.transferFailed(reason)
        case .decided(let leg):
            let onDecision = onDecision
            self.onDecision = nil
            onDecision?(leg != nil)
        }
    }

    private func ring(_ person: TransferMachine.Person) {
        let number = person.leg, target = person.target
        let leg = SIPLeg(
            loop: loop, transport: line.userAgent, settings: settings.leg(on: line.network, acceptsReferrals: true)
        ) { [weak self] event in self?.handle(event, of: number) }
        lines[number] = Line(leg: leg, operatorID: target.operatorID)
        if let id = target.operatorID { line.operators?.engage(id) }
        guard !target.routes.isEmpty else { return handle(.failed(number, "no phone is registered")) }
        let isInside = target.place?.isOurs ?? false
        let host = isInside ? line.userAgent.inside.host : line.userAgent.advertised
        let user = Routing.normalize(callerNumber) ?? "anonymous"
        let invitations = target.routes.map { route in
            var invitation = Invitation(
                to: route, from: "<sip:\(user)@\(host)>;tag=oper-\(ShortID.random())",
                callID: "operator-\(journal.callID)-\(ShortID.random())",
                headers: [("X-Trunkline-Call-ID", journal.callID)]
                    + (target.place.map { [("Replaces", $0.replaces), ("Require", "replaces")] } ?? []))
            invitation.isToOurselves = isInside
            return invitation
        }
        do throws(NetError) {
            try leg.invite(
                invitations, isSecure: settings.srtp.isOffered(over: target.routes.allSatisfy(\.isSecure)),
                peer: target.routes.map(\.host).first { SocketAddress.isLoopback($0) })
        } catch { handle(.failed(number, error.message)) }
    }

    private func handle(_ event: SIPLeg.Event, of number: Int) {
        switch event {
        case .ringing, .replaced, .referral, .stopped: break
        case .answered: answered(number)
        case .failed(let failure): handle(.failed(number, Self.reason(failure)))
        case .held(let isHeld): handle(.held(number, isHeld))
        case .referralRequested(let referral):
            handle(
                .referral(number, reference: referral.reference, to: line.target(company, of: referral, settings)))
        case .mediaFailed, .ended: handle(.left(number))
        }
    }

    private static func reason(_ failure: SIPLeg.Failure) -> String {
        switch failure {
        case .refused(let status, _, _):
            switch status {
            case 486, 600: "busy"
            case 408, 480, 487: "nobody answered"
            case 603, 607, 608: "declined"
            default: "the phone says \(status)"
            }
        case .unacceptable: "no codec in common, or not secured"
        case .cancelled, .lost: "none of the phones could be reached"
        }
    }

    private func answered(_ number: Int) {
        guard let leg = lines[number]?.leg else { return }
        let pair = MediaStreamPair.make(), callID = leg.callID ?? ""
        lines[number]?.stream = pair.application
        leg.open(pair.carrier, start: StreamStart(streamID: "MZ" + callID, callID: callID))
        handle(.answered(number))
    }

    private func drop(_ number: Int) {
        guard let known = lines.removeValue(forKey: number) else { return }
        known.leg.close()
        if let id = known.operatorID { line.operators?.release(id) }
    }

    private func join(_ number: Int) {
        guard let known = lines[number], let stream = known.stream else { return }
        stream.onMessage = nil
        stream.send(.clear)
        known.leg.relay()
        graph?.bridge(to: stream)
    }

    // MARK: Telling what it is about

    private func brief(_ person: TransferMachine.Person) {
        guard let briefing = graph?.briefing else { return handle(.briefed(person.leg)) }
        let me = Confined(self, to: loop)
        let voice = line.voice(conversation, journal.usage)
        Task(executorPreference: loop) { [loop, journal, number = callerNumber] in
            let frames = await Announcement.frames(
                briefing.sentences(number: number), language: briefing.language, voice: voice, usage: journal.usage,
                on: loop)
            me.value.tell(frames, to: person)
        }
    }

    private func tell(_ frames: [EncodedFrame], to person: TransferMachine.Person) {
        guard case .briefing(let attempt) = machine.state, attempt.person == person,
            let stream = lines[person.leg]?.stream
        else { return }
        if frames.isEmpty { journal.logger.warning("no voice for the briefing: the caller is put through without one") }
        for frame in frames { stream.send(.media(frame)) }
        stream.onMessage = { [weak self] message in
            // A key ends the briefing.
            switch message {
            case .mark, .dtmf: self?.handle(.briefed(person.leg))
            default: break
            }
        }
        stream.send(.mark("briefed"))
    }
}
