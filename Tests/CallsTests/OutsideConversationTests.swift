import Bridge
import Foundation
import Net
import Realtime
import Store
import TestSupport
import Testing

@testable import Calls

/// SIP calls whose conversation another server holds, in virtual time.
@Suite(.serialized) struct OutsideConversationTests {
    @Test func theServerHearsTheCallAndIsHeard() async throws {
        let world = try SIPWorld(SIPWorld.streamed)
        let (call, phone, server) = try await world.connect()
        #expect(server.heard("start").count == 1)
        let start = try #require(server.heard("start").first)
        #expect(start.contains(#""outbound_id":"\#(call.id)""#) && start.contains(#""to":"01012345678""#))
        #expect(start.contains(#""from":"025550100""#) && start.contains("brief"))
        phone.speak(ms: 400)
        world.loop.advance(ms: 600)
        #expect(server.heard("media").count >= 25)
        server.speak(ms: 600)
        server.mark("done")
        #expect(world.wait { !server.heard("mark").isEmpty })
        #expect(phone.heardMs >= 580 && world.told == 0, "our own model is not asked")
        phone.hangUp()
        let record = try await world.record(of: call)
        #expect(record.state == .completed && record.endReason == .calleeHangup && server.closedWith == 1_000)
        let events = try await world.events(of: call)
        #expect(events.contains { $0.name == "outbound_stream_connected" && $0.payload.contains("twilio") })
    }

    @Test(arguments: [1_000, 1_005]) func aServerThatClosesEndsTheCallAsItWanted(code: UInt16) async throws {
        let world = try SIPWorld {
            SIPWorld.streamed(&$0)
            $0.bridge.fallback = .agent
            $0.bridge.failureMessage = "Sorry."
        }
        let (call, phone, server) = try await world.connect()
        server.speak(ms: 1_000)
        server.close(code)
        #expect(world.wait { phone.isHungUpByUs })
        #expect(phone.heardMs >= 980, "what it has said last is heard")
        let record = try await world.record(of: call)
        #expect(record.state == .completed && record.endReason == nil && record.streamFailure == nil)
    }

    @Test(arguments: [StreamUpgradeFailure.notResolved, .privateAddress, .refused(status: 403), .notReached])
    func aServerThatCannotBeHadFailsTheCall(failure: StreamUpgradeFailure) async throws {
        let world = try SIPWorld(SIPWorld.streamed)
        let call = try await world.dial()
        let phone = world.phones.called[0]
        try phone.answer()
        world.streams.asked[0].refuse(failure)
        #expect(world.wait { phone.isHungUpByUs })
        let record = try await world.record(of: call)
        #expect(record.state == .failed && record.endReason == .providerError)
        #expect(record.failureReason == record.streamFailure && record.streamFailure?.contains("stream's") == true)
        let event = try #require(try await world.events(of: call).first { $0.name == "outbound_stream_failed" })
        #expect(event.payload.contains(#""fallback":"hangup""#) && event.payload.contains(#""code":"stream_"#))
    }

    @Test func aServerThatNeverAnswersTheUpgradeIsGivenUp() async throws {
        let world = try SIPWorld(SIPWorld.streamed)
        let call = try await world.dial()
        let phone = world.phones.called[0]
        try phone.answer()
        world.loop.advance(ms: Int(OutsideConversation.openLimitMs) - 200)
        #expect(!phone.isHungUpByUs)
        world.loop.advance(ms: 600)
        #expect(phone.isHungUpByUs)
        #expect(try await world.record(of: call).streamFailure?.contains("did not answer within 5 s") == true)
        // It answers after all.
        let late = FarServer(world.streams.asked[0], on: world.loop)
        world.loop.advance(ms: 20)
        #expect(late.closedWith == 1_000 && late.texts.isEmpty)
    }

    @Test func aServerThatNeverAnswersTheStartIsGivenUp() async throws {
        let world = try SIPWorld {
            SIPWorld.streamed(&$0)
            $0.bridge.streamDialect = "genesys"
        }
        let (call, phone, server) = try await world.connect()
        #expect(server.texts.first?.contains(#""type":"open""#) == true)
        #expect(world.wait(6_000) { phone.isHungUpByUs })
        #expect(try await world.record(of: call).streamFailure?.contains("did not answer") == true)
        #expect(server.closedWith == 1_000)
    }

    @Test func aServerThatSpeaksNonsenseIsGivenUp() async throws {
        let world = try SIPWorld(SIPWorld.streamed)
        let (call, phone, server) = try await world.connect()
        for _ in 0...50 { server.say("{nonsense") }
        #expect(world.wait { phone.isHungUpByUs })
        #expect(server.closedWith == 1_003)
        let record = try await world.record(of: call)
        #expect(record.state == .failed && record.streamFailure == "the stream's server does not speak twilio")
    }

    @Test func aServerThatIsLostFailsTheCall() async throws {
        let world = try SIPWorld(SIPWorld.streamed)
        let (call, phone, server) = try await world.connect()
        server.close(1_011)
        #expect(world.wait { phone.isHungUpByUs })
        #expect(try await world.record(of: call).streamFailure == "the stream's server closed with 1011")
    }

    @Test func theCallerIsToldBeforeTheCallIsHungUp() async throws {
        let world = try SIPWorld {
            SIPWorld.streamed(&$0)
            $0.bridge.failureMessage = "We are sorry. Please call again."
        }
        let (call, phone, server) = try await world.connect()
        server.speak(ms: 5_000)
        world.loop.advance(ms: 100)
        let before = phone.heardMs
        server.close(1_006)
        #expect(world.wait { phone.isHungUpByUs })
        #expect(
            (before + ScriptedVoice.sentenceMs - 40...before + ScriptedVoice.sentenceMs + 60).contains(phone.heardMs))
        let record = try await world.record(of: call)
        #expect(record.state == .failed && record.endReason == .providerError)
    }

    @Test func aCallerWhoHangsUpWhileBeingToldHasAFailedCall() async throws {
        let world = try SIPWorld {
            SIPWorld.streamed(&$0)
            $0.bridge.failureMessage = "We are sorry."
        }
        let call = try await world.dial()
        try world.phones.called[0].answer()
        world.streams.asked[0].refuse(.notReached)
        world.phones.called[0].hangUp()
        let record = try await world.record(of: call)
        #expect(record.state == .failed && record.streamFailure != nil)
    }

    @Test func ourOwnConversationTakesTheCallOver() async throws {
        let world = try SIPWorld {
            SIPWorld.streamed(&$0)
            $0.bridge.fallback = .agent
            $0.bridge.failureMessage = "Not said."
        }
        let (call, phone, server) = try await world.connect()
        server.speak(ms: 400)
        #expect(world.wait { phone.heardMs >= 380 })
        server.close(1_011)
        #expect(world.wait { world.told > 0 }, "the greeting is asked for")
        #expect(!phone.isHungUpByUs)
        world.say("Hello, will you come?", ms: 1_000)
        #expect(world.wait { phone.heardMs >= 1_380 })
        phone.speak(ms: 900)
        #expect(world.wait { world.session?.told.contains(.commit) == true }, "the turn does not end")
        world.answerTurn("Yes.", "Goodbye.", ms: 400)
        #expect(world.wait { phone.heardMs >= 1_760 })
        phone.hangUp()
        let record = try await world.record(of: call)
        #expect(record.state == .completed && record.endReason == .calleeHangup && record.failureReason == nil)
        #expect(record.streamFailure == "the stream's server closed with 1011")
        let events = try await world.events(of: call)
        #expect(events.contains { $0.name == "outbound_stream_failed" && $0.payload.contains(#""fallback":"agent""#) })
        #expect(events.contains { $0.name == "outbound_transcript" })
    }

    @Test func anOperatorsHangUpEndsTheCall() async throws {
        let world = try SIPWorld(SIPWorld.streamed)
        let (call, phone, server) = try await world.connect()
        world.onCall(call) { $0.hangUp(.operatorHangup) }
        #expect(world.wait { phone.isHungUpByUs })
        world.loop.advance(ms: 40)
        #expect(server.closedWith == 1_000)
        #expect(try await world.record(of: call).endReason == .operatorHangup)
    }

    @Test func aPersonWhoAnsweredHasTheCaller() async throws {
        let world = try SIPWorld(SIPWorld.streamed)
        let person = world.hire("anna")
        let (call, caller) = try world.arrive(for: person)
        try #require(world.phones.called.first).answer()
        #expect(world.wait { caller.isAnswered })
        world.loop.advance(ms: 200)
        #expect(world.streams.asked.isEmpty, "no server is asked")
        world.phones.called[0].speak(ms: 400)
        #expect(world.wait { caller.heardMs >= 300 })
        caller.hangUp()
        #expect(try await world.record(of: call).streamFailure == nil)
    }

    @Test func aCallThatComesInIsStreamedToo() async throws {
        let world = try SIPWorld(SIPWorld.streamed)
        let (call, caller) = try world.arrive()
        #expect(world.wait { caller.isAnswered })
        world.loop.advance(ms: 40)
        let server = FarServer(try #require(world.streams.asked.first), on: world.loop)
        world.loop.advance(ms: 40)
        #expect(server.heard("start").first?.contains(#""inbound_id":"\#(call.id)""#) == true)
        #expect(server.heard("start").first?.contains(#""from":"0255501234""#) == true)
        server.close()
        #expect(world.wait { caller.isHungUpByUs })
        #expect(try await world.record(of: call).state == .completed)
    }

    @Test func theLongestDurationEndsTheCall() async throws {
        let world = try SIPWorld {
            SIPWorld.streamed(&$0)
            $0.maxCallDuration = 30
        }
        let (call, phone, _) = try await world.connect()
        world.loop.advance(ms: 49_000)
        #expect(!phone.isHungUpByUs, "the server has time for its goodbye")
        world.loop.advance(ms: 2_000)
        #expect(phone.isHungUpByUs)
        let record = try await world.record(of: call)
        #expect(record.state == .completed && record.endReason == .maxDuration)
    }

    @Test func aCallsOwnStreamGoesWhereItSays() async throws {
        let world = try SIPWorld {
            SIPWorld.streamed(&$0)
            $0.bridge.streamToken = "ours"
            $0.bridge.failureMessage = "Sorry."
        }
        let own = Call.Stream(
            url: "wss://own.test/agent?v=1", dialect: "plivo", headers: ["Authorization": "Bearer k"],
            parameters: ["customer": "7"])
        let (call, phone, server) = try await world.connect(stream: own)
        let upgrade = world.streams.asked[0].upgrade
        #expect(upgrade.url.host == "own.test" && upgrade.url.path == "/agent?v=1" && upgrade.url.isSecure)
        #expect(upgrade.headers.count == 1 && upgrade.headers[0] == ("Authorization", "Bearer k"))
        #expect(!upgrade.allowsPrivateAddresses)
        let start = try #require(server.texts.first)
        #expect(start.contains("customer") && !start.contains("ours"), "our token is not for others")
        phone.hangUp()
        let record = try await world.record(of: call)
        #expect(record.stream == own, "it is stored with the call")
    }
}
