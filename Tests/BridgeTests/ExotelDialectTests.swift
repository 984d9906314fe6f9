import Foundation
import Net
import Pipeline
import TestSupport
import Testing

@testable import Bridge

/// Exotel's messages as its pages (developer.exotel.com/docs/agentstream) and its samples have them.
@Suite struct ExotelDialectTests {
    private static let format = #"{"encoding":"audio/x-raw","sample_rate":"8000","bit_rate":"16"}"#
    private static func start(_ format: String? = format, custom: String = #"{"key1":"value1"}"#) -> String {
        #"{"event":"start","sequence_number":"1","stream_sid":"MZ1","start":{"stream_sid":"MZ1","call_sid":"CA1","#
            + #""account_sid":"AC1","from":"+919876543210","to":"+918047491899","custom_parameters":\#(custom)"#
            + (format.map { #","media_format":\#($0)"# } ?? "") + "}}"
    }
    private static func media(_ sound: [UInt8], time: String = "200") -> String {
        #"{"event":"media","sequence_number":"3","stream_sid":"MZ1","media":{"chunk":"2","timestamp":"\#(time)","#
            + #""payload":"\#(Data(sound).base64EncodedString())"}}"#
    }
    private static func linear(_ rate: Int32) -> WireFormat { WireFormat(.linear16(.little), sampleRate: rate) }
    private static func handshake(_ query: [(name: String, value: String)]) -> WebSocket.Handshake {
        WebSocket.Handshake(path: "/media/exotel", query: query, headers: [:], peer: "")
    }

    /// Exotel streams to us.
    private func application(
        _ query: [(name: String, value: String)] = [], started: Bool = true
    ) throws -> DialectBench {
        let probe = try DialectBench(
            ExotelDialect.self, DialectOptions(role: .application, handshake: Self.handshake(query)))
        if started { try probe.hear(Self.start()) }
        return probe
    }
    /// We stream to a server made for Exotel.
    private func carrier(_ format: WireFormat? = nil, tracks: [MediaTrack] = [.inbound]) throws -> DialectBench {
        try DialectBench(
            ExotelDialect.self,
            DialectOptions(role: .carrier, streamID: "ours", tracks: tracks, format: format))
    }

    // MARK: What Exotel says

    @Test func exotelsMessagesAreUnderstood() throws {
        let probe = try application(started: false)
        #expect(try probe.hear(#"{ "event": "connected" }"#) == [.connected])
        let start = StreamStart(
            streamID: "MZ1", callID: "CA1",
            parameters: ["key1": "value1", "from": "+919876543210", "to": "+918047491899"])
        #expect(try probe.hear(Self.start()) == [.start(start)])
        #expect(
            try probe.hear(
                #"{"event":"dtmf","sequence_number":"7","stream_sid":"MZ1","dtmf":{"digit":"5","duration":"100"}}"#)
                == [.dtmf("5")])
        #expect(
            try probe.hear(#"{"event":"mark","sequence_number":"15","stream_sid":"MZ1","mark":{"name":"m1"}}"#)
                == [.mark("m1")])
        #expect(try probe.hear(#"{"event":"clear","stream_sid":"MZ1"}"#, #"{"event":"new","x":[1]}"#) == [])
        #expect(
            try probe.hear(
                #"{"event":"stop","sequence_number":"20","stream_sid":"MZ1","stop":{"call_sid":"CA1","#
                    + #""account_sid":"AC1","reason":"callended"}}"#) == [.stop])
    }

    @Test func namesWithoutUnderscoresAreTakenToo() throws {
        let probe = try application(started: false)
        let text =
            #"{"event":"start","streamSid":"s","start":{"callSid":"c","customParameters":{"k":7},"#
            + #""mediaFormat":{"encoding":"base64","sampleRate":16000,"bit_rate":"256kbps"}}}"#
        let start = StreamStart(streamID: "s", callID: "c", parameters: ["k": "7"])
        #expect(try probe.hear(text) == [.start(start)])
        #expect(probe.inbox.terms.incoming == Self.linear(16_000))
        #expect(probe.refusal(of: #"{"event":"media","streamSid":"t","media":{"payload":""}}"#) != nil)
    }

    @Test func customDataStandsOnTheURLAndInStart() throws {
        let probe = try application([("sample-rate", "16000"), ("key1", "url"), ("order", "7")], started: false)
        guard case .start(let start)? = try probe.hear(Self.start(nil)).first else {
            Issue.record("no start")
            return
        }
        #expect(start.parameters["key1"] == "value1" && start.parameters["order"] == "7")
        #expect(start.parameters["sample-rate"] == nil)
        for custom in ["null", "[]", "7", #""x""#, #"{"a":{"b":1}}"#] {
            #expect(try application(started: false).hear(Self.start(custom: custom)).count == 1)
        }
    }

    @Test(arguments: [
        (#"{"encoding":"audio/x-raw","sample_rate":"8000","bit_rate":"16"}"#, linear(8_000)),
        (#"{"encoding":"base64","sample_rate":"16000","bit_rate":"256kbps"}"#, linear(16_000)),
        (#"{"encoding":"raw/slin","sample_rate":24000}"#, linear(24_000)),
        (#"{"encoding":"audio/L16;rate=16000"}"#, linear(16_000)),
        (#"{"encoding":"raw","sample_rate":"8000Hz"}"#, linear(8_000)),
        (#"{"encoding":"audio/x-mulaw","sample_rate":"8000"}"#, .muLaw8k),
        (#"{"encoding":"audio/x-mulaw;rate=8000"}"#, .muLaw8k), ("{}", linear(8_000)), ("null", linear(8_000)),
    ])
    func mediaFormatDecides(text: String, format: WireFormat) throws {
        let probe = try application(started: false)
        try probe.hear(Self.start(text))
        #expect(probe.inbox.terms.incoming == format && probe.inbox.terms.outgoing == format)
        let sound = [UInt8](repeating: 0, count: format.bytes(ofMs: 100))
        #expect((4...5).contains(try probe.hear(Self.media(sound)).count))
    }

    @Test func theURLDecidesWhereNothingElseDoes() throws {
        for (rate, wanted) in [("16000", 16_000), ("24000", 24_000), ("8000", 8_000), ("44100", 8_000), ("x", 8_000)] {
            let probe = try application([("sample-rate", rate)], started: false)
            #expect(Int(probe.dialect.terms.incoming.sampleRate) == wanted)
            try probe.hear(Self.start(nil))
            #expect(Int(probe.inbox.terms.incoming.sampleRate) == wanted)
            let other = try application([("sample-rate", rate)], started: false)
            try other.hear(Self.start())
            #expect(other.inbox.terms.incoming == Self.linear(8_000), "what start says is so")
        }
        let ours = try DialectBench(
            ExotelDialect.self,
            DialectOptions(role: .carrier, streamID: "s", handshake: Self.handshake([("sample-rate", "24000")])))
        #expect(ours.dialect.terms.outgoing == Self.linear(24_000), "as client, we do as the URL asks")
    }

    @Test(arguments: [
        #"{"encoding":"audio/opus","sample_rate":"8000"}"#, #"{"encoding":"audio/x-mulaw","sample_rate":"16000"}"#,
        #"{"encoding":"raw","sample_rate":"44100"}"#, #"{"encoding":"raw","sample_rate":"fast"}"#,
        #"{"encoding":"raw","sample_rate":"99999999999999999999"}"#, #"{"encoding":"raw","sample_rate":{}}"#,
    ])
    func otherFormatsAreRefused(format: String) throws {
        #expect(try application(started: false).refusal(of: Self.start(format))?.refusal == .format)
    }

    @Test func soundMayBeCutAnywhere() throws {
        let probe = try application()
        #expect(try probe.hear(Self.media([1])) == [])
        let heard = try probe.hear(Self.media([UInt8](repeating: 0, count: 319)), Self.media([], time: "220"))
        #expect(heard.count == 1, "an odd byte waits for its other half")
        let ours = Self.media([0, 0]).replacing(#""chunk""#, with: #""track":"outbound","chunk""#)
        #expect(try probe.hear(ours) == [], "our own voice is not the caller's")
        #expect(try probe.hear(Self.media([UInt8](repeating: 0, count: 3_200), time: "x")).count == 10)
    }

    @Test func orderAndStreamAreChecked() throws {
        for event in ["media", "dtmf", "mark", "stop"] {
            let text = #"{"event":"\#(event)","\#(event)":{"payload":"","digit":"1","name":"m"}}"#
            #expect(try application(started: false).refusal(of: text) != nil, "\(event)")
        }
        let probe = try application()
        #expect(probe.refusal(of: Self.start())?.reason == "a second start")
        #expect(probe.refusal(of: Self.media([1]).replacing("MZ1", with: "MZ2")) != nil)
    }

    @Test(arguments: [
        "", "[]", "{", #"{"event":"#, #"{"event":7}"#, #"{"event":"media"}"#, #"{"event":"media","media":{}}"#,
        #"{"event":"media","media":{"payload":"!!!!"}}"#, #"{"event":"media","media":{"payload":"QQ="}}"#,
        #"{"event":"mark"}"#, #"{"event":"mark","mark":{}}"#, #"{"event":"dtmf","dtmf":{"digit":"z"}}"#,
        #"{"event":"dtmf","dtmf":{"digit":""}}"#, "}}}}", #"{"event":"stop"} trailing"#,
        #"{"event":"stop","x":"open}"#,
    ])
    func malformedMessagesAreErrors(text: String) throws { #expect(try application().refusal(of: text) != nil) }

    @Test(arguments: [
        #"{"event":"start"}"#, #"{"event":"start","start":{}}"#, #"{"event":"start","stream_sid":"","start":{}}"#,
        #"{"event":"start","stream_sid":"a\"b","start":{}}"#, #"{"event":"start","stream_sid":"s","start":7}"#,
    ])
    func aStartWithoutAnIDIsAnError(text: String) throws {
        #expect(try application(started: false).refusal(of: text) != nil)
    }

    @Test func tooLongMessagesAreErrors() throws {
        #expect(try application().refusal(of: Self.media([UInt8](repeating: 0, count: 1 << 20))) != nil)
        let name = String(repeating: "n", count: ExotelDialect.nameLimit + 1)
        #expect(try application().refusal(of: #"{"event":"mark","mark":{"name":"\#(name)"}}"#) != nil)
    }

    // MARK: What an application says

    @Test func theApplicationSaysWhatExotelTakes() throws {
        let probe = try application()
        #expect(
            probe.say(sound: [UInt8](repeating: 0, count: 3_200)).hasPrefix(
                #"{"event":"media","stream_sid":"MZ1","sequence_number":"1","media":{"chunk":"1","timestamp":"0","#
                    + #""payload":"AAAA"#))
        let second = try DialectBench.object(probe.say(sound: [0, 0]))
        #expect(second["sequence_number"] as? String == "2")
        #expect((second["media"] as? [String: String])?["timestamp"] == "200", "3 200 bytes are 200 ms at 8 kHz")
        #expect(probe.say(.mark("m 1")) == #"{"event":"mark","stream_sid":"MZ1","mark":{"name":"m 1"}}"#)
        #expect(probe.say(.mark("a\"b")) == #"{"event":"mark","mark":{"name":"a\"b"},"stream_sid":"MZ1"}"#)
        #expect(probe.say(.clear) == #"{"event":"clear","stream_sid":"MZ1"}"#)
        for message in [
            MediaStreamMessage.stop, .connected, .dtmf("1"), .start(StreamStart(streamID: "s", callID: "c")),
        ] {
            #expect(probe.say(message) == nil)
        }
        #expect(probe.dialect.encode(.refused(.format)) == nil)
    }

    /// At least 3.2 kB and 100 ms, at most 100 kB, a multiple of 320 bytes.
    @Test(arguments: [linear(8_000), linear(16_000), linear(24_000), WireFormat.muLaw8k])
    func messagesAreAsLargeAsExotelWantsThem(format: WireFormat) throws {
        let ends = try StreamLine(
            ExotelDialect.self, carrier: DialectOptions(role: .carrier, streamID: "s", format: format))
        ends.tell(.start(StreamStart(streamID: "s", callID: "c")))
        ends.loop.advance(ms: 20)
        ends.speak(73, restMs: 600) { ends.say($0) }
        let sizes = StreamLine.sizes(ends.sockets.application, "media")
        #expect(!sizes.isEmpty)
        for size in sizes {
            #expect((3_200...100_000).contains(size) && size % 320 == 0 && size >= format.bytes(ofMs: 100))
        }
        #expect((70...75).contains(StreamLine.loud(ends.atCarrier)))
    }

    // MARK: What we say as Exotel

    @Test func theCarrierSpeaksAsExotelDoes() throws {
        let probe = try carrier(Self.linear(16_000))
        #expect(probe.say(.connected) == #"{"event":"connected"}"#)
        let parameters = ["k": "v", "from": "+1", "to": "+2"]
        let start = try DialectBench.object(
            probe.say(.start(StreamStart(streamID: "ours", callID: "c", parameters: parameters))))
        let inner = try #require(start["start"] as? [String: Any])
        #expect(start["sequence_number"] as? String == "1" && start["stream_sid"] as? String == "ours")
        #expect(inner["custom_parameters"] as? [String: String] == parameters && inner["from"] as? String == "+1")
        #expect(
            inner["media_format"] as? [String: String]
                == ["encoding": "audio/x-raw", "sample_rate": "16000", "bit_rate": "16"])
        let media = try DialectBench.object(probe.say(sound: [1, 2], timestampMs: 100))
        #expect(media["sequence_number"] as? String == "2")
        #expect(media["media"] as? [String: String] == ["chunk": "1", "timestamp": "100", "payload": "AQI="])
        let digit = try DialectBench.object(probe.say(.dtmf("5")))
        #expect(digit["dtmf"] as? [String: String] == ["digit": "5", "duration": "100"])
        let mark = try DialectBench.object(probe.say(.mark("m")))
        #expect(mark["mark"] as? [String: String] == ["name": "m"] && mark["sequence_number"] as? String == "4")
        let stop = try DialectBench.object(probe.say(.stop))
        #expect((stop["stop"] as? [String: String])?["reason"] == "callended")
        #expect(probe.say(.clear) == nil)
        let both = try carrier(tracks: [.inbound, .outbound])
        both.dialect.track = .outbound
        #expect(both.say(sound: [1, 2]).contains(#""track":"outbound""#))
    }

    @Test func theCarrierDoesWhatIsAsked() throws {
        let probe = try carrier()
        #expect(try probe.hear(#"{"event":"mark","stream_sid":"ours","mark":{"name":"m"}}"#) == [.mark("m")])
        #expect(try probe.hear(#"{"event":"clear","streamSid":"ours"}"#) == [.clear])
        #expect(probe.refusal(of: #"{"event":"clear","stream_sid":"another"}"#) != nil)
        // Of 100 kB, and of the 20 ms that the vendor forbids.
        let large = #"{"event":"media","media":{"payload":"\#(Data(count: 99_840).base64EncodedString())"}}"#
        let ends = try StreamLine(
            ExotelDialect.self, carrier: DialectOptions(role: .carrier, streamID: "s"))
        #expect(large.utf8.count < ends.sockets.carrier.configuration.maximumMessage)
        #expect(try probe.hear(large).count == 312)
        #expect(
            try probe.hear(#"{"event":"media","media":{"payload":"\#(Data(count: 320).base64EncodedString())"}}"#)
                .count == 1)
        let law = try carrier(.muLaw8k)
        #expect(try law.hear(large).count == 624)
    }

    @Test func customDataSurvivesTheWire() throws {
        for parameters in [
            ["k": "v", "from": "a", "to": "b"], ["ü": "\u{1}\n\\", "from": "", "to": ""],
            ["from": String(repeating: "\u{1}\"", count: 3_000), "to": "x"],
        ] {
            let text = try #require(
                try carrier().say(.start(StreamStart(streamID: "s", callID: "c", parameters: parameters))))
            guard case .start(let start)? = try application(started: false).hear(text).first else {
                Issue.record("no start")
                return
            }
            #expect(start.parameters == parameters)
        }
    }

    // MARK: Both ends

    @Test(arguments: [linear(8_000), linear(16_000), linear(24_000), WireFormat.muLaw8k])
    func bothEndsUnderstandEachOther(format: WireFormat) throws {
        let ends = try StreamLine(
            ExotelDialect.self, carrier: DialectOptions(role: .carrier, streamID: "s", format: format))
        ends.tell(.connected)
        ends.tell(.start(StreamStart(streamID: "s", callID: "c", parameters: ["from": "1", "to": "2"])))
        ends.loop.advance(ms: 20)
        #expect(ends.atApplication.count == 2 && ends.application.soundRate == format.sampleRate)
        ends.speak(50, restMs: 600) { ends.tell($0) }
        #expect((46...50).contains(StreamLine.loud(ends.atApplication)))
        #expect(Set(StreamLine.sizes(ends.sockets.carrier, "media")) == [format.bytes(ofMs: 100)], "100 ms a message")
        for index in 0..<3 { ends.say(.media(StreamLine.tone(index))) }
        ends.say(.mark("m"))
        ends.loop.advance(ms: 20)
        #expect(ends.atCarrier.isEmpty, "what does not fill a message waits")
        ends.loop.advance(ms: 200)
        #expect(StreamLine.marks(ends.atCarrier) == ["m"], "and is filled up when nothing follows")
        ends.tell(.mark("m"))
        ends.tell(.dtmf("8"))
        ends.say(.media(StreamLine.tone(0)))
        ends.say(.mark("dropped"))
        ends.say(.clear)
        ends.tell(.stop)
        ends.loop.advance(ms: 40)
        #expect(ends.atCarrier.last == .clear && ends.atApplication.last == .stop)
        #expect(StreamLine.marks(ends.atApplication).sorted() == ["dropped", "m"])
        #expect(ends.application.malformed == 0 && ends.carrier.malformed == 0)
    }

    @Test func aStreamThatCannotBeUnderstoodIsClosed() throws {
        let ends = try StreamLine(
            ExotelDialect.self, carrier: DialectOptions(role: .carrier, streamID: "s"))
        ends.sockets.carrier.send(binary: [1, 2, 3])
        ends.sockets.carrier.send(text: Self.media([1]))
        ends.loop.advance(ms: 20)
        #expect(ends.application.malformed == 2 && ends.sockets.application.closedWith == nil)
        ends.sockets.carrier.send(text: Self.start(#"{"encoding":"audio/opus"}"#))
        ends.loop.advance(ms: 20)
        #expect(ends.sockets.application.closedWith == 1_003)

        let other = try StreamLine(
            ExotelDialect.self, carrier: DialectOptions(role: .carrier, streamID: "s"))
        for _ in 0...WebSocketMediaStream.errorLimit { other.sockets.application.send(text: "[]") }
        other.loop.advance(ms: 20)
        #expect(other.sockets.carrier.closedWith == 1_003)
        let stop = try DialectBench.object(other.sockets.carrier.texts.last)
        #expect((stop["stop"] as? [String: String])?["reason"] == "invalid message")
    }

    @Test func randomBytesNeverTrap() throws {
        let valid = [
            Self.start(), Self.media([1, 2, 3]), #"{"event":"dtmf","dtmf":{"digit":"1"}}"#,
            #"{"event":"mark","mark":{"name":"m"}}"#, #"{"event":"clear"}"#, #"{"event":"stop","stop":{}}"#,
        ]
        try application(started: false).endure(valid)
        try application().endure(valid)
        try carrier().endure(valid)
    }
}
