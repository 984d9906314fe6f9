import TestSupport
import Testing

@testable import Bridge
@testable import Net

/// A leg of ours that is streamed to Asterisk itself (`WebSocket/INCOMING`). The messages are those of Asterisk 23.4.1.
@Suite struct AsteriskChannelTests {
    private static let id = "ba955e9a-4c22-43d2-8a20-148aa4b136c6"
    private static let json =
        #"{"event":"MEDIA_START","connection_id":"ba955e9a-4c22-43d2-8a20-148aa4b136c6","#
        + #""channel":"WebSocket/INCOMING/0x7fec080039c0","channel_id":"1795593765.26","format":"slin16","#
        + #""optimal_frame_size":640,"ptime":20,"channel_variables":{"MEDIA_WEBSOCKET_CONNECTION_ID":"#
        + #""ba955e9a-4c22-43d2-8a20-148aa4b136c6","MEDIA_WEBSOCKET_OPTIMAL_FRAME_SIZE":"640"}}"#
    private static let plain =
        "MEDIA_START connection_id:ba955e9a-4c22-43d2-8a20-148aa4b136c6 channel:WebSocket/INCOMING/0x7fec2000f990 "
        + "channel_id:1795593771.27 format:slin optimal_frame_size:320 ptime:20"

    private func leg() throws -> (dialect: AsteriskDialect, inbox: DialectInbox) {
        let dialect = AsteriskDialect(DialectOptions(role: .carrier))
        _ = dialect.text(.start(ConnectorLine.start))
        return (dialect, try DialectInbox(dialect.terms))
    }

    private func replies(_ inbox: DialectInbox) -> [String] {
        inbox.takeReplies().map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func aChannelIsAnsweredInItsFormAndFormat() throws {
        let (dialect, inbox) = try leg()
        let variables = ["MEDIA_WEBSOCKET_CONNECTION_ID": Self.id, "MEDIA_WEBSOCKET_OPTIMAL_FRAME_SIZE": "640"]
        let start = StreamStart(streamID: Self.id, callID: "1795593765.26", parameters: variables)
        #expect(try dialect.hear(inbox, Self.json) == [.start(start)])
        #expect(replies(inbox) == [#"{"command":"ANSWER"}"#])
        #expect(inbox.terms.incoming.sampleRate == 16_000 && inbox.terms.chunks.maximum == 640, "a frame each")
        let (other, second) = try leg()
        #expect(
            try other.hear(second, Self.plain) == [.start(StreamStart(streamID: Self.id, callID: "1795593771.27"))])
        #expect(replies(second) == ["ANSWER"] && second.terms.outgoing.bytes(ofMs: 20) == 320)
    }

    @Test func itsSoundAndKeysAreHeardAndItsQueueIsItsOwn() throws {
        let (dialect, inbox) = try leg()
        _ = try dialect.hear(inbox, Self.plain)
        let heard = try dialect.hear(inbox, binary: [UInt8](repeating: 1, count: 640))
        #expect(ConnectorLine.frames(heard).count == 2 && ConnectorLine.marks(heard) == [], "no marks count its frames")
        #expect(try dialect.hear(inbox, "DTMF_END digit:# channel_id:1795593771.27") == [.dtmf("#")])
        #expect(try dialect.hear(inbox, "MEDIA_XOFF") == [] && inbox.isPaused)
        #expect(try dialect.hear(inbox, "MEDIA_XON") == [] && !inbox.isPaused)
        #expect(dialect.text(.dtmf("5")) == nil && dialect.text(.mark("m")) == nil, "no command for either")
        #expect(dialect.encode(.pause) == nil && dialect.text(.stop) == "HANGUP")
    }

    @Test func whatIsNoChannelOfOursIsRefused() throws {
        let (dialect, inbox) = try leg()
        #expect(dialect.refusal(inbox, "MEDIA_START connection_id:x format:opus optimal_frame_size:0") == .format)
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, "MEDIA_START format:ulaw") }
        #expect(try dialect.hear(inbox, "FLUSH_MEDIA") == [.clear], "an application is still heard")
        _ = try dialect.hear(inbox, Self.plain)
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, Self.plain) }
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, "DTMF_END digit:1 channel_id:1.1") }
    }

    @Test func bothWaysOfSoundPassAndItsCloseEndsTheCall() throws {
        let line = try ConnectorLine(AsteriskDialect.self)
        line.tell(.start(ConnectorLine.start))
        line.sockets.application.send(text: Self.json)
        line.pass()
        #expect(line.carrier.isAdmitted && line.sockets.carrier.texts.last == #"{"command":"ANSWER"}"#)
        let before = line.sockets.carrier.sizes.count
        line.speak(10) { line.tell($0) }
        let sizes = line.sockets.carrier.sizes.dropFirst(before)
        #expect(sizes.count >= 9 && sizes.allSatisfy { $0 == 640 }, "whole frames of its format")
        line.loop.run { line.sockets.application.close(code: 1_000) }
        line.pass()
        #expect(line.atCarrier.last == .stop && line.carrier.malformed == 0)
    }

    @Test func aServerThatWantsPlainTextIsToldInIt() throws {
        let handshake = WebSocket.Handshake(
            path: "/media", query: [("control_message_format", "plain-text")], headers: [:], peer: "")
        let dialect = AsteriskDialect(DialectOptions(role: .carrier, handshake: handshake))
        let start = ConnectorLine.start
        #expect(
            dialect.text(.start(start))
                == "MEDIA_START connection_id:\(start.streamID) channel:WebSocket/\(start.streamID) "
                + "channel_id:\(start.callID) format:ulaw optimal_frame_size:160 ptime:20")
        #expect(dialect.text(.dtmf("5")) == "DTMF_END digit:5 channel_id:\(start.callID)")
    }
}
