import Foundation
import Net
import Pipeline
import TestSupport
import Testing

@testable import Bridge

/// A stream in Audio Connector's dialect, both ends of it, in virtual time.
@Suite struct GenesysStreamTests {
    @Test(arguments: GenesysDialect.traits.formats) func bothEndsUnderstandEachOther(format: WireFormat) throws {
        let line = try ConnectorLine(GenesysDialect.self, format: format)
        line.open()
        guard case .start(let start)? = line.atApplication.first else {
            Issue.record("no start")
            return
        }
        #expect(start.streamID == ConnectorLine.start.streamID && start.parameters["from"] == "+4930")
        #expect(start.parameters["k"] == "v \"1\"")
        line.tell(.dtmf("7"))
        line.speak(20) { line.tell($0) }
        #expect(ConnectorLine.frames(line.atApplication).count { $0.peak > 7_000 } == 20)
        line.speak(25) { line.say($0) }
        line.pass(ms: 100)
        let sizes = line.sockets.application.sizes
        #expect(Set(sizes) == [format.bytes(ofMs: 200)] && sizes.count == 3, "filled up to 200 ms: \(sizes)")
        #expect(ConnectorLine.frames(line.atCarrier).count { $0.peak > 7_000 } == 25)
        line.say(.clear)
        #expect(line.atCarrier.last == .clear && line.atApplication.contains(.dtmf("7")))
        #expect(line.loop.run { line.application.setPaused(true) })
        line.pass()
        #expect(line.tell(.media(ConnectorLine.tone)) == false)
        line.loop.run { line.application.close() }
        line.pass()
        #expect(line.atCarrier.last == .stop && line.atApplication.last == .stop)
        #expect(line.carrier.malformed == 0 && line.application.malformed == 0)
    }

    @Test func marksComeBackAsTheFarEndPlays() throws {
        let line = try ConnectorLine(GenesysDialect.self)
        let caller = line.loop.run { ScriptedCaller(line.carrier, on: line.loop) }
        line.open()
        for _ in 0..<25 { line.say(.media(ConnectorLine.tone)) }
        line.say(.mark("end"))
        line.pass(ms: 400)
        #expect(ConnectorLine.marks(line.atApplication) == [])
        line.pass(ms: 400)
        #expect(ConnectorLine.marks(line.atApplication) == ["end"] && caller.playedMs == 600)
        #expect(line.sockets.carrier.texts.filter { $0.contains("playback_") }.count == 2)
        // Dropped ones come back at once.
        for _ in 0..<25 { line.say(.media(ConnectorLine.tone)) }
        line.say(.mark("cut"))
        line.say(.clear)
        #expect(ConnectorLine.marks(line.atApplication) == ["end", "cut"] && caller.clears == 1)
        caller.leave()
    }

    /// Its lag is part of our clock: a mark is as late as what it stands behind.
    @Test func aFarEndThatBeginsLateIsWaitedFor() throws {
        let line = try ConnectorLine(GenesysDialect.self)
        // What the far end makes of us does not matter.
        line.sockets.carrier.onMessage = nil
        line.inject(GenesysDialectTests.client("open", 1, GenesysDialectTests.parameters()))
        for _ in 0..<10 { line.say(.media(ConnectorLine.tone)) }
        line.say(.mark("end"))
        line.pass(ms: 260)
        #expect(ConnectorLine.marks(line.atApplication) == [], "it has not begun")
        line.inject(GenesysDialectTests.client("playback_started", 2, serverseq: 1))
        line.pass(ms: 140)
        #expect(ConnectorLine.marks(line.atApplication) == [])
        line.inject(GenesysDialectTests.client("playback_completed", 3, serverseq: 1))
        #expect(ConnectorLine.marks(line.atApplication) == ["end"])
        // One that says nothing is not waited for longer than half a second.
        for _ in 0..<10 { line.say(.media(ConnectorLine.tone)) }
        line.say(.mark("silent"))
        line.pass(ms: 440)
        #expect(ConnectorLine.marks(line.atApplication) == ["end"])
        line.pass(ms: 100)
        #expect(ConnectorLine.marks(line.atApplication) == ["end", "silent"])
    }

    /// A tick may come a millisecond before its time: what is sent in it is then answered before it was sent.
    @Test func aFarEndThatPlaysAtOnceIsNoTrap() throws {
        let line = try ConnectorLine(GenesysDialect.self)
        line.sockets.carrier.onMessage = nil
        line.inject(GenesysDialectTests.client("open", 1, GenesysDialectTests.parameters()))
        var sentAt: UInt64?
        let ticker = line.loop.run {
            line.loop.addTicker { due in
                guard sentAt == nil else { return }
                sentAt = due
                for _ in 0..<10 { line.application.send(.media(ConnectorLine.tone)) }
                line.application.send(.mark("end"))
            }
        }
        for _ in 0..<40 where sentAt == nil { line.pass(ms: 1) }
        let sent = try #require(sentAt)
        #expect(line.loop.run { line.loop.timeMs } < sent, "the clock is behind the tick")
        line.loop.run {
            ticker.cancel()
            line.sockets.carrier.send(text: GenesysDialectTests.client("playback_started", 2, serverseq: 1))
        }
        line.pass(ms: 180)
        #expect(ConnectorLine.marks(line.atApplication) == [])
        line.pass(ms: 60)
        #expect(ConnectorLine.marks(line.atApplication) == ["end"] && line.application.malformed == 0)
    }

    /// The flow is told what the call has found out; what has no room is left out.
    @Test func resultsGoWithTheEnd() throws {
        let line = try ConnectorLine(GenesysDialect.self)
        line.open()
        line.loop.run {
            line.application.results = ["q1": "yes, \"both\"", "a": "1", "z": String(repeating: "x", count: 60_000)]
            line.application.close()
        }
        line.pass()
        let said = try #require(line.sockets.application.texts.first { $0.contains(#""type":"disconnect""#) })
        let object = try #require(JSONSerialization.jsonObject(with: Data(said.utf8)) as? [String: Any])
        let parameters = try #require(object["parameters"] as? [String: Any])
        #expect(parameters["outputVariables"] as? [String: String] == ["q1": "yes, \"both\"", "a": "1"])
        #expect(parameters["reason"] as? String == "completed" && line.carrier.malformed == 0)
        #expect(line.atCarrier.last == .stop)
    }

    @Test func withoutResultsThereIsNoRoomForThem() throws {
        let line = try ConnectorLine(GenesysDialect.self)
        line.open()
        line.loop.run { line.application.close() }
        line.pass()
        #expect(line.sockets.application.texts.last?.contains("outputVariables") == false)
    }

    @Test func badStreamsEndWithTheVendorsWords() throws {
        let line = try ConnectorLine(GenesysDialect.self)
        line.inject(GenesysDialectTests.client("open", 1, GenesysDialectTests.parameters(media: "[]")))
        #expect(line.sockets.application.texts.last?.contains("No supported media type was found.") == true)
        #expect(line.sockets.application.closedWith == 1_003)
        let second = try ConnectorLine(GenesysDialect.self)
        second.open()
        second.inject(GenesysDialectTests.client("ping", 9, id: ConnectorLine.start.streamID))
        #expect(second.sockets.application.texts.last?.contains(#""type":"disconnect""#) == true)
        #expect(second.sockets.application.closedWith == 1_003)
    }
}
