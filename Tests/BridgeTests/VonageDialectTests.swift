import Foundation
import Pipeline
import TestSupport
import Testing

@testable import Bridge
@testable import Net

@Suite struct VonageDialectTests {
    /// The guide's own example, with a header for the call's id.
    private static let connected =
        #"{"event":"websocket:connected","content-type":"audio/l16;rate=16000","uuid":"aaaa-bbbb","#
        + #""name":"J Doe","age":40,"address":{"line_1":"Apartment 14"},"system_roles":[183493, 22],"#
        + #""enable_auditing":false,"nothing":null,"quoted":"a\"b\/"}"#

    private func application(hasStarted: Bool = true) throws -> DialectBench {
        let bare = try DialectBench(VonageDialect.self, DialectOptions(role: .application))
        if hasStarted { _ = try bare.hear(Self.connected) }
        return bare
    }
    private func carrier(_ format: WireFormat? = nil) throws -> DialectBench {
        try DialectBench(VonageDialect.self, DialectOptions(role: .carrier, format: format))
    }

    // MARK: As application

    @Test func theFirstMessageHasTheHeadersAmongItsMembers() throws {
        let bare = try application(hasStarted: false)
        let parameters = [
            "name": "J Doe", "age": "40", "address": #"{"line_1":"Apartment 14"}"#, "system_roles": "[183493, 22]",
            "enable_auditing": "false", "quoted": "a\"b/",
        ]
        #expect(
            try bare.hear(Self.connected) == [
                .start(StreamStart(streamID: "aaaa-bbbb", callID: "aaaa-bbbb", parameters: parameters))
            ])
        let other = try application(hasStarted: false)
        let start = StreamLine.start(
            try other.hear(
                #"{"event":"websocket:connected","content-type":"audio/l16;rate=8000","call_uuid":"c1"}"#))
        #expect(start?.callID == "c1")
    }

    @Test(arguments: [
        ("audio/l16;rate=8000", 8_000), ("audio/l16;rate=16000", 16_000), ("audio/L16; rate=24000", 24_000),
        ("AUDIO/L16 ; RATE=16000 ; channels=1", 16_000),
    ])
    func theFirstMessageNamesTheRate(contentType: String, rate: Int32) throws {
        let bare = try application(hasStarted: false)
        _ = try bare.hear(#"{"content-type":"\#(contentType)","event":"websocket:connected"}"#)
        let format = WireFormat(.linear16(.little), sampleRate: rate)
        #expect(bare.inbox.terms.incoming == format && bare.inbox.terms.outgoing == format)
        #expect(bare.inbox.terms.chunks == .exactly(Int(rate) / 25))
    }

    @Test(arguments: [
        "audio/l16;rate=44100", "audio/l16;rate=48000", "audio/l16", "audio/l16;rate=", "audio/l16;rate=-8000",
        "audio/l16;rate=99999999999999999999", "audio/x-mulaw;rate=8000", "",
        String(repeating: "audio/l16;", count: 100),
    ])
    func anotherFormatIsRefused(contentType: String) throws {
        let bare = try application(hasStarted: false)
        let text = #"{"event":"websocket:connected","content-type":"\#(contentType)"}"#
        let error = #expect(throws: MediaStreamError.self) { _ = try bare.hear(text) }
        #expect(error?.refusal == .format)
        let line = try StreamLine(VonageDialect.self)
        line.inject(text)
        #expect(line.sockets.application.closedWith == 1_003 && line.sockets.application.texts.isEmpty)
    }

    @Test func digitsHaveANewShapeAndAnOldOne() throws {
        let bare = try application()
        #expect(try bare.hear(#"{"event":"websocket:dtmf","digit":"5","duration":260}"#) == [.dtmf("5")])
        #expect(try bare.hear(#"{"event":"websocket:dtmf","digit":7}"#) == [.dtmf("7")])
        #expect(
            try bare.hear(##"{"event":"websocket:dtmf","dtmf":{"digit":"#","timed_out":false}}"##) == [.dtmf("#")])
        #expect(try bare.hear(#"{"event":"websocket:dtmf","dtmf":"*"}"#) == [.dtmf("*")])
    }

    @Test func notificationsAreMarks() throws {
        let bare = try application()
        #expect(try bare.hear(#"{"event":"websocket:notify","payload":{"name":"turn-1"}}"#) == [.mark("turn-1")])
        #expect(
            try bare.hear(#"{"event":"websocket:notify","payload":{"a":1,"name":"n"}}"#)
                == [.mark(#"{"a":1,"name":"n"}"#)])
        #expect(try bare.hear(#"{"event":"websocket:cleared"}"#) == [])
        #expect(try bare.hear(#"{"event":"websocket:later","payload":[]}"#) == [])
    }

    @Test func theApplicationSaysOnlyWhatVonageTakes() throws {
        let bare = try application()
        #expect(bare.say(.clear) == #"{"action":"clear"}"#)
        #expect(bare.say(.mark("turn-1")) == #"{"action":"notify","payload":{"name":"turn-1"}}"#)
        #expect(bare.say(.mark("a\"é")) == #"{"action":"notify","payload":{"name":"a\"é"}}"#)
        for message in [MediaStreamMessage.connected, .dtmf("1"), .stop, .start(StreamStart(streamID: "", callID: ""))]
        {
            #expect(bare.say(message) == nil)
        }
        #expect(bare.dialect.encode(.refused(.unauthorized)) == nil && bare.dialect.encode(.keepAlive) == nil)
    }

    // MARK: As carrier

    @Test func theCarrierSaysWhatVonageSays() throws {
        let bare = try carrier(WireFormat(.linear16(.little), sampleRate: 8_000))
        let start = StreamStart(streamID: "s", callID: "c1", parameters: ["brief": "{\"a\":1}", "event": "mine"])
        let text = try #require(bare.say(.start(start)))
        let object = try JSONDecoder().decode([String: String].self, from: Data(text.utf8))
        #expect(
            object == [
                "event": "websocket:connected", "content-type": "audio/l16;rate=8000", "uuid": "c1",
                "brief": "{\"a\":1}",
            ])
        #expect(bare.say(.dtmf("#")) == ##"{"event":"websocket:dtmf","digit":"#","duration":260}"##)
        #expect(bare.say(.mark("m")) == #"{"event":"websocket:notify","payload":{"name":"m"}}"#)
        #expect(bare.say(.clear) == nil && bare.say(.stop) == nil && bare.say(.connected) == nil)
        let sound: [UInt8] = [1, 2, 3, 4]
        #expect(bare.bytes(sound: sound) == sound)
    }

    @Test func actionsAreDoneAndClearsAreAnswered() throws {
        let line = try StreamLine(VonageDialect.self)
        line.inject(toCarrier: #"{"action":"clear"}"#)
        #expect(line.atCarrier == [.clear] && line.sockets.carrier.texts == [#"{"event":"websocket:cleared"}"#])
        line.inject(toCarrier: #"{"action":"later"}"#)
        #expect(line.atCarrier.count == 1 && line.carrier.malformed == 0)
    }

    /// A payload is the application's own.
    @Test(arguments: [
        #"{"name":"turn-1"}"#, #"{"reply_id":"r-1","n":[1,2]}"#, "{}", #"{"name":5}"#, #"{"a":"\u00e9\n"}"#,
        #"{"name":"{\"a\":1}","b":2}"#,
    ])
    func aPayloadComesBackAsItWent(payload: String) throws {
        let bare = try carrier()
        let heard = try bare.hear(#"{"action":"notify","payload":\#(payload)}"#)
        let mark = try #require(heard.first)
        #expect(bare.say(mark) == #"{"event":"websocket:notify","payload":\#(payload)}"#)
    }

    @Test(arguments: ["m", "", "a\"b\\", #"{"a":1}"#, #"{"name":"x"}"#, "{", "é\u{1}"])
    func aMarkComesBackAsItWent(name: String) throws {
        let carrier = try self.carrier(), application = try self.application()
        #expect(try carrier.hear(#require(application.say(.mark(name)))) == [.mark(name)])
        #expect(try application.hear(#require(carrier.say(.mark(name)))) == [.mark(name)])
    }

    // MARK: Both ends

    @Test(arguments: VonageDialect.sampleRates) func soundComesThroughBothWays(rate: Int32) throws {
        let line = try StreamLine(
            VonageDialect.self,
            carrier: DialectOptions(role: .carrier, format: WireFormat(.linear16(.little), sampleRate: rate)))
        let start = StreamStart(streamID: "c1", callID: "c1", parameters: ["token": "t"])
        line.tell(.start(start))
        line.loop.advance(ms: 20)
        #expect(line.atApplication == [.start(start)] && line.application.soundRate == rate)
        line.speak(60) { line.tell($0) }
        line.loop.advance(ms: 200)
        StreamLine.expectTone(line.atApplication, of: 60)
        line.speak(60) { line.say($0) }
        line.loop.advance(ms: 200)
        StreamLine.expectTone(line.atCarrier, of: 60)
        #expect(Set(line.sockets.application.sizes) == [Int(rate) / 25], "exactly 20 ms")
        #expect(Set(line.sockets.carrier.sizes) == [Int(rate) / 25])
        #expect(line.application.malformed == 0 && line.carrier.malformed == 0)
    }

    @Test func marksDigitsAndClearsComeThrough() throws {
        let line = try StreamLine(VonageDialect.self)
        line.tell(.start(StreamStart(streamID: "c1", callID: "c1")))
        line.tell(.dtmf("5"))
        line.loop.advance(ms: 20)
        #expect(line.atApplication.last == .dtmf("5"))
        line.speak(10) { line.say($0) }
        line.say(.mark("m"))
        line.loop.advance(ms: 200)
        #expect(StreamLine.marks(line.atCarrier) == ["m"], "behind its sound")
        line.tell(.mark("m"))
        line.loop.advance(ms: 20)
        #expect(StreamLine.marks(line.atApplication) == ["m"])
        line.say(.mark("n"))
        line.say(.clear)
        line.loop.advance(ms: 20)
        #expect(StreamLine.marks(line.atApplication) == ["m", "n"], "what is cleared comes back from us")
        #expect(line.atCarrier.last == .clear)
    }

    @Test func aTokenStandsInAHeaderOfTheEndpoint() throws {
        let place = try #require(VonageDialect.traits.tokens.first)
        let line = try StreamLine(VonageDialect.self)
        var parameters: [String: String] = [:]
        var headers: [(String, String)] = []
        var query: [(name: String, value: String)] = []
        place.put("se\"cret", parameters: &parameters, headers: &headers, query: &query)
        line.tell(.start(StreamStart(streamID: "c", callID: "c", parameters: parameters)))
        line.loop.advance(ms: 20)
        let start = try #require(StreamLine.start(line.atApplication))
        let handshake = WebSocket.Handshake(path: "/media/vonage", query: [], headers: [:], peer: "")
        #expect(place.token(in: start, of: handshake) == "se\"cret")
    }

    // MARK: Bad input

    @Test(arguments: [
        "", "[]", "{", #"{"event":"#, #"{"event":7}"#, "{}", #"{"action":"clear"}"#,
        #"{"event":"websocket:dtmf"}"#, #"{"event":"websocket:dtmf","digit":"x"}"#,
        #"{"event":"websocket:dtmf","digit":"55"}"#, #"{"event":"websocket:dtmf","digit":""}"#,
        #"{"event":"websocket:dtmf","dtmf":{}}"#, #"{"event":"websocket:dtmf","digit":null}"#,
        #"{"event":"websocket:notify","payload":"text"}"#, #"{"event":"websocket:notify","payload":{a}}"#,
        #"{"event":"websocket:cleared"} trailing"#, "}}}}",
    ])
    func malformedMessagesAreErrors(text: String) throws {
        let bare = try application()
        #expect(throws: MediaStreamError.self) { _ = try bare.hear(text) }
    }

    @Test(arguments: [
        "", "[]", #"{"action":7}"#, "{}", #"{"event":"websocket:cleared"}"#, #"{"action":"notify","payload":[]}"#,
    ])
    func malformedActionsAreErrors(text: String) throws {
        let bare = try carrier()
        #expect(throws: MediaStreamError.self) { _ = try bare.hear(text) }
    }

    @Test func orderIsChecked() throws {
        let bare = try application(hasStarted: false)
        for text in [
            #"{"event":"websocket:dtmf","digit":"5"}"#, #"{"event":"websocket:cleared"}"#,
            #"{"event":"websocket:notify","payload":{"name":"m"}}"#,
        ] {
            #expect(throws: MediaStreamError.self) { _ = try bare.hear(text) }
        }
        #expect(throws: MediaStreamError.self) { _ = try bare.hear(binary: [UInt8](repeating: 0, count: 640)) }
        _ = try bare.hear(Self.connected)
        #expect(throws: MediaStreamError.self, "twice") { _ = try bare.hear(Self.connected) }
        #expect(try bare.hear(binary: [UInt8](repeating: 0, count: 640)).count <= 1)
    }

    @Test func sizesAreBounded() throws {
        let bare = try application()
        #expect(throws: MediaStreamError.self, "half a sample") {
            _ = try bare.hear(binary: [UInt8](repeating: 0, count: 639))
        }
        #expect(throws: MediaStreamError.self) { _ = try bare.hear(binary: [UInt8](repeating: 0, count: 1 << 20)) }
        #expect(try bare.hear(binary: []) == [])
        let large = String(repeating: "a", count: 1 << 20)
        #expect(throws: MediaStreamError.self) { _ = try bare.hear(large) }
        #expect(throws: MediaStreamError.self) {
            _ = try bare.hear(#"{"event":"websocket:notify","payload":{"a":"\#(large)"}}"#)
        }
        let fresh = try application(hasStarted: false)
        let many = (0..<200).map { #","p\#($0)":1"# }.joined()
        let start = #"{"event":"websocket:connected","content-type":"audio/l16;rate=16000""#
        #expect(throws: MediaStreamError.self) { _ = try fresh.hear(start + many + "}") }
        #expect(throws: MediaStreamError.self) { _ = try fresh.hear(start + #","uuid":"\#(large)"}"#) }
        #expect(try fresh.hear(start + "}").count == 1, "a refused start is none")
    }

    @Test func aStreamOfNonsenseIsGivenUp() throws {
        let line = try StreamLine(VonageDialect.self)
        for _ in 0..<WebSocketMediaStream.errorLimit { line.inject(binary: [1, 2]) }
        #expect(line.sockets.application.closedWith == nil)
        line.inject("{}")
        #expect(line.sockets.application.closedWith == 1_003 && line.atApplication.isEmpty)
    }

    @Test func randomBytesNeverTrap() throws {
        let valid = [
            Self.connected, #"{"event":"websocket:dtmf","digit":"5","dtmf":{"digit":"5"}}"#,
            #"{"event":"websocket:notify","payload":{"name":"m","a":[1,{"b":2}]}}"#,
            #"{"action":"notify","payload":{"name":"m"}}"#, #"{"action":"clear"}"#,
        ]
        try application(hasStarted: false).endure(valid, [.text, .binary], rounds: 5_000)
        try application().endure(valid, [.text, .binary], rounds: 5_000)
        try carrier().endure(valid, [.text, .binary], rounds: 5_000)
    }
}
