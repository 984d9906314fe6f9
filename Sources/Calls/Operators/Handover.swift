internal import Bridge
internal import Foundation
internal import Logging
internal import Net
internal import Pipeline
internal import Realtime

/// Hands a call to a person (RFC 3725): rings one after the other, tells who answers what it is about, and joins the
/// two.
///
/// The caller's side is a `CallGraph`, whoever carries it. Confined to its loop.
final class Handover {
    struct Target {
        var operatorID: String?
        var name: String
        var routes: [Routing.SIPRoute]
        var ringSeconds: Int
        /// Somebody talks with him already, and makes room.
        var place: Place?
    }

    /// The far end of a dialog, as a Replaces header names it (RFC 3891).
    struct Place {
        var replaces: String
        /// The dialog is ours: another call of this server.
        var isOurs: Bool
    }

    enum Event {
        /// The person is there: the other end of his leg.
        case connected(any MediaStream)
        /// None of them took it.
        case failed(String)
        case held(Bool)
        /// The person is sending the caller on, and does not talk with him any more.
        case detached
    }

    private let loop: EventLoop
    private let line: CallLine
    private let settings: CallSettings
    private let journal: CallJournal
    private let caller: (number: String, name: String)
    private let onEvent: (Event) -> Void
    private var targets: [Target]
    private var target: Target?
    private var call: OperatorCall?
    private var engaged: String?
    /// Told to whoever answers; nil: he is joined at once.
    private var briefing: Briefing?
    private var isOver = false
    /// The person who wanted the caller sent on, until that has worked.
    private var referrer: Referrer?
    private struct Referrer {
        var call: OperatorCall
        var stream: any MediaStream
        var reference: UInt32
        var engaged: String?
        var target: Target
    }
    /// The person's whom the caller talks with.
    private var stream: (any MediaStream)?
    private var round = 0
    private var reasons: [String] = []

    /// Seconds within which somebody who talks already must take the caller.
    private static let joinSeconds = 10
    /// Persons that one transfer tries.
    static let targetLimit = 10

    init(
        loop: EventLoop, line: CallLine, settings: CallSettings, journal: CallJournal,
        caller: (number: String, name: String), targets: [Target],
        briefing: Briefing?, onEvent: @escaping (Event) -> Void
    ) {
        self.loop = loop
        self.line = line
        self.settings = settings
        self.journal = journal
        self.caller = caller
        self.targets = Array(targets.prefix(Self.targetLimit))
        self.briefing = briefing
        self.onEvent = onEvent
    }

    func begin() { next() }

    private func next() {
        guard !isOver else { return }
        guard !targets.isEmpty else { return failed() }
        let target = targets.removeFirst()
        self.target = target
        journal.transfer(to: target.name, operatorID: target.operatorID, .ringing)
        round += 1
        let call = OperatorCall(loop: loop, line: line, settings: settings) { [weak self, round] event in
            self?.handle(event, of: round)
        }
        self.call = call
        if let id = target.operatorID { line.operators?.engage(id) }
        engaged = target.operatorID
        call.ring(
            target.routes, caller: caller, id: journal.callID, seconds: target.ringSeconds, place: target.place)
    }

    private func handle(_ event: OperatorCall.Event, of round: Int) {
        guard !isOver, let target else { return }
        guard round == self.round else {
            // Who sent the caller on has hung up meanwhile.
            if case .ended = event, let engaged = referrer?.engaged { line.operators?.release(engaged) }
            if case .ended = event { referrer = nil }
            return
        }
        switch event {
        case .failed(let reason):
            journal.transfer(to: target.name, operatorID: target.operatorID, .failed, reason: reason)
            reasons.append("\(target.name): \(reason)")
            release()
            call = nil
            next()
        case .answered(let stream): answered(stream)
        case .held(let isHeld): onEvent(.held(isHeld))
        case .referral(let referral): refer(referral)
        case .ended: ended()
        }
    }

    private func release() {
        if let engaged { line.operators?.release(engaged) }
        engaged = nil
    }

    /// None is left. Who was asked for by a person who still talks with the caller leaves the two alone.
    private func failed() {
        if let referrer {
            referrer.call.report(480, reference: referrer.reference)
            call = referrer.call
            engaged = referrer.engaged
            target = referrer.target
            stream = referrer.stream
            round -= 1  // one target was tried
            self.referrer = nil
            return onEvent(.connected(referrer.stream))
        }
        isOver = true
        onEvent(.failed(reasons.isEmpty ? "there is nobody to hand it to" : reasons.joined(separator: "; ")))
    }

    /// He hung up while he was being told what it is about, or after the caller had been joined with him.
    private func ended() {
        guard let target else { return }
        if isBriefing {
            isBriefing = false
            journal.transfer(to: target.name, operatorID: target.operatorID, .failed, reason: "hung up")
            reasons.append("\(target.name): hung up")
            release()
            call = nil
            return next()
        }
        release()
    }

    // MARK: Telling what it is about

    private var isBriefing = false

    private func answered(_ stream: any MediaStream) {
        guard let briefing, let target else { return join(stream) }
        isBriefing = true
        let sentences = briefing.sentences(number: caller.number)
        let me = Confined(self, to: loop)
        let held = Confined(stream, to: loop)
        let voice = line.voice(briefing.language, journal.usage), usage = journal.usage
        let name = target.name
        Task(executorPreference: loop) {
            let frames = await Announcement.frames(sentences, language: briefing.language, voice: voice, usage: usage)
            me.value.tell(frames, on: held.value, to: name)
        }
    }

    private func tell(_ frames: [EncodedFrame], on stream: any MediaStream, to name: String) {
        guard !isOver, isBriefing, target?.name == name else { return }
        if frames.isEmpty { journal.logger.warning("no voice for the briefing: the caller is put through without one") }
        for frame in frames { stream.send(.media(frame)) }
        stream.onMessage = { [weak self, weak stream] message in
            guard let self, let stream else { return }
            // A key of his cuts it short.
            switch message {
            case .mark, .dtmf: self.join(stream)
            default: break
            }
        }
        stream.send(.mark("briefed"))
    }

    private func join(_ stream: any MediaStream) {
        guard !isOver, let target else { return }
        isBriefing = false
        stream.onMessage = nil
        stream.send(.clear)
        self.stream = stream
        journal.transfer(to: target.name, operatorID: target.operatorID, .connected)
        call?.relay()
        if let referrer {
            referrer.call.report(200, reference: referrer.reference)
            referrer.call.close()
            if let engaged = referrer.engaged { line.operators?.release(engaged) }
            self.referrer = nil
        }
        onEvent(.connected(stream))
    }

    // MARK: Sending on

    /// The person's phone asks for somebody else in his place: a colleague, for outside there are trunks that cost
    /// money. Where he has asked the colleague himself before, he gives up his own place in that call (RFC 5589 §7).
    private func refer(_ referral: Referral) {
        guard let call, let stream, let target, referrer == nil else { return }
        let reference = referral.reference
        let user = referral.target.drop { $0 != ":" }.dropFirst().prefix { $0 != "@" && $0 != ";" && $0 != "?" }
        let place = referral.replaces.map { Place(replaces: $0, isOurs: referral.replacesOurs) }
        guard let next = self.next(String(user), place), !next.routes.isEmpty else {
            return call.report(404, reference: reference)
        }
        call.report(100, reference: reference)
        referrer = Referrer(call: call, stream: stream, reference: reference, engaged: engaged, target: target)
        engaged = nil
        briefing = nil
        targets = [next]
        onEvent(.detached)
        self.next()
    }

    private func next(_ user: String, _ place: Place?) -> Target? {
        let colleague = line.operators?.with(number: user)
        guard let place else { return colleague.flatMap { line.target($0, settings) } }
        var target = Target(
            operatorID: colleague?.id, name: colleague?.name ?? user, routes: [], ringSeconds: Self.joinSeconds,
            place: place)
        if place.isOurs {
            let (host, port) = line.userAgent.inside
            target.routes = [Routing.SIPRoute(requestURI: "sip:join@\(host):\(port)", proxy: nil, credentials: nil)]
        } else if let colleague {
            // They have called each other past us: his phones know the dialog, busy as he is.
            target.routes = line.routes(to: colleague, settings)
        }
        return target
    }

    /// The caller is gone.
    func close() {
        guard !isOver else { return }
        isOver = true
        call?.close()
        release()
        if let referrer {
            referrer.call.close()
            if let engaged = referrer.engaged { line.operators?.release(engaged) }
        }
        referrer = nil
        call = nil
    }
}

extension CallLine {
    /// How an operator is rung; nil: he is not to be, or cannot.
    func target(_ known: Operator, _ settings: CallSettings) -> Handover.Target? {
        guard let operators, operators.canRing(known) else { return nil }
        return Handover.Target(
            operatorID: known.id, name: known.name, routes: routes(to: known, settings), ringSeconds: known.ringSeconds)
    }

    /// An operator's registered phones, or else his address.
    func routes(to known: Operator, _ settings: CallSettings) -> [Routing.SIPRoute] {
        let phones =
            operators?.phones(of: known).map {
                Routing.SIPRoute(requestURI: $0.contact, proxy: $0.route, credentials: nil)
            } ?? []
        guard phones.isEmpty, let address = known.address,
            case .sip(let route)? = try? settings.routing.route(to: address)
        else { return phones }
        return [route]
    }

    /// Those who may be asked to take a call, in the order in which they are tried.
    /// - Parameter choice: who is wanted; nil: anybody.
    func targets(_ settings: CallSettings, choice: TransferChoice = .anybody) -> [Handover.Target] {
        switch choice {
        case .operator(let id): return operators?.with(id: id).flatMap { target($0, settings) }.map { [$0] } ?? []
        case .number(let number):
            guard case .sip(let route)? = try? settings.routing.route(to: number) else { return [] }
            return [
                Handover.Target(operatorID: nil, name: number, routes: [route], ringSeconds: Int(settings.ringTimeout))
            ]
        case .anybody:
            var found = operators?.available.compactMap { target($0, settings) } ?? []
            if let number = settings.operatorNumber { found += targets(settings, choice: .number(number)) }
            return found
        }
    }
}

/// Whom a caller is to be handed to.
public enum TransferChoice: Sendable, Equatable {
    case anybody
    case `operator`(id: String)
    case number(String)
}
