import Bridge
import Foundation
import Net
import Realtime
import Store
import TestSupport
import Testing

@testable import Calls

/// What a server that holds a SIP call's conversation may ask for, in virtual time.
@Suite(.serialized) struct OutsideCommandTests {
    private static let opened =
        #"{"version":"2","type":"opened","seq":1,"clientseq":1,"id":"ID","parameters":{"startPaused":false,"#
        + #""media":[{"type":"audio","format":"PCMU","channels":["external"],"rate":8000}]}}"#

    /// A call whose server has answered `open`.
    private func converse(_ world: SIPWorld) async throws -> (SIPWorld.Running, ScriptedPhone, FarServer, id: String) {
        let (call, phone, server) = try await world.connect()
        let open = try JSONSerialization.jsonObject(with: Data(try #require(server.texts.first).utf8))
        let id = try #require((open as? [String: Any])?["id"] as? String)
        server.say(Self.opened.replacing("ID", with: id))
        return (call, phone, server, id)
    }

    @Test func aServerThatPausesHearsNothingOfThePause() async throws {
        let world = try SIPWorld {
            SIPWorld.streamed(&$0)
            $0.bridge.streamDialect = "genesys"
        }
        let (call, phone, server, id) = try await converse(world)
        world.loop.advance(ms: 200)
        let before = server.soundBytes
        #expect(before > 0)
        server.say(#"{"version":"2","type":"pause","seq":2,"clientseq":1,"id":"\#(id)","parameters":{}}"#)
        world.loop.advance(ms: 2_000)
        #expect(server.soundBytes == before && server.texts.last?.contains(#""type":"paused""#) == true)
        server.say(#"{"version":"2","type":"resume","seq":3,"clientseq":2,"id":"\#(id)","parameters":{}}"#)
        world.loop.advance(ms: 200)
        #expect((1_440...1_760).contains(server.soundBytes - before), "\(server.soundBytes - before) bytes")
        phone.hangUp()
        #expect(try await world.record(of: call).media?.unsent == nil)
    }

    @Test func aServerIsGivenTimeToConfirmTheEnd() async throws {
        let world = try SIPWorld {
            SIPWorld.streamed(&$0)
            $0.bridge.streamDialect = "genesys"
        }
        let (call, phone, server, id) = try await converse(world)
        phone.hangUp()
        world.loop.advance(ms: 400)
        #expect(server.texts.last?.contains(#""type":"close""#) == true && server.closedWith == nil)
        server.say(#"{"version":"2","type":"closed","seq":2,"clientseq":2,"id":"\#(id)","parameters":{}}"#)
        world.loop.advance(ms: 40)
        #expect(server.closedWith == 1_000)
        #expect(try await world.record(of: call).state == .completed)
    }

    @Test func aServerThatNeverConfirmsTheEndIsLeft() async throws {
        let world = try SIPWorld {
            SIPWorld.streamed(&$0)
            $0.bridge.streamDialect = "genesys"
        }
        let (call, phone, server, _) = try await converse(world)
        phone.hangUp()
        #expect(try await world.record(of: call).state == .completed, "the call does not wait for it")
        world.loop.advance(ms: 5_200)
        #expect(server.closedWith == 1_000)
    }

    @Test func aServerThatSendsTooFastIsToldToWait() async throws {
        let world = try SIPWorld {
            SIPWorld.streamed(&$0)
            $0.bridge.streamDialect = "asterisk"
        }
        let (call, phone, server) = try await world.connect()
        for _ in 0..<92 { server.say(binary: [UInt8](repeating: 0, count: 1_600)) }
        world.loop.advance(ms: 40)
        #expect(server.texts.last?.contains("MEDIA_XOFF") == true)
        world.loop.advance(ms: 2_000)
        #expect(server.texts.last?.contains("MEDIA_XOFF") == true)
        world.loop.advance(ms: 1_000)
        #expect(server.texts.last?.contains("MEDIA_XON") == true)
        phone.hangUp()
        #expect(try await world.record(of: call).media?.refused == nil)
    }

    /// What is on top is dropped, as a carrier's buffer would.
    @Test func whatIsMoreThanAMinuteIsRefused() async throws {
        let world = try SIPWorld(SIPWorld.streamed)
        let (call, phone, server) = try await world.connect()
        for _ in 0..<62 { server.speak(ms: 1_000) }
        phone.hangUp()
        let refused = try #require(try await world.record(of: call).media?.refused)
        #expect((90...110).contains(refused), "\(refused) frames")
    }

    @Test func keysAndClearsOfTheServerReachTheCaller() async throws {
        let world = try SIPWorld {
            SIPWorld.streamed(&$0)
            $0.bridge.streamDialect = "signalwire"
        }
        let (call, phone, server) = try await world.connect()
        server.speak(ms: 5_000)
        world.loop.advance(ms: 300)
        server.say(#"{"event":"clear"}"#)
        server.mark("now")
        world.loop.advance(ms: 100)
        #expect(server.heard("mark").count == 1 && phone.heardMs < 500)
        server.say(#"{"event":"dtmf","dtmf":{"digit":"7"}}"#)
        world.loop.advance(ms: 600)
        #expect(phone.digits == ["7"])
        phone.hangUp()
        #expect(try await world.record(of: call).state == .completed)
    }

    @Test func theServerHasTheCallerTransferred() async throws {
        let world = try SIPWorld {
            SIPWorld.streamed(&$0)
            $0.bridge.streamDialect = "jambonz"
        }
        let (call, phone, server) = try await world.connect()
        server.say(#"{"type":"transfer","data":{"to":"0255509999"}}"#)
        world.loop.advance(ms: 40)
        #expect(phone.referredTo?.contains("0255509999") == true)
        phone.notify(200)
        #expect(world.wait { phone.isHungUpByUs })
        let record = try await world.record(of: call)
        #expect(record.endReason == .transferred && record.transfers?.last?.outcome == .connected)
    }

    @Test func aTransferThatFailsLeavesTheServerTheCall() async throws {
        let world = try SIPWorld {
            SIPWorld.streamed(&$0)
            $0.bridge.streamDialect = "jambonz"
        }
        let (call, phone, server) = try await world.connect()
        server.say(#"{"type":"transfer","data":{"to":"0255509999"}}"#)
        world.loop.advance(ms: 40)
        phone.notify(486)
        world.loop.advance(ms: 400)
        #expect(!phone.isHungUpByUs && server.closedWith == nil)
        server.say(#"{"type":"transfer","data":{"to":"sip:x@elsewhere.test"}}"#)
        world.loop.advance(ms: 400)
        #expect(!phone.isHungUpByUs && server.closedWith == nil, "a host that is not allowed is not called")
        phone.hangUp()
        let record = try await world.record(of: call)
        #expect(record.endReason == .calleeHangup && record.transfers?.map(\.outcome) == [.failed])
    }

    @Test func aSlowServerGetsTheNewestSecond() async throws {
        let world = try SIPWorld(SIPWorld.streamed)
        let (call, phone, server) = try await world.connect()
        let before = server.heard("media").count
        world.streams.asked[0].isFull = true
        world.loop.advance(ms: 3_000)
        #expect(server.heard("media").count == before)
        world.streams.asked[0].isFull = false
        world.loop.advance(ms: 40)
        let waited = server.heard("media").count - before
        #expect((50...53).contains(waited), "\(waited) frames")
        phone.hangUp()
        let unsent = try #require(try await world.record(of: call).media?.unsent)
        #expect((95...105).contains(unsent), "\(unsent) frames")
    }

    @Test func aServerThatHangsUpByItsWordEndsTheCall() async throws {
        let world = try SIPWorld {
            SIPWorld.streamed(&$0)
            $0.bridge.streamDialect = "jambonz"
        }
        let (call, phone, server) = try await world.connect()
        #expect(world.streams.asked[0].upgrade.subprotocols == ["audio.jambonz.org", "audio.drachtio.org"])
        server.say(#"{"type":"disconnect"}"#)
        #expect(world.wait { phone.isHungUpByUs })
        let record = try await world.record(of: call)
        #expect(record.state == .completed && record.failureReason == nil)
    }
}
