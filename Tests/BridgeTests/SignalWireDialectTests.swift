import Foundation
import Pipeline
import TestSupport
import Testing

@testable import Bridge
@testable import Net

/// Messages as in signalwire.com/docs/compatibility-api/cxml/reference/voice/stream.
@Suite struct SignalWireDialectTests {
    static let id = "7d56cc11-536d-4a45-b4fb-ed3d55be843b"
    static let call = "76ac3c36-56da-4a3e-a0d6-b5f8df6da9ad"

    static func start(_ encoding: String = "audio/x-mulaw", _ rate: Int = 8_000) -> String {
        #"{"event":"start","sequenceNumber":"1","start":{"streamSid":"\#(id)","#
            + #""accountSid":"b08dacad-2f6c-4de1-93d6-cc732e0c69c5","callSid":"\#(call)","tracks":["inbound"],"#
            + #""customParameters":{"k":"v"},"mediaFormat":{"encoding":"\#(encoding)","sampleRate":\#(rate),"#
            + #""channels":1}}}"#
    }
    static func media(_ sound: [UInt8]) -> String {
        #"{"event":"media","sequenceNumber":"1002","media":{"track":"inbound","chunk":"1001","timestamp":"20041","#
            + #""payload":"\#(Data(sound).base64EncodedString())"}}"#
    }
    private func application(_ start: String? = nil, _ options: DialectOptions? = nil) throws -> DialectBench {
        let bench = try DialectBench(SignalWireDialect.self, options ?? DialectOptions(role: .application))
        _ = try bench.hear(start ?? Self.start())
        return bench
    }

    @Test func itsMessagesAreUnderstood() throws {
        let bench = try DialectBench(SignalWireDialect.self, DialectOptions(role: .application))
        #expect(try bench.hear(#"{"event":"connected","protocol":"Call","version":"0.2.0"}"#) == [.connected])
        #expect(
            try bench.hear(Self.start()) == [
                .start(StreamStart(streamID: Self.id, callID: Self.call, parameters: ["k": "v"]))
            ])
        guard case .media(let frame)? = try bench.hear(Self.media([UInt8](repeating: 7, count: 160))).first else {
            Issue.record("no media")
            return
        }
        #expect(frame.bytes[159] == 7 && frame.timestampMs == 20_041)
        #expect(
            try bench.hear(#"{"event":"dtmf","streamSid":"\#(Self.id)","dtmf":{"duration":2700,"digit":"8"}}"#) == [
                .dtmf("8")
            ])
        #expect(
            try bench.hear(#"{"event":"mark","streamSid":"\#(Self.id)","mark":{"name":"item_CK5:43500"}}"#) == [
                .mark("item_CK5:43500")
            ])
        #expect(try bench.hear(#"{"event":"clear","streamSid":"x"}"#, #"{"event":"new"}"#) == [], "ours to say")
        #expect(try bench.hear(#"{"event":"stop","sequenceNumber":"1002"}"#) == [.stop])
    }

    @Test func theApplicationSaysWhatSignalWireTakes() throws {
        let bench = try application()
        #expect(bench.say(.clear) == #"{"event":"clear","streamSid":"\#(Self.id)"}"#)
        #expect(bench.say(.mark("a b")) == #"{"event":"mark","streamSid":"\#(Self.id)","mark":{"name":"a b"}}"#)
        #expect(
            bench.say(sound: [1, 2, 3]) == #"{"event":"media","streamSid":"\#(Self.id)","media":{"payload":"AQID"}}"#)
        #expect(
            bench.say(.dtmf("#"))
                == ##"{"dtmf":{"digit":"#","duration":200},"event":"dtmf","streamSid":"\##(Self.id)"}"##)
        #expect(bench.say(.stop) == nil && bench.say(.connected) == nil)
    }

    /// Only what answers an application names the stream beside its body.
    @Test func theCarrierSaysWhatSignalWireSays() throws {
        let bench = try DialectBench(SignalWireDialect.self, DialectOptions(role: .carrier))
        #expect(bench.say(.connected)?.contains(#""version":"0.2.0""#) == true)
        let start = StreamStart(streamID: Self.id, callID: Self.call, parameters: ["k": "\u{1}\""])
        let object = try DialectBench.object(bench.say(.start(start)))
        #expect(Set(object.keys) == ["event", "sequenceNumber", "start"])
        #expect((object["start"] as? [String: Any])?["streamSid"] as? String == Self.id)
        #expect(
            bench.say(sound: [255], timestampMs: 5)
                == #"{"event":"media","sequenceNumber":"2","media":{"track":"inbound","chunk":"1","#
                + #""timestamp":"5","payload":"/w=="}}"#)
        #expect(try DialectBench.object(bench.say(.mark("\"m")))["streamSid"] as? String == Self.id)
        #expect(bench.say(.stop) == #"{"event":"stop","sequenceNumber":"3"}"#)
        #expect(
            try bench.hear(
                #"{"event":"clear","streamSid":"\#(Self.id)"}"#,
                #"{"event":"dtmf","streamSid":"\#(Self.id)","dtmf":{"digit":"A"}}"#,
                #"{"event":"mark","streamSid":"\#(Self.id)","mark":{"name":"m"}}"#) == [.clear, .dtmf("A"), .mark("m")])
        #expect(throws: MediaStreamError.self) {
            try bench.hear(#"{"event":"media","streamSid":"another","media":{"payload":"AQID"}}"#)
        }
    }

    @Test func theTokenIsThatOfTheUpgrade() {
        let handshake = WebSocket.Handshake(path: "/", query: [], headers: ["authorization": "Bearer t1"], peer: "")
        let start = StreamStart(streamID: "s", callID: "c", parameters: ["token": "t2"])
        #expect(SignalWireDialect.traits.tokens.compactMap { $0.token(in: start, of: handshake) } == ["t1", "t2"])
    }

    @Test(arguments: SignalWireDialect.traits.formats) func everyFormatIsSpokenByBothEnds(format: WireFormat) throws {
        let line = try StreamLine(
            SignalWireDialect.self, carrier: DialectOptions(role: .carrier, streamID: Self.id, format: format))
        line.tell(.connected)
        line.tell(.start(StreamStart(streamID: Self.id, callID: Self.call)))
        line.loop.advance(ms: 20)
        #expect(line.application.soundRate == format.sampleRate)
        line.expectSoundBothWays()
        line.tell(.dtmf("5"))
        line.say(.dtmf("6"))
        line.say(.mark("m"))
        line.loop.advance(ms: 200)
        line.say(.clear)
        line.loop.advance(ms: 20)
        #expect(line.atApplication.last == .dtmf("5") && line.atCarrier.contains(.dtmf("6")))
        #expect(StreamLine.marks(line.atCarrier) == ["m"] && line.atCarrier.last == .clear)
        #expect(line.application.malformed == 0 && line.carrier.malformed == 0)
        let sizes = try line.sockets.carrier.texts.filter { $0.contains("payload") }
            .map { try DialectBench.payload($0).count }
        #expect(Set(sizes) == [format.bytes(ofMs: 20)])
    }

    @Test func theOrderOfTheBytesMayBeSet() throws {
        let start = Self.start("audio/x-L16", 24_000)
        #expect(try application(start).inbox.terms.incoming.encoding == .linear16(.little))
        let options = DialectOptions(role: .application, byteOrder: .big)
        #expect(try application(start, options).inbox.terms.outgoing.encoding == .linear16(.big))
        #expect(try application(Self.start("audio/x-alaw")).inbox.terms.incoming == WireFormat.aLaw8k)
    }

    @Test(arguments: [
        start("audio/G722", 16_000), start("audio/x-L16", 96_000),
        start().replacing(#""channels":1"#, with: #""channels":9"#),
    ])
    func whatCannotBeSpokenIsRefusedAtOnce(start: String) throws {
        let line = try StreamLine(SignalWireDialect.self)
        line.inject(start)
        #expect(line.sockets.application.closedWith == 1_003 && line.atApplication.isEmpty)
    }

    @Test(arguments: [
        "", "[]", #"{"event":"media"}"#, #"{"event":"media","media":{"payload":"!!!!"}}"#, #"{"event":"mark"}"#,
        #"{"event":"dtmf","dtmf":{"digit":"z"}}"#, #"{"event":"start"}"#, #"{"event":"stop"} trailing"#, start(),
        #"{"event":"media","streamSid":"another","media":{"payload":"AQID"}}"#,
        media([UInt8](repeating: 0, count: 1 << 20)),
    ])
    func malformedMessagesAreErrors(text: String) throws {
        let bench = try application()
        #expect(throws: MediaStreamError.self) { _ = try bench.hear(text) }
        #expect(bench.sound([Self.media([UInt8](repeating: 0, count: 160))]).count == 160, "it goes on")
    }

    @Test func soundBeforeStartIsAnError() throws {
        let bench = try DialectBench(SignalWireDialect.self, DialectOptions(role: .application))
        #expect(throws: MediaStreamError.self) { _ = try bench.hear(Self.media([1, 2])) }
        #expect(throws: MediaStreamError.self) { _ = try bench.hear(Self.start().replacing(Self.id, with: #"a\"b"#)) }
    }

    @Test func soundOfOddLengthIsCutAnywhere() throws {
        let bench = try application(Self.start("audio/x-L16", 16_000))
        for _ in 0..<40 { _ = try bench.hear(Self.media([UInt8](repeating: 0, count: 639))) }
        #expect(throws: MediaStreamError.self) { _ = try bench.hear(Self.media([UInt8](repeating: 0, count: 32_001))) }
    }

    @Test func randomBytesNeverTrap() throws {
        let texts = [Self.start(), Self.start("audio/x-L16", 24_000), Self.media([1, 2, 3]), #"{"event":"stop"}"#]
        for role in [MediaStreamRole.application, .carrier] {
            try DialectBench(SignalWireDialect.self, DialectOptions(role: role)).endure(texts)
        }
        try application().endure(texts)
    }
}
