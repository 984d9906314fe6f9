import Bridge
import Foundation
import Net
import Pipeline
import Realtime
import Store
import TestSupport
import Testing

@testable import Calls

/// Transfers over SIP in virtual time: the caller's leg, the persons' legs, the graph between them and the record.
@Suite(.serialized) struct TransferCallTests {
    /// A call that is answered and greeted; then the model wishes a transfer, and has announced it.
    private func transferred(_ world: SIPWorld) async throws -> (SIPWorld.Running, ScriptedPhone) {
        let call = try await world.dial()
        let phone = world.phones.called[0]
        try phone.answer()
        #expect(world.wait { world.told > 0 })
        world.say("Hello.", ms: 400)
        #expect(world.wait { phone.heardMs >= 400 })
        world.say("I put you through.", ms: 600, tool: ("transfer_to_operator", "{}"))
        #expect(world.phones.called.count == 1 && phone.referredTo == nil, "the caller is told first")
        #expect(world.wait { world.phones.called.count == 2 || phone.referredTo != nil })
        #expect(phone.heardMs >= 980)
        return (call, phone)
    }

    @Test func nobodyTakesItAndTheAIGoesOn() async throws {
        let world = try SIPWorld()
        let kim = world.hire("kim")
        let (call, caller) = try await transferred(world)
        let phone = world.phones.called[1]
        #expect(phone.invitation?.requestURI == "sip:kim@127.0.0.1:5090" && world.operators.isEngaged(kim.id))
        phone.ring()
        let heard = caller.heardMs
        world.loop.advance(ms: 10_000)
        #expect(caller.heardMs > heard + 3_000, "music")
        #expect(!phone.isHungUpByUs)
        let told = world.told
        #expect(world.wait(11_000) { phone.isHungUpByUs }, "after 20 s")
        #expect(world.told > told, "the model knows")
        #expect(!world.operators.isEngaged(kim.id))
        world.say("Nobody is free.", ms: 400)
        let before = caller.heardMs
        #expect(world.wait { caller.heardMs >= before + 380 })
        caller.hangUp()
        let record = try await world.record(of: call)
        #expect(record.endReason == .calleeHangup)
        #expect(record.transfers?.map(\.outcome) == [.failed] && record.transfers?[0].reason == "nobody answered")
    }

    @Test func theNextOneIsRungWhenOneIsBusy() async throws {
        let world = try SIPWorld()
        _ = world.hire("kim")
        _ = world.hire("lee")
        let (call, caller) = try await transferred(world)
        world.phones.called[1].refuse(486)
        #expect(world.phones.called.count == 3)
        world.phones.called[2].refuse(603)
        world.loop.advance(ms: 100)
        caller.hangUp()
        let record = try await world.record(of: call)
        #expect(record.transfers?.map(\.reason) == ["busy", "declined"])
        #expect(record.endReason == .calleeHangup)
    }

    /// The caller talks with an operator who has heard the briefing.
    private func bridged(_ world: SIPWorld) async throws -> (SIPWorld.Running, ScriptedPhone, ScriptedPhone) {
        let (call, caller) = try await transferred(world)
        let phone = world.phones.called[1]
        phone.ring()
        try phone.answer()
        let heard = caller.heardMs
        #expect(world.wait { phone.heardMs >= ScriptedVoice.sentenceMs }, "the briefing")
        #expect(caller.heardMs > heard, "the caller hears music meanwhile")
        #expect(world.wait(5_000) { talk(world, from: caller, to: phone) }, "the two are joined")
        #expect(talk(world, from: phone, to: caller))
        return (call, caller, phone)
    }

    /// Whether one hears the other.
    private func talk(_ world: SIPWorld, from: ScriptedPhone, to: ScriptedPhone) -> Bool {
        world.loop.advance(ms: 500)
        let before = to.heardMs
        from.speak(ms: 600)
        world.loop.advance(ms: 800)
        return to.heardMs >= before + 500
    }

    @Test func whoAnswersIsToldAndJoined() async throws {
        let world = try SIPWorld()
        let kim = world.hire("kim")
        let (call, caller, phone) = try await bridged(world)
        phone.hangUp()
        world.loop.advance(ms: 400)
        #expect(caller.isHungUpByUs)
        let record = try await world.record(of: call)
        #expect(record.endReason == .transferred && record.transfers?.map(\.outcome) == [.connected])
        #expect(!world.operators.isEngaged(kim.id))
    }

    @Test func theCallerHangsUpWhileHeTalksWithAPerson() async throws {
        let world = try SIPWorld()
        _ = world.hire("kim")
        let (call, caller, phone) = try await bridged(world)
        caller.hangUp()
        world.loop.advance(ms: 100)
        #expect(phone.isHungUpByUs)
        #expect(try await world.record(of: call).endReason == .transferred)
    }

    @Test func theCallerHangsUpWhileThePersonRings() async throws {
        let world = try SIPWorld()
        let kim = world.hire("kim")
        let (call, caller) = try await transferred(world)
        world.phones.called[1].ring()
        caller.hangUp()
        world.loop.advance(ms: 100)
        #expect(world.phones.called[1].isHungUpByUs && !world.operators.isEngaged(kim.id))
        #expect(try await world.record(of: call).endReason == .calleeHangup)
    }

    @Test func aPersonPutsTheCallerOnHold() async throws {
        let world = try SIPWorld()
        _ = world.hire("kim")
        let (call, caller, phone) = try await bridged(world)
        phone.reoffer("sendonly")
        let heard = caller.heardMs
        world.loop.advance(ms: 2_000)
        #expect(caller.heardMs > heard + 600, "music")
        phone.reoffer("sendrecv")
        #expect(talk(world, from: phone, to: caller))
        caller.hangUp()
        #expect(try await world.record(of: call).endReason == .transferred)
    }

    @Test func aColleagueWhoIsBusyLeavesThemAlone() async throws {
        let world = try SIPWorld()
        _ = world.hire("kim")
        let lee = world.hire("lee")
        let (call, caller, phone) = try await bridged(world)
        phone.refer(to: "sip:nobody@127.0.0.1")
        #expect(phone.reports == [404])
        phone.refer(to: "sip:lee@127.0.0.1")
        #expect(phone.reports == [404, 100] && world.phones.called.count == 3 && world.operators.isEngaged(lee.id))
        world.phones.called[2].refuse(486)
        #expect(phone.reports == [404, 100, 480] && !world.operators.isEngaged(lee.id))
        #expect(talk(world, from: caller, to: phone) && talk(world, from: phone, to: caller))
        caller.hangUp()
        let record = try await world.record(of: call)
        #expect(record.transfers?.map(\.outcome) == [.connected, .failed] && record.endReason == .transferred)
    }

    @Test func aColleagueTakesTheCallerOver() async throws {
        let world = try SIPWorld()
        let kim = world.hire("kim")
        _ = world.hire("lee")
        let (call, caller, phone) = try await bridged(world)
        phone.refer(to: "sip:lee@127.0.0.1")
        let colleague = world.phones.called[2]
        try colleague.answer()
        #expect(phone.reports == [100, 200] && phone.isHungUpByUs && !world.operators.isEngaged(kim.id))
        #expect(talk(world, from: caller, to: colleague) && talk(world, from: colleague, to: caller))
        colleague.hangUp()
        world.loop.advance(ms: 400)
        let record = try await world.record(of: call)
        #expect(record.transfers?.map(\.name) == ["kim", "lee"] && record.endReason == .transferred)
    }

    // MARK: Blind

    private func blind() throws -> SIPWorld {
        try SIPWorld {
            $0.transferMode = .blind
            $0.operatorNumber = "sip:desk@127.0.0.1:5091"
            $0.ringTimeout = 8
        }
    }

    @Test func aBlindTransferThatFailsComesBack() async throws {
        let world = try blind()
        let (call, caller) = try await transferred(world)
        #expect(caller.referredTo == "sip:desk@127.0.0.1:5091")
        caller.notify(100)
        let told = world.told
        caller.notify(486)
        #expect(world.told > told)
        world.say("He is busy.", ms: 400)
        let before = caller.heardMs
        #expect(world.wait { caller.heardMs >= before + 380 })
        caller.hangUp()
        #expect(try await world.record(of: call).endReason == .calleeHangup)
    }

    @Test func aBlindTransferThatNobodyAnswersComesBack() async throws {
        let world = try blind()
        let (call, caller) = try await transferred(world)
        caller.notify(100)
        let told = world.told
        world.loop.advance(ms: 7_500)
        #expect(world.told == told)
        world.loop.advance(ms: 700)
        #expect(world.told > told)
        caller.hangUp()
        #expect(try await world.record(of: call).endReason == .calleeHangup)
    }

    @Test func aBlindTransferThatWorks() async throws {
        let world = try blind()
        let (call, caller) = try await transferred(world)
        caller.notify(100)
        caller.notify(200)
        world.loop.advance(ms: 400)
        #expect(caller.isHungUpByUs)
        #expect(try await world.record(of: call).endReason == .transferred)
    }

    // MARK: Before the answer

    @Test func anOperatorTakesACallThatIsForHim() async throws {
        let world = try SIPWorld()
        let kim = world.hire("kim")
        let (call, caller) = try world.arrive(for: kim)
        let phone = world.phones.called[0]
        world.loop.advance(ms: 3_000)
        #expect(caller.hasRung && !caller.isAnswered)
        try phone.answer()
        #expect(world.wait(200) { caller.isAnswered })
        #expect(talk(world, from: caller, to: phone) && talk(world, from: phone, to: caller))
        #expect(world.model.sessions.isEmpty, "the AI has no part in it")
        caller.hangUp()
        world.loop.advance(ms: 100)
        #expect(phone.isHungUpByUs)
        let record = try await world.record(of: call)
        #expect(record.operatorName == "kim" && record.transfers?.map(\.outcome) == [.connected])
    }

    @Test func theAITakesItInHisPlace() async throws {
        let world = try SIPWorld()
        let kim = world.hire("kim")
        let (call, caller) = try world.arrive(for: kim)
        #expect(!world.wait(19_000) { caller.isAnswered })
        #expect(world.wait(2_000) { caller.isAnswered })
        #expect(world.phones.called[0].isHungUpByUs && world.wait { world.told > 0 })
        caller.hangUp()
        let record = try await world.record(of: call)
        #expect(record.endReason == .calleeHangup && record.transfers?.map(\.outcome) == [.failed])
    }

    @Test func aCallerWhoGivesUpStopsTheRinging() async throws {
        let world = try SIPWorld()
        let kim = world.hire("kim")
        let (call, caller) = try world.arrive(for: kim)
        world.loop.advance(ms: 1_000)
        caller.hangUp()
        #expect(world.phones.called[0].isHungUpByUs && !world.operators.isEngaged(kim.id))
        #expect(try await world.record(of: call).attempts[0].code == 487)
    }
}
