import Bridge
import Foundation
import Net
import Pipeline
import Realtime
import Store
import TestSupport
import Testing

@testable import Calls

/// Calls over our own SIP legs in virtual time: signalling, RTP, graph, speech model and record.
@Suite(.serialized) struct SIPCallTests {
    @Test func aCallFromItsInviteToItsBye() async throws {
        let world = try SIPWorld()
        let call = try await world.dial()
        let phone = try #require(world.phones.called.first)
        #expect(phone.invitation?.requestURI == "sip:01012345678@127.0.0.1:5070")
        #expect(phone.invitation?.headers.contains { $0 == ("X-Outbound-Call-ID", call.id) } == true)
        phone.ring()
        world.loop.advance(ms: 2_000)
        try phone.answer()
        #expect(world.wait { world.told > 0 }, "the greeting is asked for")
        world.say("Hello, will you come?", ms: 1_000)
        #expect(world.wait { phone.heardMs >= 1_000 })
        phone.speak(ms: 900)
        #expect(world.wait { world.session?.told.contains(.commit) == true }, "the turn does not end")
        world.answerTurn("Yes, I will.", "Thank you.", ms: 600)
        #expect(world.wait { phone.heardMs >= 1_600 })
        world.loop.advance(ms: 200)
        world.say("Goodbye.", ms: 500, tool: ("end_call", #"{"reason":"task_completed"}"#))
        #expect(world.wait { phone.isHungUpByUs })
        #expect(phone.heardMs >= 2_080)
        let record = try await world.record(of: call)
        #expect(record.state == .completed && record.endReason == .taskCompleted)
        #expect(record.attempts.count == 1 && record.attempts[0].outcome == "connected")
        #expect((record.media?.sent ?? 0) > 100 && (record.media?.received ?? 0) > 100 && record.media?.lost == 0)
    }

    @Test func theGoodbyeDrainsBeforeTheBye() async throws {
        let world = try SIPWorld()
        let call = try await world.dial()
        let phone = try #require(world.phones.called.first)
        try phone.answer()
        #expect(world.wait { world.told > 0 })
        world.say("Goodbye.", ms: 600, tool: ("end_call", #"{"reason":"task_completed"}"#))
        #expect(world.wait { phone.heardMs >= 600 })
        world.loop.advance(ms: 200)
        #expect(!phone.isHungUpByUs)
        world.loop.advance(ms: 400)
        #expect(phone.isHungUpByUs)
        #expect(try await world.record(of: call).endReason == .taskCompleted)
    }

    @Test func aBusyPhone() async throws {
        let world = try SIPWorld()
        let call = try await world.dial()
        world.phones.called[0].refuse(486, "Busy Here")
        let record = try await world.record(of: call)
        #expect(record.state == .busy && record.attempts[0].code == 486)
        #expect(world.phones.called.count == 1, "a callee who is busy is not called by another trunk")
    }

    @Test func nobodyAnswersInTime() async throws {
        let world = try SIPWorld { $0.ringTimeout = 5 }
        let call = try await world.dial()
        let phone = world.phones.called[0]
        phone.ring()
        world.loop.advance(ms: 4_900)
        #expect(!phone.isHungUpByUs)
        world.loop.advance(ms: 200)
        #expect(phone.isHungUpByUs, "CANCEL")
        let record = try await world.record(of: call)
        #expect(record.state == .noAnswer && record.failureReason == "not answered within 5 s")
        #expect(record.attempts[0].code == 487)
    }

    @Test func aPhoneThatDoesNotAnswerTheCancelIsLeft() async throws {
        let world = try SIPWorld { $0.ringTimeout = 5 }
        let call = try await world.dial()
        world.phones.called[0].isDead = true
        world.loop.advance(ms: 5_100)
        #expect(world.phones.called[0].isHungUpByUs && world.network.openPorts > 0)
        world.loop.advance(ms: 5_100)
        let record = try await world.record(of: call)
        #expect(record.state == .noAnswer && record.attempts[0].code == 408)
    }

    @Test func aCallIsCancelledByAnOperator() async throws {
        let world = try SIPWorld()
        let call = try await world.dial()
        world.phones.called[0].ring()
        world.onCall(call) { $0.cancel() }
        #expect(world.phones.called[0].isHungUpByUs)
        #expect(try await world.record(of: call).state == .cancelled)
    }

    @Test func aTrunkThatFailsIsFollowedByTheNext() async throws {
        let world = try SIPWorld()
        let call = try await world.dial()
        world.phones.called[0].refuse(503, "Service Unavailable")
        #expect(world.phones.called.count == 2)
        let phone = world.phones.called[1]
        #expect(phone.invitation?.requestURI == "sip:01012345678@127.0.0.1:5071")
        try phone.answer()
        #expect(world.wait { world.told > 0 })
        phone.hangUp()
        let record = try await world.record(of: call)
        #expect(record.state == .completed && record.endReason == .calleeHangup && record.attempts.count == 1)
    }

    @Test func onceItHasRungNoOtherTrunkIsTried() async throws {
        let world = try SIPWorld()
        let call = try await world.dial()
        world.phones.called[0].ring()
        world.phones.called[0].refuse(503)
        #expect(world.phones.called.count == 1)
        #expect(try await world.record(of: call).state == .failed)
    }

    @Test func aCallThatComesIn() async throws {
        let world = try SIPWorld()
        let (call, phone) = try world.arrive()
        #expect(phone.hasRung && !phone.isAnswered)
        #expect(world.wait(1_200) { phone.isAnswered }, "answered after a second")
        #expect(world.wait { world.told > 0 })
        world.say("Hello, nobody is here.", ms: 1_000)
        #expect(world.wait { phone.heardMs >= 1_000 })
        phone.hangUp()
        let record = try await world.record(of: call)
        #expect(record.direction == .inbound && record.state == .completed && record.endReason == .calleeHangup)
    }

    @Test func aCallerWhoGivesUpBeforeTheAnswer() async throws {
        let world = try SIPWorld()
        let (call, phone) = try world.arrive()
        world.loop.advance(ms: 400)
        phone.hangUp()
        let record = try await world.record(of: call)
        #expect(record.state == .failed && record.attempts[0].code == 487)
        #expect(!phone.isAnswered)
    }

    @Test func holdAndResume() async throws {
        let world = try SIPWorld()
        let call = try await world.dial()
        let phone = world.phones.called[0]
        try phone.answer()
        #expect(world.wait { world.told > 0 })
        world.say("Hello.", ms: 400)
        #expect(world.wait { phone.heardMs >= 400 })
        phone.reoffer("sendonly")
        guard case .answer(let sdp)? = phone.commands.last else { throw TestFailure("no answer to the re-INVITE") }
        #expect(sdp.contains("a=recvonly"))
        let asked = world.told
        world.loop.advance(ms: 30_000)
        #expect(world.told == asked, "a caller who cannot hear is not prompted")
        phone.reoffer("sendrecv")
        world.say("Welcome back.", ms: 400)
        #expect(world.wait { phone.heardMs >= 800 })
        phone.hangUp()
        #expect(try await world.record(of: call).endReason == .calleeHangup)
    }

    @Test func aDeadLineEndsTheCall() async throws {
        let world = try SIPWorld { $0.conversation.policy.silencePromptMs = 60_000 }
        let call = try await world.dial()
        let phone = world.phones.called[0]
        try phone.answer()
        #expect(world.wait { world.told > 0 })
        world.say("Hello.", ms: 400)
        #expect(world.wait { phone.heardMs >= 400 })
        phone.fallSilent()
        #expect(world.wait(21_000) { phone.isHungUpByUs })
        let record = try await world.record(of: call)
        #expect(record.state == .failed && record.endReason == .mediaTimeout)
    }
}

struct TestFailure: Error {
    let message: String
    init(_ message: String) { self.message = message }
}
