import Bridge
import Net
import Pipeline
import TestSupport
import Testing

/// A SIP leg against scripted phones, in virtual time.
@Suite(.serialized) struct SIPLegTests {
    /// A leg whose stream we hold, with what it has told.
    private final class World {
        let loop: EventLoop
        let network = VirtualNetwork()
        let phones: ScriptedPhones
        var leg: SIPLeg!
        var caller: ScriptedCaller?
        private(set) var events: [SIPLeg.Event] = []

        init(acceptsReferrals: Bool = false, requiresSRTP: Bool = false) throws {
            let loop = try EventLoop.manual()
            self.loop = loop
            phones = ScriptedPhones(on: loop, network: network)
            leg = SIPLeg(
                loop: loop, transport: phones,
                settings: .init(
                    rtpHost: "127.0.0.1", rtpPorts: PortRange(10_000...10_099), requiresSRTP: requiresSRTP,
                    acceptsReferrals: acceptsReferrals, network: network)
            ) { [unowned self] in
                events.append($0)
                if $0 == .answered { open() }
            }
        }

        deinit {
            loop.run { leg.close() }
            caller?.leave()
            loop.stop()
        }

        /// Our side: `caller` speaks to the phone, and plays what comes from it.
        private func open() {
            let pair = MediaStreamPair.make()
            caller = ScriptedCaller(pair.application, on: loop)
            leg.open(pair.carrier, start: StreamStart(streamID: "s", callID: leg.callID ?? ""))
        }

        func invite(_ names: String..., isSecure: Bool = false) throws {
            let invitations = names.map {
                Invitation(
                    requestURI: "sip:\($0)@127.0.0.1", from: "<sip:us@127.0.0.1>;tag=1", to: "<sip:\($0)@127.0.0.1>",
                    callID: "call-\($0)")
            }
            try loop.run { try leg.invite(invitations, isSecure: isSecure, peer: "127.0.0.1") }
        }

        /// Whether the phone hears us.
        func isHeard(by phone: ScriptedPhone) -> Bool {
            loop.advance(ms: 200)
            let before = phone.heardMs
            caller?.speak(ms: 400)
            loop.advance(ms: 600)
            return phone.heardMs >= before + 360
        }
    }

    @Test func theFirstOfTwoPhonesHasTheCall() throws {
        let world = try World()
        try world.invite("desk", "mobile")
        let desk = world.phones.called[0], mobile = world.phones.called[1]
        desk.ring()
        mobile.ring()
        try mobile.answer()
        #expect(world.events == [.ringing, .ringing, .answered])
        #expect(desk.isHungUpByUs && !mobile.isHungUpByUs && world.leg.callID == "call-mobile")
        #expect(world.isHeard(by: mobile))
        mobile.hangUp()
        #expect(world.events.last == .ended && world.leg.isGone)
    }

    @Test func itHasFailedWhenTheLastPhoneHas() throws {
        let world = try World()
        try world.invite("desk", "mobile")
        world.phones.called[0].refuse(486, "Busy Here")
        #expect(world.events.isEmpty)
        world.phones.called[1].refuse(603, "Decline")
        #expect(world.events == [.failed(.refused(status: 603, phrase: "Decline", contact: nil))])
        // The same leg may call elsewhere, from the same port.
        try world.invite("other")
        try world.phones.called[2].answer()
        #expect(world.events.last == .answered && world.isHeard(by: world.phones.called[2]))
    }

    @Test func anAnswerThatIsNotSecuredIsRefused() throws {
        let world = try World()
        try world.invite("desk", isSecure: true)
        world.phones.called[0].tellAnswer(
            SessionDescription.body(
                host: "127.0.0.1", port: 30_000, codecs: [.muLaw], telephoneEvent: nil, session: 1, version: 1))
        guard case .failed(.unacceptable)? = world.events.last else { return #expect(Bool(false)) }
        #expect(world.phones.called[0].isHungUpByUs)
    }

    @Test func holdResumeAndAnEmptyReinvite() throws {
        let world = try World()
        try world.invite("desk")
        let phone = world.phones.called[0]
        try phone.answer()
        phone.reoffer("sendonly")
        #expect(world.events.last == .held(true))
        world.loop.advance(ms: 30_000)
        #expect(world.events.last == .held(true), "a line on hold is not dead")
        phone.reoffer("sendrecv")
        #expect(world.events.last == .held(false))
        phone.reofferEmpty()
        #expect(world.events.last == .held(false) && world.events.count == 4)
        #expect(world.isHeard(by: phone))
    }

    @Test func anotherPhoneTakesThePlace() throws {
        let world = try World(acceptsReferrals: true)
        try world.invite("desk")
        let phone = world.phones.called[0]
        try phone.answer()
        let taker = try world.phones.replace(phone)
        #expect(world.events.suffix(2) == [.held(false), .replaced])
        #expect(phone.isHungUpByUs && taker.commands.contains(.acceptReferrals))
        // The source heard before has its address no more: the taker's media come at once, for they are announced.
        #expect(world.isHeard(by: taker))
        #expect(world.leg.arrivedCallIDs == world.leg.callID.map { [$0] })
        taker.hangUp()
        #expect(world.events.last == .ended)
    }

    @Test func nobodyTakesThePlaceOfACallThatIsOver() throws {
        let world = try World()
        try world.invite("desk")
        let phone = world.phones.called[0]
        try phone.answer()
        world.loop.run { world.leg.close() }
        let taker = try world.phones.replace(phone)
        #expect(taker.commands == [.reject(603, headers: [])])
    }

    @Test func aHangUpWaitsFiveSecondsAtMost() throws {
        let world = try World()
        try world.invite("desk")
        let phone = world.phones.called[0]
        try phone.answer()
        phone.isDead = true
        world.loop.run { world.leg.hangUp(afterMs: 300) }
        world.loop.advance(ms: 280)
        #expect(!phone.isHungUpByUs)
        world.loop.advance(ms: 40)
        #expect(phone.isHungUpByUs && world.events.last == .answered)
        world.loop.advance(ms: 5_000)
        #expect(world.events.last == .ended)
    }
}
