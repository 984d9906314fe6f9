import Foundation
import Pipeline
import Testing

@testable import Realtime

@Suite struct DeepgramStreamTests {
    private static func results(_ text: String, start: Double = 0, duration: Double, flags: String = "") -> [UInt8] {
        Array(
            (#"{"type":"Results","channel_index":[0,1],"start":\#(start),"duration":\#(duration),\#(flags)"#
                + #""channel":{"alternatives":[{"transcript":"\#(text)","confidence":0.9,"words":[]}]}}"#).utf8)
    }
    private static let second = [Int16](repeating: 1, count: 8_000)

    @Test func interimAndFinalPiecesMakeATurn() throws {
        var stream = DeepgramStream()
        var events: [TranscriptEvent] = []
        stream.connected()
        stream.heard(Self.second)
        try stream.received(Self.results("I would", duration: 0.5), into: &events)
        try stream.received(Self.results("I would like", duration: 1, flags: #""is_final":true,"#), into: &events)
        stream.heard(Self.second)
        try stream.received(Self.results("four", start: 1, duration: 0.5), into: &events)
        stream.turnEnded()
        try stream.received(
            Self.results("four seats.", start: 1, duration: 1, flags: #""is_final":true,"from_finalize":true,"#),
            into: &events)
        #expect(
            events == [
                .interim("I would"), .interim("I would like"), .interim("I would like four"),
                .final(text: "I would like four seats.", confidence: 0.9),
            ])
        #expect(stream.outgoing.last == .text(#"{"type":"Finalize"}"#))
    }

    @Test func aNewConnectionHearsWhatIsNotCertain() throws {
        var stream = DeepgramStream()
        var events: [TranscriptEvent] = []
        stream.heard(Self.second)  // before there is a connection
        stream.connected()
        stream.heard(Self.second)
        try stream.received(Self.results("One", duration: 0.75, flags: #""is_final":true,"#), into: &events)
        stream.disconnected()
        stream.heard(Self.second)
        stream.turnEnded()
        stream.outgoing = []
        stream.connected()
        let sound = stream.outgoing.reduce(0) { if case .sound(let bytes) = $1 { $0 + bytes.count } else { $0 } }
        #expect(sound == 2 * (24_000 - 6_000) && stream.outgoing.last == .text(#"{"type":"Finalize"}"#))
        try stream.received(
            Self.results("two", duration: 2.25, flags: #""is_final":true,"from_finalize":true,"#), into: &events)
        #expect(events.last == .final(text: "One two", confidence: 0.9))
        // The turn has been told: it is not heard again.
        stream.outgoing = []
        stream.disconnected()
        stream.connected()
        #expect(stream.outgoing.isEmpty)
    }

    @Test func aPauseOfTheSpeakerIsTold() throws {
        var stream = DeepgramStream()
        var events: [TranscriptEvent] = []
        stream.connected()
        stream.heard(Self.second)
        try stream.received(
            Self.results("Yes.", duration: 1, flags: #""is_final":true,"speech_final":true,"#), into: &events)
        #expect(events == [.interim("Yes."), .pause("Yes.")])
        try stream.received(Array(#"{"type":"UtteranceEnd","channel":[0,1],"last_word_end":0.9}"#.utf8), into: &events)
        #expect(events.last == .pause("Yes."))
    }

    @Test func silenceIsKeptAliveAndAStallIsFound() throws {
        var stream = DeepgramStream()
        var events: [TranscriptEvent] = []
        stream.connected()
        for _ in 0..<20 { try stream.tick(into: &events) }
        #expect(stream.outgoing == [.text(#"{"type":"KeepAlive"}"#)])
        stream.heard([Int16](repeating: 1, count: 1_600))
        stream.turnEnded()
        for _ in 0..<6 { try stream.tick(into: &events) }
        #expect(events == [.final(text: "", confidence: nil)], "a cough says nothing")
        stream.heard(Self.second)
        stream.turnEnded()
        #expect(throws: SpeechError.self) { for _ in 0..<6 { try stream.tick(into: &events) } }
    }

    @Test(arguments: ["", "{", "[]", #"{"type":7}"#, #"{"type":"Results"}"#, #"{"type":"Results","channel":[1]}"#])
    func nonsenseIsBorneForAWhile(text: String) throws {
        var stream = DeepgramStream()
        var events: [TranscriptEvent] = []
        for _ in 0..<20 { try stream.received(Array(text.utf8), into: &events) }
        #expect(throws: SpeechError.self) { try stream.received(Array(text.utf8), into: &events) }
        #expect(events.isEmpty)
    }

    @Test(arguments: ["1e400", "-5", "1e18"]) func impossibleTimesDoNoHarm(time: String) throws {
        var stream = DeepgramStream()
        var events: [TranscriptEvent] = []
        stream.connected()
        stream.heard(Self.second)
        let text = String(decoding: Self.results("x", duration: 1, flags: #""is_final":true,"#), as: UTF8.self)
            .replacing(
                #""start":0.0"#, with: #""start":\#(time)"#)
        try stream.received(Array(text.utf8), into: &events)
        stream.heard(Self.second)
        stream.disconnected()
        stream.connected()
    }
}
