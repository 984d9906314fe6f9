import Foundation
import Pipeline
import TestSupport
import Testing

@testable import Bridge
@testable import Net

/// Asterisk's WebSocket channel, as its documentation and its driver speak it.
@Suite struct AsteriskDialectTests {
    private static let plain =
        "MEDIA_START connection_id:e226e283-c90a-4ea9-9e37-389000b9ef47 channel:WebSocket/connectionid "
        + "channel_id:pbx1-123456789.999 format:ulaw optimal_frame_size:160 ptime:20"
    private static let json =
        #"{"event":"MEDIA_START","connection_id":"c","channel":"WebSocket/c","channel_id":"pbx1-1","format":"slin16","#
        + #""optimal_frame_size":640,"ptime":20,"channel_variables":{"from":"+4930","A B":"\"x\""}}"#

    private func application(
        _ texts: String..., handshake: WebSocket.Handshake? = nil
    ) throws -> (dialect: AsteriskDialect, inbox: DialectInbox) {
        let dialect = AsteriskDialect(DialectOptions(role: .application, handshake: handshake))
        let inbox = try DialectInbox(dialect.terms)
        for text in texts { _ = try dialect.hear(inbox, text) }
        return (dialect, inbox)
    }

    private func carrier(_ format: WireFormat? = nil) throws -> (dialect: AsteriskDialect, inbox: DialectInbox) {
        let dialect = AsteriskDialect(DialectOptions(role: .carrier, format: format))
        _ = dialect.text(.start(ConnectorLine.start))
        return (dialect, try DialectInbox(dialect.terms))
    }

    private func replies(_ inbox: DialectInbox) -> [String] {
        inbox.takeReplies().map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: We are the server

    @Test func aChannelStartsInEitherForm() throws {
        let handshake = WebSocket.Handshake(
            path: "/media/asterisk", query: [("token", "t"), ("k", "v")], headers: [:], peer: "")
        let (dialect, inbox) = try application(handshake: handshake)
        #expect(
            try dialect.hear(inbox, Self.plain) == [
                .start(
                    StreamStart(
                        streamID: "e226e283-c90a-4ea9-9e37-389000b9ef47", callID: "pbx1-123456789.999",
                        parameters: ["token": "t", "k": "v"]))
            ])
        #expect(inbox.terms.incoming == .muLaw8k && inbox.terms.chunks == .any(frames: 5), "our frames pass")
        let (other, second) = try application()
        #expect(
            try other.hear(second, Self.json) == [
                .start(
                    StreamStart(
                        streamID: "c", callID: "pbx1-1", parameters: ["from": "+4930", "A B": "\"x\""]))
            ])
        #expect(second.terms.outgoing == WireFormat(.linear16(.little), sampleRate: 16_000))
        #expect(second.terms.chunks.multiple == 640 && second.terms.chunks.maximum == 65_280)
        // The first releases named no channel_id.
        let (old, third) = try application()
        let said = try old.hear(
            third, "MEDIA_START connection_id:x channel:WebSocket/x format:alaw optimal_frame_size:160")
        #expect(said == [.start(StreamStart(streamID: "x", callID: "WebSocket/x"))])
    }

    @Test(arguments: [
        ("ulaw", 160), ("alaw", 160), ("slin", 320), ("slin12", 480), ("slin16", 640), ("slin24", 960),
        ("slin32", 1_280), ("slin44", 1_764), ("slin48", 1_920),
    ]) func everyFormatIsTaken(name: String, size: Int) throws {
        let (dialect, inbox) = try application("MEDIA_START connection_id:x format:\(name) optimal_frame_size:\(size)")
        #expect(inbox.terms.incoming.bytes(ofMs: 20) == size)
        var frames = 0
        for _ in 0..<10 {
            let said = try dialect.hear(inbox, binary: [UInt8](repeating: 0x55, count: size))
            frames += ConnectorLine.frames(said).count
        }
        #expect((8...10).contains(frames))
    }

    @Test(arguments: [
        "format:opus optimal_frame_size:0", "format:g729 optimal_frame_size:0", "format:g722 optimal_frame_size:160",
        "format:ulaw optimal_frame_size:0", "format:ulaw optimal_frame_size:-160", "format:ulaw", "format:slin16",
        "optimal_frame_size:160", "format:slin16 optimal_frame_size:641", "format:ulaw optimal_frame_size:999999",
        "format:ulaw optimal_frame_size:160 passthrough:true", "format:ulaw optimal_frame_size:160 unbuffered:true",
        "format:ulaw optimal_frame_size:99999999999999999999",
    ]) func channelsThatPassPacketsThroughAreRefused(rest: String) throws {
        let (dialect, inbox) = try application()
        #expect(dialect.refusal(inbox, "MEDIA_START connection_id:x " + rest) == .format)
        #expect(dialect.encode(.refused(.format)).map { String(decoding: $0, as: UTF8.self) } == "HANGUP")
    }

    @Test func eventsAreUnderstoodInEitherForm() throws {
        for isJSON in [false, true] {
            let (dialect, inbox) = try application(isJSON ? Self.json : Self.plain)
            func say(_ plain: String, _ json: String) throws -> [MediaStreamMessage] {
                try dialect.hear(inbox, isJSON ? json : plain)
            }
            #expect(
                try say(
                    "DTMF_END digit:# channel_id:pbx1-123456789.999",
                    ##"{"event":"DTMF_END","channel_id":"pbx1-1","digit":"#"}"##) == [.dtmf("#")])
            #expect(
                try say(
                    "MEDIA_MARK_PROCESSED turn-1",
                    #"{"event":"MEDIA_MARK_PROCESSED","channel_id":"pbx1-1","correlation_id":"turn-1"}"#)
                    == [.mark("turn-1")])
            #expect(
                try say("MEDIA_MARK_PROCESSED", #"{"event":"MEDIA_MARK_PROCESSED","correlation_id":""}"#) == [],
                "a mark without a name is none of ours")
            #expect(try say("MEDIA_XOFF", #"{"event":"MEDIA_XOFF","channel_id":"pbx1-1"}"#) == [] && inbox.isPaused)
            #expect(try say(" MEDIA_XON\n", #" {"event" : "MEDIA_XON"} "#) == [] && !inbox.isPaused)
            #expect(
                try say(
                    "STATUS channel_id:pbx1-123456789.999 queue_length:900 xon_level:800 queue_full:true",
                    #"{"event":"STATUS","queue_length":900,"queue_full":true}"#) == [] && inbox.isPaused)
            #expect(try say("QUEUE_DRAINED", #"{"event":"QUEUE_DRAINED"}"#) == [])
            #expect(try say("MEDIA_BUFFERING_COMPLETED x", #"{"event":"MEDIA_BUFFERING_COMPLETED"}"#) == [])
            #expect(try say("NEW_2 a:b", #"{"event":"NEW","x":[{"y":"}"}]}"#) == [])
        }
    }

    @Test func weAnswerInTheFormThatWasHeard() throws {
        for (start, words) in [
            (Self.plain, ["ANSWER", "FLUSH_MEDIA", "MARK_MEDIA m 1", "HANGUP"]),
            (
                Self.json,
                [
                    #"{"command":"ANSWER"}"#, #"{"command":"FLUSH_MEDIA"}"#,
                    #"{"command":"MARK_MEDIA","correlation_id":"m 1"}"#, #"{"command":"HANGUP"}"#,
                ]
            ),
        ] {
            let (dialect, _) = try application(start)
            let said = [.start(StreamStart(streamID: "", callID: "")), .clear, .mark("m 1"), .stop]
                .map { (message: MediaStreamMessage) in dialect.text(message) }
            #expect(said == words)
            // A command over 128 bytes is not looked at, and spaces at its ends are dropped.
            let limit = start == Self.plain ? 117 : 84
            let fits = dialect.text(.mark(String(repeating: "m", count: limit)))
            #expect(fits?.utf8.count == 128)
            for name in [String(repeating: "m", count: limit + 1), "", " m", "m ", "m\n", "\"", "é"] {
                #expect(dialect.text(.mark(name)) == nil)
            }
            #expect(dialect.text(.dtmf("1")) == nil && dialect.encode(.pause) == nil)
        }
        let (silent, _) = try application()
        #expect(silent.text(.clear) == nil && silent.text(.stop) == nil)
    }

    @Test func soundMayOvertakeTheStart() throws {
        let (dialect, inbox) = try application()
        #expect(try dialect.hear(inbox, binary: [UInt8](repeating: 1, count: 160)) == [])
        _ = try dialect.hear(inbox, Self.plain)
        #expect(try dialect.hear(inbox, binary: [UInt8](repeating: 1, count: 160)).count == 1)
    }

    // MARK: Bad input

    @Test(arguments: [
        "", " ", "{", "[]", "{}", #"{"event":7}"#, #"{"event":"MEDIA_XON"} trailing"#, "lower", "é", "{\"event\":",
        "DTMF_END", "DTMF_END digit:", "DTMF_END digit:x", "DTMF_END digit:12",
        plain, "MEDIA_XOFF channel_id:other", #"{"event":"MEDIA_MARK_PROCESSED","channel_id":"other"}"#,
        "ERROR channel_id:pbx1-123456789.999 error_text:no", #"{"command":"MEDIA_XON"}"#,
    ]) func malformedMessagesAreLeftOut(text: String) throws {
        let (dialect, inbox) = try application(Self.plain)
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, text) }
        #expect(dialect.refusal(inbox, text) == nil && !inbox.isPaused)
    }

    @Test func messagesOutOfPlaceAreErrors() throws {
        let (dialect, inbox) = try application()
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, "DTMF_END digit:1") }
        #expect(throws: MediaStreamError.self) {
            try dialect.hear(inbox, "MEDIA_START format:ulaw optimal_frame_size:160")
        }
        _ = try dialect.hear(inbox, Self.json)
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, binary: [1, 2, 3]) }
        #expect(throws: MediaStreamError.self) {
            try dialect.hear(inbox, binary: [UInt8](repeating: 0, count: 65_501))
        }
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, String(repeating: "A", count: 1 << 20)) }
    }

    // MARK: We are Asterisk

    @Test func aCarrierStartsWithItsVariables() throws {
        let dialect = AsteriskDialect(
            DialectOptions(role: .carrier, format: WireFormat(.linear16(.little), sampleRate: 24_000)))
        let text = try #require(dialect.text(.start(ConnectorLine.start)))
        let object = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(object["format"] as? String == "slin24" && object["optimal_frame_size"] as? Int == 960)
        #expect(object["channel_variables"] as? [String: String] == ConnectorLine.start.parameters)
        #expect(object["channel_id"] as? String == ConnectorLine.start.callID && object["ptime"] as? Int == 20)
        #expect(dialect.text(.start(ConnectorLine.start)) == nil && dialect.text(.stop) == nil)
    }

    @Test func commandsAreDoneAndAnsweredInTheirForm() throws {
        let (dialect, inbox) = try carrier()
        let call = ConnectorLine.start.callID
        #expect(dialect.text(.dtmf("5")) == #"{"channel_id":"\#(call)","digit":"5","event":"DTMF_END"}"#)
        let answered = StreamStart(streamID: ConnectorLine.start.streamID, callID: call)
        #expect(try dialect.hear(inbox, "ANSWER") == [.start(answered)])
        #expect(dialect.text(.dtmf("5")) == "DTMF_END digit:5 channel_id:\(call)")
        #expect(try dialect.hear(inbox, "MARK_MEDIA a b") == [.mark("a b")])
        #expect(dialect.text(.mark("a b")) == "MEDIA_MARK_PROCESSED a b")
        #expect(try dialect.hear(inbox, "MARK_MEDIA") == [.mark("")])
        #expect(dialect.text(.mark("")) == "MEDIA_MARK_PROCESSED")
        #expect(try dialect.hear(inbox, #"{"command":"MARK_MEDIA","correlation_id":"\"x\""}"#) == [.mark("\"x\"")])
        #expect(
            dialect.text(.mark("\"x\""))
                == #"{"channel_id":"\#(call)","correlation_id":"\"x\"","event":"MEDIA_MARK_PROCESSED"}"#)
        _ = try dialect.hear(inbox, "GET_STATUS", "REPORT_QUEUE_DRAINED", "PAUSE_MEDIA", "LATER_WORD")
        let said = replies(inbox)
        #expect(
            said.first == "STATUS channel_id:\(call) queue_length:0 xon_level:800 xoff_level:900 queue_full:false "
                + "bulk_media:false media_paused:false")
        #expect(said.count == 3 && said[1] == "QUEUE_DRAINED" && said[2].hasPrefix("ERROR "))
        _ = try dialect.hear(inbox, #"{"command":"GET_STATUS"}"#)
        #expect(replies(inbox).first?.contains(#""queue_full":false,"queue_length":0"#) == true)
        #expect(try dialect.hear(inbox, "HANGUP") == [.stop])
        #expect(dialect.encode(.pause).map { String(decoding: $0, as: UTF8.self) } == "MEDIA_XOFF")
    }

    @Test func aFlushDropsMarksSilently() throws {
        let (dialect, inbox) = try carrier()
        _ = try dialect.hear(inbox, binary: [UInt8](repeating: 1, count: 320))
        #expect(try dialect.hear(inbox, "MARK_MEDIA m", "REPORT_QUEUE_DRAINED", "FLUSH_MEDIA") == [.mark("m"), .clear])
        #expect(replies(inbox) == ["QUEUE_DRAINED"], "this alone survives")
        #expect(dialect.text(.mark("\u{1}2")) == nil && dialect.text(.mark("m")) == nil)
        #expect(try dialect.hear(inbox, "MARK_MEDIA m") == [.mark("m")])
        #expect(dialect.text(.mark("m")) == "MEDIA_MARK_PROCESSED m")
    }

    @Test func aFullQueueSaysSo() throws {
        let (dialect, inbox) = try carrier()
        var names: [String] = []
        for _ in 0..<9 {
            names += ConnectorLine.marks(try dialect.hear(inbox, binary: [UInt8](repeating: 1, count: 160 * 100)))
        }
        #expect(replies(inbox).count == 1 && names.count == 9, "XOFF at 900 frames")
        for _ in 0..<3 { _ = try dialect.hear(inbox, binary: [UInt8](repeating: 1, count: 160 * 100)) }
        _ = try dialect.hear(inbox, "GET_STATUS", "REPORT_QUEUE_DRAINED")
        #expect(replies(inbox).first?.contains("queue_length:1000") == true, "what comes on top is dropped")
        #expect(dialect.text(.mark(names[1])) == nil)
        #expect(dialect.text(.mark(names[2])) == "MEDIA_XON")
        #expect(dialect.text(.mark(names[8])) == nil)
        #expect(dialect.text(.mark("\u{1}1000")) == "QUEUE_DRAINED")
    }

    @Test func aBufferIsFilledUpAtItsEnd() throws {
        let (dialect, inbox) = try carrier()
        let parts = try dialect.hear(inbox, binary: [UInt8](repeating: 1, count: 100))
        #expect(parts == [])
        let end = try dialect.hear(inbox, "START_MEDIA_BUFFERING", "STOP_MEDIA_BUFFERING id")
        let frame = try #require(ConnectorLine.frames(end).first)
        #expect(frame.bytes[99] == 1 && frame.bytes[100] == 0xFF)
        let name = try #require(ConnectorLine.marks(end).first)
        #expect(dialect.text(.mark(name)) == "MEDIA_BUFFERING_COMPLETED id")
        #expect(dialect.text(.mark(name)) == nil)
    }

    @Test func aDirectionIsKeptTo() throws {
        let (dialect, inbox) = try carrier()
        _ = try dialect.hear(inbox, #"{"command":"SET_MEDIA_DIRECTION","direction":"out"}"#)
        #expect(inbox.isPaused)
        _ = try dialect.hear(inbox, "SET_MEDIA_DIRECTION in")
        #expect(inbox.isPaused && replies(inbox).first?.hasPrefix("ERROR ") == true, "it is taken in JSON alone")
        _ = try dialect.hear(inbox, #"{"command":"SET_MEDIA_DIRECTION","direction":"in"}"#)
        #expect(!inbox.isPaused)
        #expect(try dialect.hear(inbox, binary: [UInt8](repeating: 1, count: 160)) == [])
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, #"{"command":"SET_MEDIA_DIRECTION"}"#) }
    }

    @Test func hostileCommandsAreErrors() throws {
        let (dialect, inbox) = try carrier()
        for text in ["MARK_MEDIA " + String(repeating: "m", count: 118), "MARK_MEDIA \u{1}5", "", "{}"] {
            #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, text) }
        }
        for _ in 0..<AsteriskQueue.markLimit { _ = try dialect.hear(inbox, "MARK_MEDIA m") }
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, "MARK_MEDIA m") }
        let silent = AsteriskDialect(DialectOptions(role: .carrier))
        #expect(throws: MediaStreamError.self) { try silent.hear(inbox, "HANGUP") }
        #expect(throws: MediaStreamError.self) { try silent.hear(inbox, binary: [1]) }
    }

    // MARK: Both

    @Test(arguments: AsteriskDialect.traits.formats) func bothEndsUnderstandEachOther(format: WireFormat) throws {
        let line = try ConnectorLine(AsteriskDialect.self, format: format)
        line.open()
        #expect(line.atApplication == [.start(ConnectorLine.start)])
        line.tell(.dtmf("7"))
        line.speak(30) { line.tell($0) }
        #expect((26...30).contains(ConnectorLine.frames(line.atApplication).count { $0.peak > 7_000 }))
        line.speak(30) { line.say($0) }
        line.say(.mark("m"))
        line.pass(ms: 100)
        #expect((26...30).contains(ConnectorLine.frames(line.atCarrier).count { $0.peak > 7_000 }))
        #expect(line.sockets.application.sizes.allSatisfy { $0 % format.bytes(ofMs: 20) == 0 }, "whole frames")
        #expect(line.sockets.carrier.sizes.allSatisfy { $0 == format.bytes(ofMs: 20) }, "a frame each")
        #expect(line.atCarrier.contains(.mark("m")) && line.atApplication.contains(.dtmf("7")))
        line.say(.clear)
        #expect(line.atCarrier.last == .clear && line.atApplication.last == .mark("m"), "given back by ourselves")
        line.loop.run { line.application.close() }
        line.pass()
        #expect(line.atCarrier.last == .stop)
        #expect(line.carrier.malformed == 0 && line.application.malformed == 0)
    }

    @Test func aFullQueueHoldsUsBack() throws {
        let line = try ConnectorLine(AsteriskDialect.self)
        let caller = line.loop.run { ScriptedCaller(line.carrier, on: line.loop) }
        line.open()
        var sent = 0
        while sent < 1_200, line.say(.media(ConnectorLine.tone)) { sent += 1 }
        #expect((900...905).contains(sent))
        line.pass(ms: 1_900)
        #expect(line.say(.media(ConnectorLine.tone)) == false)
        line.pass(ms: 200)
        #expect(line.say(.media(ConnectorLine.tone)) == true, "below 800 it goes on")
        line.say(.mark("m"))
        line.pass(ms: 17_000)
        #expect(ConnectorLine.marks(line.atApplication) == ["m"] && caller.playedMs == (sent + 1) * 20)
        caller.leave()
    }

    @Test func badStreamsAreHungUp() throws {
        let line = try ConnectorLine(AsteriskDialect.self)
        line.inject("MEDIA_START connection_id:x format:opus optimal_frame_size:0 ptime:20")
        #expect(line.sockets.application.texts == ["HANGUP"] && line.sockets.application.closedWith == 1_003)
        let second = try ConnectorLine(AsteriskDialect.self)
        second.open()
        for _ in 0...WebSocketMediaStream.errorLimit { second.inject("?") }
        #expect(second.sockets.application.closedWith == 1_003)
    }

    @Test func randomBytesNeverTrap() throws {
        let events = [Self.plain, Self.json, "DTMF_END digit:1 channel_id:x", "STATUS queue_full:true"]
        let commands = ["MARK_MEDIA m", #"{"command":"STOP_MEDIA_BUFFERING","correlation_id":"x"}"#, "FLUSH_MEDIA"]
        for round in 0..<3_000 {
            let isCarrier = round % 2 == 0
            let (dialect, inbox) = isCarrier ? try carrier() : try application()
            for text in isCarrier ? commands : events {
                var bytes = Array(text.utf8)
                for _ in 0..<Int.random(in: 0...3) {
                    bytes[Int.random(in: bytes.indices)] = UInt8.random(in: .min ... .max)
                }
                bytes = Array(bytes.prefix(Int.random(in: 0...4) == 0 ? Int.random(in: 0...bytes.count) : bytes.count))
                let kind: WebSocket.Kind = Int.random(in: 0..<4) == 0 ? .binary : .text
                try? bytes.withUnsafeBufferPointer { try dialect.decode($0, kind, into: inbox) }
                for message in inbox.take() { _ = dialect.text(message) }
                _ = inbox.takeReplies()
            }
        }
    }
}
