import Foundation
import Net
import Pipeline
import TestSupport
import Testing

@testable import Bridge

/// Plivo's messages as its reference and its SDK (plivo-stream-sdk 0.1.1) have them, and Vobiz's.
@Suite struct PlivoDialectTests {
    private static let id = "87654321-4321-4321-4321-cba987654321"
    private static func start(_ encoding: String = "audio/x-mulaw", _ rate: String = "8000", extra: String = "")
        -> String
    {
        #"{"event":"start","sequenceNumber":1,"start":{"callId":"12345678-1234-1234-1234-123456789abc","#
            + #""streamId":"\#(id)","accountId":"MAXXXXXXXXXXXXXXXXXX","tracks":["inbound"],"#
            + #""mediaFormat":{"encoding":"\#(encoding)","sampleRate":\#(rate)}}\#(extra)}"#
    }
    private static func media(_ sound: [UInt8], time: String = "1705312200000") -> String {
        #"{"event":"media","sequenceNumber":42,"streamId":"\#(id)","media":{"track":"inbound","timestamp":"\#(time)","#
            + #""chunk":41,"payload":"\#(Data(sound).base64EncodedString())"},"extra_headers":"{}"}"#
    }
    private static func play(_ type: String, _ rate: Int, _ sound: [UInt8]) -> String {
        #"{"event":"playAudio","media":{"contentType":"\#(type)","sampleRate":\#(rate),"#
            + #""payload":"\#(Data(sound).base64EncodedString())"}}"#
    }
    private static func linear(_ rate: Int32) -> WireFormat { WireFormat(.linear16(.little), sampleRate: rate) }

    /// Plivo streams to us.
    private func application(started: Bool = true) throws -> DialectBench {
        let probe = try DialectBench(PlivoDialect.self, DialectOptions(role: .application))
        if started { try probe.hear(Self.start()) }
        return probe
    }
    /// We stream to a server made for Plivo.
    private func carrier(_ format: WireFormat? = nil, started: Bool = true) throws -> DialectBench {
        let probe = try DialectBench(
            PlivoDialect.self, DialectOptions(role: .carrier, streamID: "ours", format: format))
        if started { _ = probe.say(.start(StreamStart(streamID: "ours", callID: "c"))) }
        return probe
    }

    // MARK: What Plivo says

    @Test func plivosMessagesAreUnderstood() throws {
        let probe = try application(started: false)
        let start = StreamStart(
            streamID: Self.id, callID: "12345678-1234-1234-1234-123456789abc",
            parameters: ["userId": "12345", "sessionId": "abc-xyz"])
        #expect(
            try probe.hear(Self.start(extra: #","extra_headers":"userId=12345;sessionId=abc-xyz""#)) == [.start(start)])
        #expect(
            try probe.hear(
                #"{"event":"dtmf","sequenceNumber":5,"streamId":"\#(Self.id)","dtmf":{"track":"inbound","digit":"5","#
                    + #""timestamp":"100"}}"#) == [.dtmf("5")])
        #expect(
            try probe.hear(#"{"event":"playedStream","streamId":"\#(Self.id)","name":"greeting audio"}"#)
                == [.mark("greeting audio")])
        #expect(try probe.hear(#"{"event":"playedStream","name":"of-vobiz"}"#) == [.mark("of-vobiz")])
        #expect(try probe.hear(#"{"event":"played","streamId":"\#(Self.id)","name":"m"}"#) == [.mark("m")])
        #expect(try probe.hear(#"{"sequenceNumber":0,"event":"clearedAudio","streamId":"\#(Self.id)"}"#) == [])
        #expect(try probe.hear(#"{"event":"playFailed","reason":"x"}"#, #"{"event":"error","reason":"x"}"#) == [])
        #expect(try probe.hear(#"{"event":"something-new","x":[1,{"y":"}"}]}"#) == [])
        #expect(try probe.hear(#"{"event":"stop","streamId":"\#(Self.id)"}"#) == [.stop])
    }

    @Test(arguments: [
        (#""k=v;x=a=b""#, ["k": "v", "x": "a=b"]),
        (#""test1=12,test2=123""#, ["test1": "12", "test2": "123"]),
        (#""{\"k\":\"v\",\"n\":7,\"o\":null}""#, ["k": "v", "n": "7"]),
        (#"{"k":"v"}"#, ["k": "v"]),
        (#""{}""#, [:]), (#""""#, [:]), ("null", [:]), ("7", [:]), (#""no pairs""#, [:]), (#""{broken""#, [:]),
    ])
    func customDataComesInEveryForm(extra: String, parameters: [String: String]) throws {
        let heard = try application(started: false).hear(Self.start(extra: #","extra_headers":\#(extra)"#))
        guard case .start(let start)? = heard.first else {
            Issue.record("no start")
            return
        }
        #expect(start.parameters == parameters)
    }

    @Test func customDataIsBounded() throws {
        let many = (0..<1_000).map { "k\($0)=v" }.joined(separator: ";")
        guard
            case .start(let start)? = try application(started: false).hear(
                Self.start(extra: #","extra_headers":"\#(many)""#)
            ).first
        else {
            Issue.record("no start")
            return
        }
        #expect(start.parameters.count <= WireJSON.memberLimit && start.parameters["k0"] == "v")
    }

    @Test(arguments: [
        ("audio/x-mulaw", "8000", WireFormat.muLaw8k), ("audio/x-l16", "8000", linear(8_000)),
        ("audio/x-l16", "16000", linear(16_000)), ("audio/x-L16", #""16000""#, linear(16_000)),
        ("audio/x-l16;rate=16000", "16000", linear(16_000)), ("audio/x-l16", "24000", linear(24_000)),
    ])
    func formatsAreAgreedOn(encoding: String, rate: String, format: WireFormat) throws {
        let probe = try application(started: false)
        try probe.hear(Self.start(encoding, rate))
        #expect(probe.inbox.terms.incoming == format && probe.inbox.terms.outgoing == format)
        let media = try #require(try DialectBench.object(probe.say(sound: [1, 2, 3, 4]))["media"] as? [String: Any])
        #expect(media["sampleRate"] as? Int == Int(format.sampleRate))
        #expect(media["contentType"] as? String == (format == .muLaw8k ? "audio/x-mulaw" : "audio/x-l16"))
        let sound = [UInt8](repeating: 0, count: format.bytes(ofMs: 40))
        #expect(!(try probe.hear(Self.media(sound))).isEmpty)
    }

    @Test(arguments: [
        ("audio/opus", "8000"), ("audio/x-mulaw", "16000"), ("audio/x-l16", "44100"), ("audio/x-alaw", "8000"),
        ("", "8000"), ("audio/x-l16", #""x""#), ("audio/x-l16", "-8000"), ("audio/x-l16", "99999999999999999999"),
    ])
    func otherFormatsAreRefused(encoding: String, rate: String) throws {
        #expect(try application(started: false).refusal(of: Self.start(encoding, rate))?.refusal == .format)
    }

    @Test func soundHasItsTimeSinceTheBegin() throws {
        let probe = try application()
        let sound = (0..<160).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let heard = try probe.hear(Self.media(sound), Self.media(sound, time: "1705312200040"))
        let frames = heard.compactMap { if case .media(let frame) = $0 { frame } else { nil } }
        #expect(frames.map(\.timestampMs) == [0, 40])
        #expect(frames.allSatisfy { frame in frame.withBytes { Array($0) } == sound })
        #expect(try probe.hear(Self.media(sound, time: "99999999999999999999")).count == 1, "no time at all")
        #expect(try probe.hear(Self.media(sound, time: "1")).count == 1, "before the begin")
        #expect(
            try probe.hear(Self.media(sound).replacing(#""inbound""#, with: #""outbound""#)) == [],
            "our own voice is not the caller's")
        #expect(try probe.hear(#"{"event":"media","media":{"payload":"\/\/\/\/"}}"#) == [])
    }

    @Test func orderAndStreamAreChecked() throws {
        for event in ["media", "dtmf", "playedStream", "stop"] {
            let probe = try application(started: false)
            #expect(probe.refusal(of: #"{"event":"\#(event)","name":"m","media":{"payload":""}}"#) != nil, "\(event)")
        }
        let probe = try application()
        #expect(probe.refusal(of: Self.start())?.reason == "a second start")
        #expect(probe.refusal(of: Self.media([1]).replacing(Self.id, with: "another")) != nil)
        let other = try carrier()
        #expect(other.refusal(of: #"{"event":"clearAudio","streamId":"another"}"#) != nil)
        #expect(other.inbox.takeReplies().isEmpty)
    }

    @Test(arguments: [
        "", "[]", "{", #"{"event":"#, #"{"event":7}"#, #"{"event":"media"}"#, #"{"event":"media","media":[]}"#,
        #"{"event":"media","media":{}}"#, #"{"event":"media","media":{"payload":7}}"#,
        #"{"event":"media","media":{"payload":"!!!!"}}"#, #"{"event":"media","media":{"payload":"QQ="}}"#,
        #"{"event":"playedStream"}"#, #"{"event":"playedStream","name":{}}"#, #"{"event":"dtmf"}"#,
        #"{"event":"dtmf","dtmf":{"digit":"z"}}"#, #"{"event":"dtmf","dtmf":{"digit":"12"}}"#,
        #"{"event":"dtmf","dtmf":"1"}"#, "}}}}", #"{"event":"stop"} trailing"#, #"{"event":"stop","x":"open}"#,
    ])
    func malformedMessagesAreErrors(text: String) throws { #expect(try application().refusal(of: text) != nil) }

    @Test(arguments: [
        #"{"event":"start"}"#, #"{"event":"start","start":{}}"#, #"{"event":"start","start":{"streamId":""}}"#,
        #"{"event":"start","start":{"streamId":"a\"b"}}"#, #"{"event":"start","start":"s"}"#,
    ])
    func aStartWithoutAnIDIsAnError(text: String) throws {
        #expect(try application(started: false).refusal(of: text) != nil)
    }

    @Test func tooLongMessagesAreErrors() throws {
        let sound = [UInt8](repeating: 0, count: 1 << 20)
        #expect(try application().refusal(of: Self.media(sound)) != nil)
        #expect(try carrier().refusal(of: Self.play("audio/x-l16", 16_000, sound)) != nil)
        let name = String(repeating: "n", count: PlivoDialect.nameLimit + 1)
        #expect(try application().refusal(of: #"{"event":"playedStream","name":"\#(name)"}"#) != nil)
        #expect(try carrier().refusal(of: #"{"event":"checkpoint","name":"\#(name)"}"#) != nil)
    }

    // MARK: What an application says

    @Test func theApplicationSaysWhatPlivoTakes() throws {
        let probe = try application()
        #expect(
            probe.say(sound: [0xFF, 0x7F])
                == #"{"event":"playAudio","streamId":"\#(Self.id)","media":{"contentType":"audio/x-mulaw","#
                + #""sampleRate":8000,"payload":"/38="}}"#)
        #expect(probe.say(.mark("m 1")) == #"{"event":"checkpoint","streamId":"\#(Self.id)","name":"m 1"}"#)
        #expect(
            probe.say(.mark("a\"b")) == #"{"event":"checkpoint","name":"a\"b","streamId":"\#(Self.id)"}"#)
        #expect(probe.say(.clear) == #"{"event":"clearAudio","streamId":"\#(Self.id)"}"#)
        #expect(probe.say(.dtmf("#")) == ##"{"dtmf":"#","event":"sendDTMF"}"##)
        for message in [MediaStreamMessage.stop, .connected, .start(StreamStart(streamID: "s", callID: "c"))] {
            #expect(probe.say(message) == nil)
        }
        #expect(probe.dialect.encode(.refused(.format)) == nil && probe.dialect.encode(.keepAlive) == nil)
    }

    // MARK: What we say as Plivo

    @Test func theCarrierSpeaksAsPlivoDoes() throws {
        let probe = try carrier(started: false)
        #expect(probe.say(.connected) == nil)
        let start = try DialectBench.object(
            probe.say(.start(StreamStart(streamID: "ours", callID: "c\u{1}\"", parameters: ["k": "v", "a": "1"]))))
        let inner = try #require(start["start"] as? [String: Any])
        #expect(start["sequenceNumber"] as? Int == 1 && start["extra_headers"] as? String == "a=1;k=v")
        #expect(Set(inner.keys) == ["callId", "streamId", "accountId", "tracks", "mediaFormat"])
        let media = try DialectBench.object(probe.say(sound: [1, 2, 3], timestampMs: 20))
        let sound = try #require(media["media"] as? [String: Any])
        #expect(media["sequenceNumber"] as? Int == 2 && media["streamId"] as? String == "ours")
        #expect(sound["chunk"] as? Int == 1 && sound["track"] as? String == "inbound")
        let time = try #require(Int(sound["timestamp"] as? String ?? ""))
        #expect(abs(Double(time) / 1_000 - Date().timeIntervalSince1970) < 600, "milliseconds since 1970")
        let next = try #require(
            try DialectBench.object(probe.say(sound: [1], timestampMs: 40))["media"] as? [String: Any])
        #expect(next["timestamp"] as? String == String(time + 20) && next["chunk"] as? Int == 2)
        let digit = try DialectBench.object(probe.say(.dtmf("5")))
        #expect((digit["dtmf"] as? [String: String])?["digit"] == "5" && digit["sequenceNumber"] as? Int == 4)
        let played = try DialectBench.object(probe.say(.mark("m")))
        #expect(played["event"] as? String == "playedStream" && played["name"] as? String == "m")
        #expect(try DialectBench.object(probe.say(.stop))["event"] as? String == "stop")
        #expect(probe.say(.clear) == nil)
    }

    @Test func customDataSurvivesTheWire() throws {
        for parameters in [
            ["k": "v"], ["brief": #"{"purpose":"a;b=c, \"d\"","x":1}"#, "ü": "\u{1}\n\\"], ["empty": ""], [:],
            ["only": "a,b=c"], ["long": String(repeating: "\u{1}\"\\", count: 3_000)],
        ] {
            let text = try #require(
                try carrier(started: false).say(
                    .start(StreamStart(streamID: "s", callID: "c", parameters: parameters))))
            guard case .start(let start)? = try application(started: false).hear(text).first else {
                Issue.record("no start")
                return
            }
            #expect(start.parameters == parameters)
        }
    }

    @Test func theCarrierDoesWhatIsAsked() throws {
        let probe = try carrier()
        #expect(try probe.hear(#"{"event":"checkpoint","streamId":"ours","name":"m"}"#) == [.mark("m")])
        #expect(
            try probe.hear(##"{"event":"sendDTMF","dtmf":"12#"}"##) == [.dtmf("1"), .dtmf("2"), .dtmf("#")])
        #expect(try probe.hear(#"{"event":"clearAudio","streamId":"ours"}"#) == [.clear])
        let reply = try #require(probe.inbox.takeReplies().first)
        let cleared = try DialectBench.object(String(decoding: reply, as: UTF8.self))
        #expect(cleared["event"] as? String == "clearedAudio" && cleared["streamId"] as? String == "ours")
        #expect(try probe.hear(#"{"event":"stop","streamId":"ours"}"#) == [.stop])
        #expect(try probe.hear(#"{"event":"muteStream"}"#, #"{"event":"media","media":{}}"#) == [])
        let many = String(repeating: "1", count: PlivoDialect.digitLimit + 1)
        for dtmf in [#""""#, #""1x""#, "{}", #""\#(many)""#] {
            #expect(probe.refusal(of: #"{"event":"sendDTMF","dtmf":\#(dtmf)}"#) != nil)
        }
    }

    @Test func whatIsPlayedHasItsOwnFormat() throws {
        let probe = try carrier()
        #expect(try probe.hear(Self.play("audio/x-mulaw", 8_000, [UInt8](repeating: 1, count: 160))).count == 1)
        let wide = Self.play("audio/x-l16", 16_000, [UInt8](repeating: 0, count: 6_400))
        #expect((7...10).contains(try probe.hear(wide).count))
        #expect(probe.inbox.terms.incoming == Self.linear(16_000) && probe.inbox.terms.outgoing == .muLaw8k)
        #expect(try probe.hear(Self.play("audio/x-l16;rate=24000", 24_000, [1, 2, 3])) == [], "an odd length")
        for (type, rate) in [("audio/x-opus", 8_000), ("audio/x-mulaw", 16_000), ("audio/x-l16", 11_025)] {
            #expect(probe.refusal(of: Self.play(type, rate, [1]))?.refusal == .format)
        }
        #expect(probe.refusal(of: #"{"event":"playAudio","media":{"payload":"AQID"}}"#) != nil)
        let word = try #require(probe.dialect.encode(.refused(.format)))
        #expect(try DialectBench.object(String(decoding: word, as: UTF8.self))["event"] as? String == "error")
        var refused = 0
        for index in 0..<50 {
            let text = Self.play("audio/x-l16", index % 2 == 0 ? 8_000 : 16_000, [1, 2])
            if probe.refusal(of: text) != nil { refused += 1 }
        }
        #expect(refused > 15, "a format that keeps changing is not followed")
    }

    @Test func anUtteranceMayBeOneMessage() throws {
        let sound = [UInt8](repeating: 0, count: Self.linear(8_000).bytes(ofMs: 9_000))
        #expect((445...450).contains(try carrier().hear(Self.play("audio/x-l16", 8_000, sound)).count))
    }

    // MARK: Both ends

    @Test(arguments: [WireFormat.muLaw8k, linear(8_000), linear(16_000)])
    func bothEndsUnderstandEachOther(format: WireFormat) throws {
        let ends = try StreamLine(
            PlivoDialect.self, carrier: DialectOptions(role: .carrier, streamID: "s-1", format: format))
        let start = StreamStart(streamID: "s-1", callID: "c", parameters: ["token": "t"])
        ends.tell(.start(start))
        ends.loop.advance(ms: 20)
        #expect(ends.atApplication == [.start(start)] && ends.application.soundRate == format.sampleRate)
        ends.speak(50, restMs: 600) { ends.tell($0) }
        #expect((46...50).contains(StreamLine.loud(ends.atApplication)))
        #expect(Set(StreamLine.sizes(ends.sockets.carrier, "media")) == [format.bytes(ofMs: 20)], "20 ms a message")
        ends.speak(50, restMs: 600) { ends.say($0) }
        #expect((46...50).contains(StreamLine.loud(ends.atCarrier)))
        ends.say(.dtmf("7"))
        ends.tell(.dtmf("8"))
        ends.loop.advance(ms: 20)
        #expect(ends.atCarrier.last == .dtmf("7") && ends.atApplication.last == .dtmf("8"))
        ends.tell(.stop)
        ends.loop.advance(ms: 20)
        #expect(ends.atApplication.last == .stop)
        #expect(ends.application.malformed == 0 && ends.carrier.malformed == 0)
    }

    @Test func whatWaitsToBeSentOutlivesANewFormatOfWhatComes() throws {
        let ends = try StreamLine(
            PlivoDialect.self, carrier: DialectOptions(role: .carrier, streamID: "s", format: Self.linear(16_000)))
        ends.tell(.start(StreamStart(streamID: "s", callID: "c")))
        ends.tell(.media(StreamLine.tone(0)))
        ends.sockets.application.send(text: Self.play("audio/x-mulaw", 8_000, [UInt8](repeating: 1, count: 160)))
        ends.loop.advance(ms: 200)
        #expect(StreamLine.sizes(ends.sockets.carrier, "media").reduce(0, +) >= 640)
        #expect(ends.atCarrier.count == 1)
    }

    /// A carrier that plays nothing; its leg gives back every mark when it is told to clear.
    @Test func droppedCheckpointsAreNeverAcknowledged() throws {
        let ends = try StreamLine(
            PlivoDialect.self, carrier: DialectOptions(role: .carrier, streamID: "s"))
        ends.tell(.start(StreamStart(streamID: "s", callID: "c")))
        ends.onCarrier = { [unowned ends] message in
            if message == .clear { for name in ["two", "three"] { ends.carrier.send(.mark(name)) } }
        }
        ends.say(.mark("one"))
        ends.loop.advance(ms: 20)
        ends.tell(.mark("one"))
        for name in ["two", "three"] { ends.say(.mark(name)) }
        ends.say(.clear)
        #expect(StreamLine.marks(ends.atApplication) == ["one", "two", "three"], "our own pipeline gets them back")
        ends.loop.advance(ms: 40)
        let said = try ends.sockets.carrier.texts.map { try DialectBench.object($0)["event"] as? String }
        #expect(said == ["start", "playedStream", "clearedAudio"])
        #expect(StreamLine.marks(ends.atApplication) == ["one", "two", "three"])
        ends.say(.mark("two"))
        ends.loop.advance(ms: 20)
        ends.tell(.mark("two"))
        ends.loop.advance(ms: 20)
        #expect(StreamLine.marks(ends.atApplication).last == "two", "a name may be used again")
        #expect(ends.sockets.carrier.texts.count == 4)
    }

    @Test func aStreamThatCannotBeUnderstoodIsClosed() throws {
        let ends = try StreamLine(
            PlivoDialect.self, carrier: DialectOptions(role: .carrier, streamID: "s"))
        ends.sockets.carrier.send(binary: [1, 2, 3])
        ends.sockets.carrier.send(text: Self.media([1]))
        ends.loop.advance(ms: 20)
        #expect(ends.application.malformed == 2 && ends.sockets.application.closedWith == nil)
        ends.sockets.carrier.send(text: Self.start("audio/opus"))
        ends.loop.advance(ms: 20)
        #expect(ends.sockets.application.closedWith == 1_003)

        let other = try StreamLine(
            PlivoDialect.self, carrier: DialectOptions(role: .carrier, streamID: "s"))
        other.sockets.application.send(text: Self.play("audio/opus", 48_000, [1]))
        other.loop.advance(ms: 20)
        #expect(other.sockets.carrier.closedWith == 1_003)
        #expect(try DialectBench.object(other.sockets.carrier.texts.last)["event"] as? String == "error")
    }

    @Test func randomBytesNeverTrap() throws {
        let valid = [
            Self.start(extra: #","extra_headers":"{\"k\":\"v\"}""#), Self.media([1, 2, 3]),
            Self.play("audio/x-l16", 16_000, [1, 2, 3]), #"{"event":"sendDTMF","dtmf":"12"}"#,
            #"{"event":"checkpoint","streamId":"ours","name":"m"}"#, #"{"event":"dtmf","dtmf":{"digit":"1"}}"#,
            #"{"event":"clearAudio"}"#,
        ]
        try application(started: false).endure(valid)
        try application().endure(valid)
        try carrier().endure(valid)
    }
}
