import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

@Suite struct TwilioDialectTests {
    private static let start =
        #"{"event":"start","sequenceNumber":"1","streamSid":"MZ1","#
        + #""start":{"streamSid":"MZ1","accountSid":"AC","callSid":"CA1","tracks":["inbound"],"#
        + #""customParameters":{"k":"v"},"mediaFormat":{"encoding":"audio/x-mulaw","sampleRate":8000,"channels":1}}}"#

    /// What the texts say, one after the other, to a stream that has begun or not.
    private func decode(_ texts: String..., hasStarted: Bool = true) throws -> [MediaStreamMessage] {
        let dialect = TwilioDialect(DialectOptions(role: .application))
        let inbox = try DialectInbox(dialect.terms)
        for text in (hasStarted ? [Self.start] : []) + texts {
            if text == texts.first { _ = inbox.take() }
            try Array(text.utf8).withUnsafeBufferPointer { try dialect.decode($0, .text, into: inbox) }
        }
        return inbox.take()
    }
    private func encode(_ message: MediaStreamMessage, _ dialect: TwilioDialect) -> String? {
        var buffer = [UInt8](repeating: 0, count: dialect.capacity(for: message))
        let count = buffer.withUnsafeMutableBufferPointer { dialect.encode(message, into: $0) }
        return count.map { String(decoding: buffer[..<$0], as: UTF8.self) }
    }
    private func encode(_ frame: EncodedFrame, _ dialect: TwilioDialect) -> String {
        var buffer = [UInt8](repeating: 0, count: dialect.capacity(forSound: EncodedFrame.byteCount))
        let count = buffer.withUnsafeMutableBufferPointer { target in
            frame.withBytes { dialect.encode(sound: $0, timestampMs: frame.timestampMs, into: target) }
        }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    @Test func twilioMessagesAreUnderstood() throws {
        #expect(
            try decode(#"{"event":"connected","protocol":"Call","version":"1.0.0"}"#, hasStarted: false) == [.connected]
        )
        #expect(
            try decode(Self.start, hasStarted: false) == [
                .start(StreamStart(streamID: "MZ1", callID: "CA1", parameters: ["k": "v"]))
            ])
        #expect(
            try decode(##"{"event":"dtmf","streamSid":"MZ1","dtmf":{"track":"inbound_track","digit":"#"}}"##) == [
                .dtmf("#")
            ])
        #expect(try decode(#"{"event":"mark","streamSid":"MZ1","mark":{"name":"m1"}}"#) == [.mark("m1")])
        #expect(try decode(#"{"event":"stop","streamSid":"MZ1","stop":{}}"#) == [.stop])
        #expect(try decode(#"{"event":"something-new","x":[1,{"y":"}"}]}"#) == [])
        #expect(
            try decode(#"{"event":"media","media":{"track":"outbound","payload":"AQID"}}"#) == [],
            "our own voice is not the caller's")
    }

    @Test func payloadsOfAnyLengthBecomeFrames() throws {
        func media(_ bytes: [UInt8]) -> String {
            #" { "media" : {"payload":"\#(Data(bytes).base64EncodedString())","timestamp":"40","track":"inbound"}, "#
                + #""event":"media" } "#
        }
        let short = try decode(media([UInt8](repeating: 1, count: 3)), media([UInt8](repeating: 2, count: 157)))
        guard case .media(let frame)? = short.first else {
            Issue.record("no media")
            return
        }
        #expect(short.count == 1 && frame.bytes[2] == 1 && frame.bytes[3] == 2 && frame.timestampMs == 40)
        #expect(try decode(media([UInt8](repeating: 3, count: 800))).count == 5)
        #expect(
            try decode(#"{"event":"media","media":{"payload":"\/\/\/\/"}}"#, media([UInt8](repeating: 255, count: 157)))
                .count == 1)
        #expect(throws: MediaStreamError.self) { try decode(media([UInt8](repeating: 3, count: 1 << 20))) }
    }

    @Test func orderAndStreamAreChecked() throws {
        let media = #"{"event":"media","streamSid":"MZ1","media":{"payload":"AQID"}}"#
        #expect(throws: MediaStreamError.self) { try decode(media, hasStarted: false) }
        #expect(throws: MediaStreamError.self) { try decode(media.replacing("MZ1", with: "MZ2")) }
        #expect(throws: MediaStreamError.self) { try decode(Self.start) }
        let unspoken = MediaStreamError("start.mediaFormat.encoding is not audio/x-mulaw", refusal: .format)
        #expect(throws: unspoken) {
            try decode(Self.start.replacing("audio/x-mulaw", with: "audio/opus"), hasStarted: false)
        }
    }

    @Test(arguments: [
        "", "[]", "{", "{\"event\":", "{\"event\":\"media\"}", "{\"event\":\"media\",\"media\":{\"payload\":\"!!!!\"}}",
        "{\"event\":\"media\",\"media\":{\"payload\":\"QQ=\"}}", "{\"event\":\"mark\"}",
        "{\"event\":\"dtmf\",\"dtmf\":{\"digit\":\"z\"}}",
        "{\"event\":\"start\"}",
        "}}}}", "{\"event\":\"stop\"} trailing", "{\"event\":\"stop\",\"x\":\"open}",
    ])
    func malformedMessagesAreErrors(text: String) { #expect(throws: MediaStreamError.self) { _ = try decode(text) } }

    @Test func aFrameSurvivesTheWire() throws {
        var frame = EncodedFrame(timestampMs: 1_234)
        for index in frame.bytes.indices { frame.bytes[index] = UInt8(truncatingIfNeeded: index &* 7) }
        let carrier = TwilioDialect(DialectOptions(role: .carrier, streamID: "MZ1"))
        let text = encode(frame, carrier)
        #expect(try decode(text) == [.media(frame)])
        #expect(text.contains(#""sequenceNumber":"1""#) && text.contains(#""timestamp":"1234""#))
        #expect((try? JSONSerialization.jsonObject(with: Data(text.utf8))) != nil)
    }

    @Test func theApplicationSaysOnlyWhatTwilioTakes() throws {
        let application = TwilioDialect(DialectOptions(role: .application, streamID: "MZ9"))
        let clear = encode(.clear, application)
        #expect(clear == #"{"event":"clear","streamSid":"MZ9"}"#)
        let mark = encode(.mark("a\"b"), application)
        #expect(mark == ##"{"event":"mark","mark":{"name":"a\"b"},"streamSid":"MZ9"}"##)
        let digit = encode(.dtmf("1"), application)
        let stop = encode(.stop, application)
        #expect(digit == nil && stop == nil)
        let media = encode(EncodedFrame(), application)
        let object = try #require(JSONSerialization.jsonObject(with: Data(media.utf8)) as? [String: Any])
        #expect(Set(object.keys) == ["event", "streamSid", "media"])
        #expect(Set((object["media"] as? [String: Any])?.keys ?? [:].keys) == ["payload"])
    }

    @Test func randomBytesNeverTrap() throws {
        let dialect = TwilioDialect(DialectOptions(role: .application))
        let inbox = try DialectInbox(dialect.terms)
        let valid = Array(#"{"event":"media","streamSid":"MZ1","media":{"payload":"AQID","timestamp":"40"}}"#.utf8)
        for _ in 0..<5_000 {
            var bytes = valid
            for _ in 0..<Int.random(in: 1...4) {
                bytes[Int.random(in: bytes.indices)] = UInt8.random(in: .min ... .max)
            }
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count)))
            try? bytes.withUnsafeBufferPointer { try dialect.decode($0, .text, into: inbox) }
            _ = inbox.take()
        }
    }
}
