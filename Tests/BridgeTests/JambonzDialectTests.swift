import Foundation
import Pipeline
import TestSupport
import Testing

@testable import Bridge
@testable import Net

@Suite struct JambonzDialectTests {
    /// As jambonz-feature-server makes it (lib/tasks/listen.js), with metadata of the verb at its end.
    private static let attributes =
        #"{"sampleRate":16000,"mixType":"mono","callSid":"0ae2f4ad","direction":"inbound","from":"+15083084809","#
        + #""to":"+15083728299","callId":"f0414693","sipStatus":200,"callStatus":"in-progress","callerId":null,"#
        + #""accountSid":"9351f46a","headers":{"X-A":"b"},"turn":"agent"}"#

    private func attributes(_ members: String) -> String { #"{"callSid":"c1",\#(members)}"# }

    private func application(hasStarted: Bool = true) throws -> DialectBench {
        let bare = try DialectBench(JambonzDialect.self, DialectOptions(role: .application))
        if hasStarted { _ = try bare.hear(Self.attributes) }
        return bare
    }
    private func carrier(_ format: WireFormat? = nil) throws -> DialectBench {
        try DialectBench(JambonzDialect.self, DialectOptions(role: .carrier, format: format))
    }
    private func replies(_ bare: DialectBench) -> [String] {
        bare.inbox.takeReplies().map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: As application

    @Test func theFirstMessageHasTheCallAndTheMetadata() throws {
        let bare = try application(hasStarted: false)
        let parameters = [
            "direction": "inbound", "from": "+15083084809", "to": "+15083728299", "callId": "f0414693",
            "sipStatus": "200", "callStatus": "in-progress", "accountSid": "9351f46a", "headers": #"{"X-A":"b"}"#,
            "turn": "agent",
        ]
        #expect(
            try bare.hear(Self.attributes) == [
                .start(StreamStart(streamID: "0ae2f4ad", callID: "0ae2f4ad", parameters: parameters))
            ])
    }

    @Test(arguments: JambonzDialect.sampleRates) func theFirstMessageNamesTheRate(rate: Int32) throws {
        for mixType in ["mono", "mixed", "stereo"] {
            let bare = try application(hasStarted: false)
            _ = try bare.hear(attributes(#""sampleRate":\#(rate),"mixType":"\#(mixType)""#))
            let channels = mixType == "stereo" ? 2 : 1
            let terms = bare.inbox.terms
            #expect(terms.incoming == WireFormat(.linear16(.little), sampleRate: rate, channels: channels))
            #expect(terms.outgoing == WireFormat(.linear16(.little), sampleRate: rate))
            #expect(terms.chunks.minimum == Int(rate) * 2 * 80 / 1_000 && terms.chunks.frames == 4)
        }
    }

    @Test func whatIsSentMayHaveAnotherRate() throws {
        let bare = try application(hasStarted: false)
        _ = try bare.hear(
            attributes(#""sampleRate":"8000","bidirectionalAudio":{"enabled":true,"sampleRate":24000}"#))
        #expect(bare.inbox.terms.incoming == WireFormat(.linear16(.little)))
        #expect(bare.inbox.terms.outgoing == WireFormat(.linear16(.little), sampleRate: 24_000))
    }

    @Test(arguments: [
        #""mixType":"mono""#, #""sampleRate":44100"#, #""sampleRate":null"#, #""sampleRate":-8000"#,
        #""sampleRate":99999999999999999999"#, #""sampleRate":8000.5"#, #""sampleRate":8000,"mixType":"quad""#,
        #""sampleRate":8000,"mixType":2"#, #""sampleRate":8000,"bidirectionalAudio":{"sampleRate":1}"#,
    ])
    func anotherFormatIsRefusedInItsOwnWords(members: String) throws {
        let bare = try application(hasStarted: false)
        let error = #expect(throws: MediaStreamError.self) { _ = try bare.hear(attributes(members)) }
        #expect(error?.refusal == .format)
        let line = try StreamLine(JambonzDialect.self)
        line.inject(attributes(members))
        #expect(
            line.sockets.application.texts
                == [#"{"type":"error","data":{"reason":"sampleRate or mixType is not supported"}}"#])
        #expect(line.sockets.application.closedWith == 1_003)
    }

    @Test func digitsAndMarksAreUnderstood() throws {
        let bare = try application()
        #expect(try bare.hear(#"{"event":"dtmf","dtmf":"2","duration":"1600"}"#) == [.dtmf("2")])
        #expect(try bare.hear(#"{"event":"dtmf","dtmf":7,"duration":1600}"#) == [.dtmf("7")])
        #expect(
            try bare.hear(#"{"type": "mark", "data": {"name":"m1", "event": "playout"}}"#) == [.mark("m1")])
        #expect(
            try bare.hear(#"{"type": "mark", "data": {"name":"m2", "event": "cleared"}}"#) == [.mark("m2")])
        #expect(try bare.hear(#"{"type":"playDone","data":{"id":"1"}}"#) == [])
        #expect(try bare.hear(#"{"msg": "buffer overrun"}"#) == [])
        #expect(try bare.hear(binary: []) == [], "the empty message before jambonz closes")
    }

    @Test func theApplicationSaysOnlyWhatJambonzTakes() throws {
        let bare = try application()
        #expect(bare.say(.clear) == #"{"type":"killAudio"}"#)
        #expect(bare.say(.stop) == #"{"type":"disconnect"}"#)
        #expect(bare.say(.mark("turn-1")) == #"{"type":"mark","data":{"name":"turn-1"}}"#)
        #expect(bare.say(.mark("a\"b")) == #"{"data":{"name":"a\"b"},"type":"mark"}"#)
        #expect(bare.say(.dtmf("1")) == nil && bare.say(.connected) == nil)
        #expect(bare.say(.start(StreamStart(streamID: "", callID: ""))) == nil)
        #expect(bare.dialect.encode(.refused(.unauthorized)) != nil && bare.dialect.encode(.pause) == nil)
    }

    /// jambonz marks places in its buffer by a sample of -1.
    @Test func noSampleIsTakenForAMark() throws {
        let sound: [UInt8] = [0xFF, 0xFF, 0xFE, 0xFF, 0xFF, 0x00, 0x00, 0xFF, 0xFF, 0xFF]
        #expect(try application().bytes(sound: sound) == [0, 0, 0xFE, 0xFF, 0xFF, 0x00, 0x00, 0xFF, 0, 0])
        #expect(try carrier().bytes(sound: sound) == sound)
    }

    @Test func ofStereoTheCallerIsHeard() throws {
        let bare = try application(hasStarted: false)
        _ = try bare.hear(attributes(#""sampleRate":8000,"mixType":"stereo""#))
        var sound: [UInt8] = []
        for index in 0..<1_600 {
            for sample in [Int16(1_000), Int16(index % 2 == 0 ? 20_000 : -20_000)] {
                sound += [UInt8(truncatingIfNeeded: sample), UInt8(truncatingIfNeeded: sample >> 8)]
            }
        }
        let frames = StreamLine.frames(try bare.hear(binary: sound))
        #expect(frames.count == 10 && frames.allSatisfy { (900...1_100).contains($0.peak) })
    }

    // MARK: As carrier

    @Test func theCarrierSaysWhatJambonzSays() throws {
        let bare = try carrier()
        let start = StreamStart(
            streamID: "s", callID: "c1", parameters: ["brief": "{\"a\":1}", "sampleRate": "1", "mixType": "quad"])
        let text = try #require(bare.say(.start(start)))
        #expect(text == #"{"brief":"{\"a\":1}","callSid":"c1","mixType":"mono","sampleRate":8000}"#)
        #expect(bare.say(.dtmf("*")) == #"{"event":"dtmf","dtmf":"*","duration":"1600"}"#)
        #expect(bare.say(.clear) == nil && bare.say(.stop) == nil && bare.say(.connected) == nil)
        #expect(bare.dialect.encode(.refused(.malformed)) == nil)
        #expect(bare.dialect.terms.chunks == .exactly(320), "20 ms")
    }

    @Test func aMarkTellsWhetherItWasPlayed() throws {
        let bare = try carrier()
        for name in ["m1", "m2"] {
            #expect(try bare.hear(#"{"type":"mark","data":{"name":"\#(name)"}}"#) == [.mark(name)])
        }
        #expect(bare.say(.mark("m1")) == #"{"data":{"event":"playout","name":"m1"},"type":"mark"}"#)
        #expect(try bare.hear(#"{"type": "mark", "name": "m7"}"#) == [.mark("m7")], "as the Python SDK has it")
        #expect(try bare.hear(#"{"type":"killAudio"}"#) == [.clear])
        #expect(bare.say(.mark("m2")) == #"{"data":{"event":"cleared","name":"m2"},"type":"mark"}"#)
    }

    @Test func clearedMarksAreGivenBackAtOnceAndOnce() throws {
        let bare = try carrier()
        for index in 0..<40 { _ = try bare.hear(#"{"type":"mark","data":{"name":"m\#(index)"}}"#) }
        #expect(try bare.hear(#"{"type":"clearMarks"}"#) == [], "the sound goes on")
        let given = replies(bare)
        #expect(given.count == JambonzDialect.markLimit)
        #expect(given.last == #"{"data":{"event":"cleared","name":"m39"},"type":"mark"}"#)
        #expect(bare.say(.mark("m39")) == nil, "it was told")
        #expect(try bare.hear(#"{"type":"clearMarks"}"#) == [] && replies(bare).isEmpty)
        _ = try bare.hear(#"{"type":"mark","data":{"name":"m39"}}"#)
        #expect(bare.say(.mark("m39")) != nil, "a later one of the same name")
    }

    @Test func commandsAreDone() throws {
        let bare = try carrier()
        #expect(try bare.hear(#"{"type":"disconnect"}"#) == [.stop])
        #expect(try bare.hear(#"{"type":"error","data":{"reason":"r"}}"#) == [] && bare.inbox.hasFailed)
        for type in ["playAudio", "transcription", "json", "later"] {
            #expect(try bare.hear(#"{"type":"\#(type)","data":{}}"#) == [])
        }
    }

    /// The members of its data are the application's: `to` is what we read.
    @Test func aTransferIsPassedOn() throws {
        let bare = try carrier()
        #expect(try bare.hear(#"{"type":"transfer","data":{"to":"+821012345678"}}"#) == [])
        #expect(bare.inbox.takeTransfer() == "+821012345678" && bare.inbox.takeTransfer() == nil)
        let long = String(repeating: "1", count: JambonzDialect.nameLimit + 1)
        for data in ["{}", "7", #"{"to":null}"#, #"{"to":"\#(long)"}"#] {
            #expect(throws: MediaStreamError.self) { try bare.hear(#"{"type":"transfer","data":\#(data)}"#) }
        }
    }

    // MARK: Both ends

    @Test(arguments: JambonzDialect.sampleRates) func soundComesThroughBothWays(rate: Int32) throws {
        let line = try StreamLine(
            JambonzDialect.self,
            carrier: DialectOptions(role: .carrier, format: WireFormat(.linear16(.little), sampleRate: rate)))
        let start = StreamStart(streamID: "c1", callID: "c1", parameters: ["brief": "{}"])
        line.tell(.start(start))
        line.loop.advance(ms: 20)
        #expect(line.atApplication == [.start(start)] && line.application.soundRate == min(rate, 24_000))
        let limit = line.sockets.application.configuration.sendQueueLimit
        #expect(limit >= Int(rate) * 4, "two seconds of what was agreed may wait")
        line.speak(60) { line.tell($0) }
        line.loop.advance(ms: 200)
        StreamLine.expectTone(line.atApplication, of: 60)
        line.speak(60) { line.say($0) }
        line.loop.advance(ms: 200)
        StreamLine.expectTone(line.atCarrier, of: 60)
        #expect(Set(line.sockets.carrier.sizes) == [Int(rate) / 25], "20 ms")
        #expect(line.sockets.application.sizes.allSatisfy { $0 % (Int(rate) * 4 / 25) == 0 }, "jambonz waits for 80 ms")
        #expect(line.application.malformed == 0 && line.carrier.malformed == 0)
    }

    @Test func marksDigitsAndClearsComeThrough() throws {
        let line = try StreamLine(JambonzDialect.self)
        line.tell(.start(StreamStart(streamID: "c1", callID: "c1")))
        line.tell(.dtmf("5"))
        line.loop.advance(ms: 20)
        #expect(line.atApplication.last == .dtmf("5"))
        line.speak(10) { line.say($0) }
        line.say(.mark("m"))
        line.loop.advance(ms: 400)
        #expect(StreamLine.marks(line.atCarrier) == ["m"], "behind its sound")
        #expect(line.sockets.application.sizes.reduce(0, +) == 12 * 320, "filled up to 240 ms")
        line.say(.clear)
        line.loop.advance(ms: 20)
        #expect(line.atCarrier.last == .clear)
        line.tell(.mark("m"))
        line.loop.advance(ms: 20)
        #expect(StreamLine.marks(line.atApplication) == ["m"])
        #expect(line.sockets.carrier.texts.last?.contains("cleared") == true)
    }

    @Test func theEndIsAskedFor() throws {
        let line = try StreamLine(JambonzDialect.self)
        line.loop.run { line.application.close() }
        line.loop.advance(ms: 20)
        #expect(line.atCarrier == [.stop] && line.sockets.application.closedWith == nil)
        line.loop.run { line.carrier.close() }
        line.loop.advance(ms: 20)
        #expect(line.sockets.carrier.closedWith == 1_000)
        let deaf = try StreamLine(JambonzDialect.self)
        deaf.loop.run { deaf.application.close() }
        deaf.loop.advance(ms: 2_300)
        #expect(deaf.sockets.application.closedWith == 1_000, "jambonz did not close")
    }

    @Test func theTokenIsTheVerbsPassword() throws {
        #expect(JambonzDialect.traits.tokens.first == .basic)
        #expect(JambonzDialect.traits.subprotocols.first == "audio.jambonz.org")
        let credentials = Data("anybody:secret".utf8).base64EncodedString()
        let handshake = WebSocket.Handshake(
            path: "/media/jambonz", query: [], headers: ["authorization": "Basic " + credentials], peer: "")
        #expect(TokenPlace.basic.token(in: StreamStart(streamID: "", callID: ""), of: handshake) == "secret")
    }

    // MARK: Bad input

    @Test(arguments: [
        "", "[]", "{", "null", #"{"event":"dtmf"}"#, #"{"event":"dtmf","dtmf":"x"}"#, #"{"event":"dtmf","dtmf":"22"}"#,
        #"{"event":"dtmf","dtmf":{"digit":"2"}}"#, #"{"type":"mark"}"#, #"{"type":"mark","data":{}}"#,
        #"{"type":"mark","data":"m"}"#, #"{"type":"mark","data":{"name":null}}"#, #"{"type":"mark"} trailing"#,
        #"{"callSid":"c2","sampleRate":16000}"#, #"{"callSid":7}"#, "}}}}",
    ])
    func malformedMessagesAreErrors(text: String) throws {
        let bare = try application()
        #expect(throws: MediaStreamError.self) { _ = try bare.hear(text) }
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"type":7}"#, #"{"type":"mark"}"#, #"{"type":"mark","data":{"name":[}}"#,
        #"{"event":"clear"}"#,
    ])
    func malformedCommandsAreErrors(text: String) throws {
        let bare = try carrier()
        #expect(throws: MediaStreamError.self) { _ = try bare.hear(text) }
    }

    @Test func orderIsChecked() throws {
        let bare = try application(hasStarted: false)
        for text in [
            #"{"event":"dtmf","dtmf":"5"}"#, #"{"type":"mark","data":{"name":"m"}}"#, #"{"sampleRate":8000}"#, "{}",
        ] {
            #expect(throws: MediaStreamError.self) { _ = try bare.hear(text) }
        }
        #expect(throws: MediaStreamError.self) { _ = try bare.hear(binary: [UInt8](repeating: 0, count: 640)) }
        _ = try bare.hear(Self.attributes)
        #expect(throws: MediaStreamError.self, "twice") { _ = try bare.hear(Self.attributes) }
        #expect(try bare.hear(binary: [UInt8](repeating: 0, count: 640)).count <= 1)
    }

    @Test(arguments: [1, 3, 321, 4_097]) func samplesMayBeCutAnywhere(step: Int) throws {
        let sound = (0..<16_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 5) }
        let whole = try application(), cut = try application()
        let expected = try whole.hear(binary: sound)
        var heard: [MediaStreamMessage] = []
        for start in stride(from: 0, to: sound.count, by: step) {
            heard += try cut.hear(binary: Array(sound[start..<min(start + step, sound.count)]))
        }
        #expect(zip(expected, heard).allSatisfy { $0 == $1 } && abs(expected.count - heard.count) <= 1)
    }

    @Test func sizesAreBounded() throws {
        let bare = try application()
        #expect(
            (195...200).contains(try bare.hear(binary: [UInt8](repeating: 0, count: 128_000)).count), "after a stall")
        #expect(throws: MediaStreamError.self) { _ = try bare.hear(binary: [UInt8](repeating: 0, count: 160_002)) }
        #expect(throws: MediaStreamError.self) { _ = try bare.hear(binary: [UInt8](repeating: 0, count: 1 << 20)) }
        let large = String(repeating: "a", count: 1 << 20)
        for text in [large, #"{"type":"mark","data":{"name":"\#(large)"}}"#] {
            #expect(throws: MediaStreamError.self) { _ = try bare.hear(text) }
            #expect(throws: MediaStreamError.self) { _ = try carrier().hear(text) }
        }
        let fresh = try application(hasStarted: false)
        let many = (0..<200).map { #","p\#($0)":1"# }.joined()
        #expect(throws: MediaStreamError.self) { _ = try fresh.hear(attributes(#""sampleRate":8000\#(many)"#)) }
        #expect(throws: MediaStreamError.self) { _ = try fresh.hear(#"{"callSid":"\#(large)","sampleRate":8000}"#) }
        #expect(try fresh.hear(attributes(#""sampleRate":8000"#)).count == 1, "a refused start is none")
    }

    @Test func aStreamOfNonsenseIsGivenUp() throws {
        let line = try StreamLine(JambonzDialect.self)
        for _ in 0..<WebSocketMediaStream.errorLimit { line.inject(binary: [1, 2]) }
        #expect(line.sockets.application.closedWith == nil)
        line.inject("[]")
        #expect(line.sockets.application.closedWith == 1_003 && line.atApplication.isEmpty)
    }

    @Test func randomBytesNeverTrap() throws {
        let valid = [
            Self.attributes, #"{"event":"dtmf","dtmf":"2","duration":"1600"}"#,
            #"{"type":"mark","data":{"name":"m","event":"playout"}}"#, #"{"type":"clearMarks"}"#,
            #"{"type":"killAudio"}"#, #"{"type":"disconnect"}"#,
        ]
        try application(hasStarted: false).endure(valid, [.text, .binary], rounds: 5_000)
        try application().endure(valid, [.text, .binary], rounds: 5_000)
        try carrier().endure(valid, [.text, .binary], rounds: 5_000)
    }
}
