import Foundation
import Pipeline
import TestSupport
import Testing

@testable import Bridge
@testable import Net

/// Messages as in developers.telnyx.com/api-reference/websockets/stream-call-media-over-websocket.
@Suite struct TelnyxDialectTests {
    static let id = "32DE0DEA-53CB-4B21-89A4-9E1819C043BC"
    static let call = "v2:T02llQxIyaRkhfRKxgAP8nY511EhFLizdvdUKJiSw8d6A9BborherQ"

    static func start(_ encoding: String = "PCMU", _ rate: Int = 8_000, parameters: String = "{}") -> String {
        #"{"event":"start","sequence_number":"1","stream_id":"\#(id)","start":{"user_id":"3E6F995F","#
            + #""call_control_id":"\#(call)","call_session_id":"ff55a038","from":"+13122010094","#
            + #""to":"+13122123456","tags":["TAG1"],"client_state":"aGF2ZSBhIG5pY2UgZGF5ID1d","#
            + #""custom_parameters":\#(parameters),"#
            + #""media_format":{"encoding":"\#(encoding)","sample_rate":\#(rate),"channels":1}}}"#
    }
    static func media(_ sound: [UInt8], chunk: String = "", track: String = "inbound") -> String {
        #"{"event":"media","sequence_number":"4","stream_id":"\#(id)","media":{"track":"\#(track)","#
            + #""chunk":"\#(chunk)","timestamp":"40","payload":"\#(Data(sound).base64EncodedString())"}}"#
    }
    /// A frame all of one byte.
    static func frame(_ byte: UInt8, chunk: Int, track: String = "inbound") -> String {
        media([UInt8](repeating: byte, count: 160), chunk: String(chunk), track: track)
    }
    private func application(_ start: String? = nil, _ options: DialectOptions? = nil) throws -> DialectBench {
        let bench = try DialectBench(TelnyxDialect.self, options ?? DialectOptions(role: .application))
        _ = try bench.hear(start ?? Self.start())
        return bench
    }

    // MARK: Messages

    @Test func itsMessagesAreUnderstood() throws {
        let bench = try DialectBench(TelnyxDialect.self, DialectOptions(role: .application))
        #expect(try bench.hear(#"{"event":"connected","version":"1.0.0"}"#) == [.connected])
        #expect(
            try bench.hear(Self.start(parameters: #"{"customer_id":"c1","count":3,"none":null,"list":[1]}"#)) == [
                .start(
                    StreamStart(
                        streamID: Self.id, callID: Self.call,
                        parameters: [
                            "customer_id": "c1", "count": "3", "from": "+13122010094", "to": "+13122123456",
                        ]))
            ])
        #expect(
            try bench.hear(
                #"{"event":"dtmf","stream_id":"\#(Self.id)","occurred_at":"2026-01-01T00:00:00Z","#
                    + ##""sequence_number":"5","dtmf":{"digit":"#"}}"##) == [.dtmf("#")])
        #expect(
            try bench.hear(#"{"event":"mark","sequence_number":"4","stream_id":"x","mark":{"name":"m \"1\""}}"#) == [
                .mark(#"m "1""#)
            ])
        #expect(
            try bench.hear(#"{"event":"stop","sequence_number":"5","stream_id":"\#(Self.id)","stop":{}}"#) == [.stop])
        #expect(try bench.hear(#"{"event":"something-new","x":[1,{"y":"}"}]}"#, #"{"event":"clear"}"#) == [])
    }

    @Test func aTokenInConnectedCountsToo() throws {
        let bench = try DialectBench(TelnyxDialect.self, DialectOptions(role: .application))
        let messages = try bench.hear(
            #"{"event":"connected","version":"1.0.0","connected":{"x-telnyx-streaming-auth-token":"t1"}}"#,
            Self.start().replacing(#""from":"+13122010094""#, with: #""from":null"#))
        guard case .start(let start)? = messages.last else {
            Issue.record("no start")
            return
        }
        let nothing = WebSocket.Handshake(path: "/", query: [], headers: [:], peer: "")
        let headed = WebSocket.Handshake(
            path: "/", query: [], headers: ["x-telnyx-streaming-auth-token": "t2"], peer: "")
        let tokens = { (handshake: WebSocket.Handshake) in
            TelnyxDialect.traits.tokens.compactMap { $0.token(in: start, of: handshake) }
        }
        #expect(tokens(nothing) == ["t1"] && tokens(headed) == ["t2", "t1"] && start.parameters["from"] == nil)
    }

    @Test func theApplicationSaysOnlyWhatTelnyxTakes() throws {
        let bench = try application()
        #expect(bench.say(.clear) == #"{"event":"clear"}"#)
        #expect(bench.say(.mark("a-b")) == #"{"event":"mark","mark":{"name":"a-b"}}"#)
        #expect(bench.say(.mark("a\"b")) == ##"{"event":"mark","mark":{"name":"a\"b"}}"##)
        #expect(bench.say(.dtmf("1")) == nil && bench.say(.stop) == nil && bench.say(.connected) == nil)
        #expect(bench.say(sound: [1, 2, 3]) == #"{"event":"media","media":{"payload":"AQID"}}"#)
        #expect(bench.dialect.encode(.refused(.format)) == nil)
    }

    @Test func theCarrierSaysWhatTelnyxSays() throws {
        let bench = try DialectBench(TelnyxDialect.self, DialectOptions(role: .carrier))
        #expect(bench.say(.connected) == #"{"event":"connected","version":"1.0.0"}"#)
        let start = StreamStart(streamID: Self.id, callID: Self.call, parameters: ["k": "\u{1}\"", "from": "+1"])
        let object = try DialectBench.object(bench.say(.start(start)))
        let body = try #require(object["start"] as? [String: Any])
        #expect(object["stream_id"] as? String == Self.id && object["sequence_number"] as? String == "1")
        #expect(body["call_control_id"] as? String == Self.call && body["from"] as? String == "+1")
        let format = try #require(body["media_format"] as? [String: Any])
        #expect(format["encoding"] as? String == "PCMU" && format["sample_rate"] as? Int == 8_000)
        #expect((body["custom_parameters"] as? [String: String])?["k"] == "\u{1}\"")
        #expect(
            bench.say(sound: [255], timestampMs: 1_234)
                == #"{"event":"media","stream_id":"\#(Self.id)","sequence_number":"2","#
                + #""media":{"track":"inbound","chunk":"1","timestamp":"1234","payload":"/w=="}}"#)
        #expect(
            bench.say(.dtmf("9"))
                == #"{"dtmf":{"digit":"9"},"event":"dtmf","sequence_number":"3","stream_id":"\#(Self.id)"}"#)
        let stop = try DialectBench.object(bench.say(.stop))
        #expect((stop["stop"] as? [String: Any])?["call_control_id"] as? String == Self.call)
        #expect(bench.say(.clear) == nil)
        let error = String(decoding: try #require(bench.dialect.encode(.refused(.malformed))), as: UTF8.self)
        #expect(try DialectBench.object(error)["event"] as? String == "error")
        #expect(
            try bench.hear(
                #"{"event":"media","media":{"payload":"\#(Data(repeating: 1, count: 160).base64EncodedString())"}}"#,
                #"{"event":"mark","mark":{"name":"m"}}"#, #"{"event":"clear","stream_id":"ignored"}"#, Self.start()
            ).count == 3)
    }

    // MARK: Formats

    /// Codec and rate of `start`, and what is spoken then, both ways.
    private static let settled: [(String, Int32, WireFormat, WireFormat)] = [
        ("PCMU", 8_000, WireFormat.muLaw8k, WireFormat.muLaw8k),
        ("PCMA", 8_000, WireFormat.aLaw8k, WireFormat.muLaw8k), ("L16", 8_000, linear(8_000), linear(8_000)),
        ("L16", 22_050, linear(22_050), linear(22_050)), ("l16", 48_000, linear(48_000), linear(48_000)),
    ]
    private static func linear(_ rate: Int32) -> WireFormat { WireFormat(.linear16(.little), sampleRate: rate) }

    @Test(arguments: settled)
    func startSettlesTheFormats(encoding: String, rate: Int32, incoming: WireFormat, outgoing: WireFormat) throws {
        let terms = try application(Self.start(encoding, Int(rate))).inbox.terms
        #expect(terms.incoming == incoming && terms.outgoing == outgoing)
        #expect(terms.chunks.minimum == (terms.outgoing.isLinear ? terms.outgoing.bytes(ofMs: 20) : 1))
    }

    @Test func theOutgoingCodecIsWhatTheStreamWasAskedFor() throws {
        let said = #"{"stream_bidirectional_codec":"PCMA"}"#
        #expect(try application(Self.start("PCMA", parameters: said)).inbox.terms.outgoing == WireFormat.aLaw8k)
        let handshake = WebSocket.Handshake(
            path: "/media/telnyx",
            query: [("stream_bidirectional_codec", "L16"), ("stream_bidirectional_sampling_rate", "24000")],
            headers: [:], peer: "")
        let options = DialectOptions(role: .application, handshake: handshake, byteOrder: .big)
        let terms = try application(Self.start("PCMU", parameters: said), options).inbox.terms
        #expect(terms.incoming == WireFormat.muLaw8k)
        #expect(terms.outgoing == WireFormat(.linear16(.big), sampleRate: 24_000))
    }

    @Test(arguments: [
        start("G722", 16_000), start("OPUS", 48_000), start("AMR-WB", 16_000), start("L16", 96_000), start("L16", -1),
        start().replacing(#""channels":1"#, with: #""channels":3"#),
        start(parameters: #"{"stream_bidirectional_codec":"OPUS"}"#),
        start(parameters: #"{"stream_bidirectional_codec":"L16","stream_bidirectional_sampling_rate":"fast"}"#),
    ])
    func whatCannotBeSpokenIsRefusedAtOnce(start: String) throws {
        let line = try StreamLine(TelnyxDialect.self)
        line.inject(start)
        #expect(line.sockets.application.closedWith == 1_003 && line.atApplication.isEmpty)
        #expect(line.application.malformed == 1)
    }

    @Test(arguments: [WireFormat.muLaw8k, .aLaw8k] + TelnyxDialect.traits.formats.dropFirst(2))
    func everyFormatIsSpokenByBothEnds(format: WireFormat) throws {
        let line = try StreamLine(
            TelnyxDialect.self, carrier: DialectOptions(role: .carrier, streamID: "s-1", format: format))
        line.tell(.start(StreamStart(streamID: "s-1", callID: "c", parameters: ["k": "v"])))
        line.loop.advance(ms: 20)
        line.expectSoundBothWays()
        let sent = try line.sockets.application.texts.map { try DialectBench.payload($0).count }
        #expect(sent.allSatisfy { $0 >= format.bytes(ofMs: 20) }, "at least 20 ms a message: \(sent)")
        line.tell(.dtmf("5"))
        line.say(.mark("m"))
        line.loop.advance(ms: 200)
        #expect(line.atApplication.last == .dtmf("5") && StreamLine.marks(line.atCarrier) == ["m"])
        #expect(line.application.malformed == 0 && line.carrier.malformed == 0)
    }

    @Test func theLastChunkHas20MsToo() throws {
        let line = try StreamLine(TelnyxDialect.self)
        line.inject(Self.start("L16", 16_000))
        for index in 0..<3 { line.say(.media(StreamLine.tone(index))) }
        line.say(.mark("end"))
        line.loop.advance(ms: 300)
        let texts = line.sockets.application.texts
        let sent = try texts.filter { $0.contains("payload") }.map { try DialectBench.payload($0).count }
        #expect(sent.allSatisfy { $0 >= 640 && $0 % 2 == 0 } && sent.reduce(0, +) >= 3 * 640, "\(sent)")
        #expect(texts.last?.contains("end") == true)
    }

    @Test func aCarrierTakes30SecondsAtOnce() throws {
        let bench = try DialectBench(TelnyxDialect.self, DialectOptions(role: .carrier))
        let text = { (seconds: Int) in
            let sound = Data(repeating: 255, count: 8_000 * seconds).base64EncodedString()
            return #"{"event":"media","media":{"payload":"\#(sound)"}}"#
        }
        #expect(try bench.hear(text(30)).count == 1_500)
        #expect(throws: MediaStreamError.self) { try bench.hear(text(31)) }
        let line = try StreamLine(TelnyxDialect.self)
        #expect(line.sockets.carrier.configuration.maximumMessage > text(30).utf8.count)
        #expect(line.sockets.application.configuration.maximumMessage == 64 << 10)
    }

    // MARK: Order

    /// Bytes of the frames that come, without repetitions.
    private func heard(_ chunks: [(UInt8, Int)], _ bench: DialectBench) -> [UInt8] {
        bench.sound(chunks.map { Self.frame($0.0, chunk: $0.1) }).enumerated().filter { $0.offset % 160 == 0 }.map(\.1)
    }

    @Test func chunksAreHeardInTheirOrder() throws {
        #expect(heard([(1, 1), (3, 3), (2, 2), (4, 4)], try application()) == [1, 2, 3, 4])
        #expect(heard([(1, 1), (4, 4), (3, 3), (2, 2), (5, 5)], try application()) == [1, 2, 3, 4, 5])
        #expect(
            heard([(1, 1), (1, 1), (3, 3), (3, 3), (2, 2), (2, 2)], try application()) == [1, 2, 3], "twice is once")
        #expect(heard([(7, 7), (6, 6), (8, 8)], try application()) == [7, 8], "too late")
    }

    @Test func whatIsMissingIsNotWaitedForLong() throws {
        let bench = try application()
        #expect(heard([(1, 1), (3, 3), (4, 4), (5, 5)], bench) == [1])
        #expect(heard([(6, 6)], bench) == [3, 4, 5, 6])
        #expect(heard([(2, 2)], bench) == [])
        // Another number series: at once.
        #expect(heard([(9, 9_000_000), (10, 9_000_001), (1, 1), (2, 2)], bench) == [9, 10, 1, 2])
        #expect(heard([(4, 4)], bench) == [])
        #expect(try bench.hear(#"{"event":"stop"}"#).count == 2, "what waits is heard before the end")
        let unnumbered = Self.media([UInt8](repeating: 1, count: 160), chunk: "99999999999999999999")
        #expect(try bench.hear(unnumbered).count == 1)
    }

    @Test func bothTracksHaveNoGaps() throws {
        let bench = try application()
        let texts = (1...6).map { Self.frame(UInt8($0), chunk: $0, track: $0 % 2 == 0 ? "outbound" : "inbound") }
        #expect(Set(bench.sound(texts)) == [1, 3, 5], "our own voice is not the caller's")
        #expect(bench.sound([Self.frame(9, chunk: 9)]).count == 160)
    }

    // MARK: The order of L16's bytes

    /// What a caller's voice is like: frames of 20 ms at 8 kHz.
    private func speech(_ frames: Int, loud: Double = 6_000) -> [Int16] {
        (0..<(160 * frames)).map { index in
            let at = Double(index) / 8_000
            let voice = sin(2 * .pi * 180 * at) + 0.6 * sin(2 * .pi * 700 * at) + 0.3 * sin(2 * .pi * 1_900 * at)
            return Int16(loud * voice / 2 * abs(sin(2 * .pi * 2 * at))) + Int16(index % 3) - 1
        }
    }
    private func bytes(_ samples: ArraySlice<Int16>, _ order: WireFormat.ByteOrder) -> [UInt8] {
        samples.flatMap { sample -> [UInt8] in
            let (low, high) = (UInt8(truncatingIfNeeded: sample), UInt8(truncatingIfNeeded: sample >> 8))
            return order == .little ? [low, high] : [high, low]
        }
    }
    private func messages(_ samples: [Int16], _ order: WireFormat.ByteOrder) -> [String] {
        stride(from: 0, to: samples.count, by: 160).enumerated().map { index, at in
            Self.media(bytes(samples[at..<(at + 160)], order), chunk: String(index + 1))
        }
    }
    private func loudest(_ sound: [UInt8]) -> Int { sound.map { abs(Int(MuLaw.decode($0))) }.max() ?? 0 }

    @Test(arguments: [WireFormat.ByteOrder.little, .big], [20.0, 300, 6_000, 20_000])
    func theOrderOfTheBytesIsFoundInTheSound(order: WireFormat.ByteOrder, loud: Double) throws {
        let bench = try application(Self.start("L16"))
        let samples = speech(60, loud: loud)
        let silence = (0..<5).map { _ in Self.media([UInt8](repeating: 0, count: 320)) }
        let sound = bench.sound(silence + messages(samples, order))
        #expect(sound.count == 65 * 160 && loudest(sound) < Int(loud * 1.1) + 40, "no noise from the first frame on")
        let said = try DialectBench.payload(bench.say(sound: [1, 2, 3, 4]))
        #expect(said == (order == .little ? [1, 2, 3, 4] : [2, 1, 4, 3]))
        // By now it is settled, whatever comes.
        _ = bench.sound(messages(speech(60), order == .little ? .big : .little))
        #expect(try DialectBench.payload(bench.say(sound: [1, 2])) == (order == .little ? [1, 2] : [2, 1]))
    }

    @Test func theSettingOverridesWhatTheSoundIsLike() throws {
        let options = DialectOptions(role: .application, byteOrder: .big)
        let bench = try application(Self.start("L16"), options)
        #expect(bench.inbox.terms.incoming.encoding == .linear16(.big))
        #expect(loudest(bench.sound(messages(speech(10), .little))) > 20_000, "taken as told: noise")
        #expect(try DialectBench.payload(bench.say(sound: [1, 2])) == [1, 2], "the writer has the order by the terms")
    }

    @Test func silenceAndNoiseSayNothingOfTheOrder() throws {
        let bench = try application(Self.start("L16"))
        let noise = (0..<60).map { _ in Self.media((0..<320).map { _ in UInt8.random(in: .min ... .max) }) }
        _ = bench.sound([Self.media([UInt8](repeating: 0, count: 320))] + noise)
        #expect(try DialectBench.payload(bench.say(sound: [1, 2])) == [1, 2])
        #expect(loudest(bench.sound(messages(speech(10), .big))) < 7_000)
    }

    /// Loud tones made of G.711 have bytes that look like quiet sound in the other order.
    @Test(arguments: [CompandingLaw.muLaw, .aLaw]) func noToneVotesForTheWrongOrder(law: CompandingLaw) {
        for hertz in stride(from: 100.0, to: 3_500, by: 50) {
            for loud in [300.0, 2_000, 8_000, 16_000, 30_000] {
                var votes = ByteOrderVotes(WireFormat(.linear16(.little)))
                let tone = (0..<160).map { index -> Int16 in
                    let sample = Int16(loud * sin(2 * .pi * hertz * Double(index) / 8_000 + 0.1))
                    return law == .muLaw ? MuLaw.decode(MuLaw.encode(sample)) : ALaw.decode(ALaw.encode(sample))
                }
                bytes(tone[...], .little).withUnsafeBufferPointer { votes.hear($0) }
                #expect(!votes.isOther, "\(hertz) Hz at \(loud)")
            }
        }
    }

    @Test func wideSoundIsFoundOutToo() throws {
        for rate in [16_000, 48_000] {
            let bench = try application(Self.start("L16", rate))
            let samples = speech(12)
            let wide = samples.flatMap { [Int16](repeating: $0, count: rate / 8_000) }
            let size = rate / 50
            let texts = stride(from: 0, to: wide.count, by: size).map {
                Self.media(bytes(wide[$0..<($0 + size)], .big))
            }
            #expect(loudest(bench.sound(texts)) < 7_500)
        }
    }

    // MARK: Bad input

    @Test(arguments: [
        "", "[]", "{", #"{"event":"#, #"{"event":7}"#, #"{"event":"media"}"#, #"{"event":"media","media":[]}"#,
        #"{"event":"media","media":{"payload":7}}"#, #"{"event":"media","media":{"payload":"!!!!"}}"#,
        #"{"event":"media","media":{"payload":"QQ="}}"#, #"{"event":"mark"}"#, #"{"event":"mark","mark":"m"}"#,
        #"{"event":"dtmf","dtmf":{"digit":"z"}}"#, #"{"event":"dtmf"}"#, #"{"event":"start"}"#, "}}}}",
        #"{"event":"stop"} trailing"#, #"{"event":"stop","x":"open}"#, start(),
        #"{"event":"error","stream_id":"s","payload":{"code":100003,"title":"malformed_frame","detail":"secret"}}"#,
        media([1, 2, 3]).replacing(id, with: id.lowercased()), media([UInt8](repeating: 0, count: 1 << 20)),
        media([UInt8](repeating: 0, count: 8_001)),
    ])
    func malformedMessagesAreErrors(text: String) throws {
        let bench = try application()
        let error = #expect(throws: MediaStreamError.self) { _ = try bench.hear(text) }
        #expect(error?.refusal == nil && error?.reason.contains("secret") == false)
        #expect(bench.inbox.take().isEmpty && bench.sound([Self.frame(1, chunk: 1)]).count == 160, "it goes on")
    }

    @Test func halfASampleIsAnError() throws {
        let bench = try application(Self.start("L16"))
        #expect(throws: MediaStreamError.self) { _ = try bench.hear(Self.media([1, 2, 3])) }
        #expect(throws: MediaStreamError.self) { _ = try bench.hear(Self.media([UInt8](repeating: 0, count: 16_002))) }
    }

    @Test func soundBeforeStartIsAnError() throws {
        let bench = try DialectBench(TelnyxDialect.self, DialectOptions(role: .application))
        #expect(throws: MediaStreamError.self) { _ = try bench.hear(Self.frame(1, chunk: 1)) }
        let long = Self.start().replacing(Self.id, with: String(repeating: "x", count: 300))
        #expect(throws: MediaStreamError.self) { _ = try bench.hear(long) }
        #expect(try bench.hear(Self.start()).count == 1)
    }

    @Test func aStreamOfNonsenseIsGivenUp() throws {
        let line = try StreamLine(TelnyxDialect.self)
        line.inject(Self.start())
        line.sockets.carrier.send(binary: [1, 2, 3])
        line.inject(Self.frame(1, chunk: 1))
        #expect(line.application.malformed == 1 && StreamLine.frames(line.atApplication).count == 1)
        for _ in 0...50 { line.inject(Self.start()) }
        #expect(line.sockets.application.closedWith == 1_003)
        let other = try StreamLine(TelnyxDialect.self)
        for _ in 0...50 { other.sockets.application.send(text: "[]") }
        other.loop.advance(ms: 20)
        #expect(other.sockets.carrier.texts.last?.contains("malformed_frame") == true)
        #expect(other.sockets.carrier.closedWith == 1_003)
    }

    @Test func randomBytesNeverTrap() throws {
        for start in [Self.start(), Self.start("L16", 16_000)] {
            let texts = [start, Self.frame(1, chunk: 1), Self.frame(1, chunk: 3), #"{"event":"stop"}"#]
            try application(start).endure(texts)
            try DialectBench(TelnyxDialect.self, DialectOptions(role: .application)).endure(texts)
            try DialectBench(TelnyxDialect.self, DialectOptions(role: .carrier)).endure(texts)
        }
    }
}
