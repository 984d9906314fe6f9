import Foundation
import Net
import Pipeline
import TestSupport
import Testing

@testable import Bridge

/// Dialects that no carrier speaks, both ends, in virtual time: what a media stream does for them.
@Suite struct WebSocketMediaStreamTests {
    /// What a tone has become: loud from the right frame on, as loud as it was, and of the same pitch.
    private func expectTone(_ frames: [EncodedFrame], of sent: Int) throws {
        // Some wait in the resamplers, for a message and for a frame to be full.
        #expect((sent - 4...sent).contains(frames.count), "\(frames.count) of \(sent) frames")
        let first = try #require(frames.firstIndex { $0.peak > 4_000 })
        #expect((10...12).contains(first), "at most 40 ms later than it was said: \(first)")
        StreamLine.expectPitch(frames[(first + 1)...])
        #expect((7_000...9_000).contains(frames[frames.count - 2].peak))
        let times = frames.map(\.timestampMs)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 == $0 + 20 })
    }

    // MARK: Sound

    @Test func bigEndianSoundComesThroughBothWays() throws {
        let line = try StreamLine(BigEndianDialect.self)
        line.tell(.start(StreamStart(streamID: "s", callID: "c")))
        line.speak(60, silent: 10) { line.tell($0) }
        try expectTone(StreamLine.frames(line.atApplication), of: 60)
        line.speak(60, silent: 10) { line.say($0) }
        try expectTone(StreamLine.frames(line.atCarrier), of: 60)
        let lengths = Set(line.sockets.application.texts.filter { $0.contains("audio") }.map(\.count))
        #expect(lengths == [Base64.encodedLength(BigEndianDialect.chunk) + 12], "every message has 700 bytes of sound")
    }

    @Test func binarySoundComesThroughBothWays() throws {
        let line = try StreamLine(BinaryDialect.self)
        line.tell(.start(StreamStart(streamID: "s", callID: "c")))
        line.speak(60, silent: 10) { line.tell($0) }
        try expectTone(StreamLine.frames(line.atApplication), of: 60)
        line.speak(60, silent: 10) { line.say($0) }
        try expectTone(StreamLine.frames(line.atCarrier), of: 60)
        #expect(Set(line.sockets.application.sizes) == [960], "exactly 20 ms at 24 kHz")
    }

    @Test(arguments: [1, 3, 333, 641, 5_000]) func soundMayBeCutAnywhere(step: Int) throws {
        let format = BigEndianDialect.sound
        let bytes = (0..<16_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 5) }
        func read(_ step: Int) throws -> [MediaStreamMessage] {
            let reader = try SoundReader(format)
            var news = WireNews()
            try bytes.withUnsafeBufferPointer { bytes in
                for start in stride(from: 0, to: bytes.count, by: step) {
                    let part = UnsafeBufferPointer(rebasing: bytes[start..<min(start + step, bytes.count)])
                    try reader.read(part, timestampMs: nil, into: &news)
                }
            }
            return news.messages
        }
        let whole = try read(640), cut = try read(step)
        #expect(zip(whole, cut).allSatisfy { $0 == $1 } && abs(whole.count - cut.count) <= 1)
        #expect((23...25).contains(whole.count))
    }

    @Test(arguments: [
        WireFormat(.muLaw, sampleRate: 16_000), WireFormat(.aLaw), WireFormat(.linear16(.little)),
        WireFormat(.linear16(.big), sampleRate: 48_000), WireFormat(.linear16(.little), sampleRate: 22_050),
        WireFormat(.linear16(.little), sampleRate: 16_000, channels: 2), WireFormat(.muLaw, channels: 2),
    ])
    func everyFormatIsWrittenAndReadBack(format: WireFormat) throws {
        let terms = WireTerms(incoming: format, outgoing: format, chunks: .any(frames: 5))
        let writer = try SoundWriter(terms), reader = try SoundReader(format)
        var news = WireNews()
        for index in 0..<50 {
            writer.append(StreamLine.tone(index))
            _ = writer.emit { sound, _ in
                (try? reader.read(sound, timestampMs: nil, into: &news)) != nil
            }
        }
        let frames = StreamLine.frames(news.messages)
        #expect((46...50).contains(frames.count))
        let loudest = frames.dropFirst(3).map(\.peak)
        #expect(loudest.allSatisfy { (7_000...9_500).contains($0) }, "\(loudest)")
    }

    @Test func widerSoundIsHeardAtItsOwnRate() throws {
        let line = try StreamLine(BigEndianDialect.self)
        var order = "", wide: [AudioFrame] = []
        line.application.onWideSound = {
            wide.append($0)
            order += "w"
        }
        line.application.onMessage = { [unowned line] in
            line.atApplication.append($0)
            order += "f"
        }
        #expect(line.application.soundRate == 16_000 && line.application.isWide)
        line.speak(30, silent: 10) { line.tell($0) }
        #expect(wide.allSatisfy { $0.sampleRate == 16_000 && $0.count == 320 })
        let frames = StreamLine.frames(line.atApplication).count
        #expect((26...30).contains(frames) && wide.count == frames)
        #expect(order == String(repeating: "wf", count: frames), "each just before its frame")
    }

    /// Whatever the rate, the wide sound of a frame is the same 20 ms: a click stands at the same time in both.
    @Test(arguments: [16_000, 24_000, 12_000, 22_050, 11_025, 32_000, 44_100, 48_000, 64_000] as [Int32])
    func wideSoundIsThatOfItsFrame(rate: Int32) throws {
        let reader = try SoundReader(WireFormat(.linear16(.little), sampleRate: rate))
        var samples = [Int16](repeating: 0, count: Int(rate))
        let clickMs = [115, 503, 777, 900]
        for ms in clickMs { for index in 0..<Int(rate) / 2_000 { samples[ms * Int(rate) / 1_000 + index] = 20_000 } }
        var news = WireNews()
        news.isWideHeard = true
        try samples.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: 700) {
                let part = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + 700, bytes.count)])
                try reader.read(part.assumingMemoryBound(to: UInt8.self), timestampMs: nil, into: &news)
            }
        }
        let frames = StreamLine.frames(news.messages), wide = news.wide.map(\.sound)
        #expect((47...50).contains(frames.count) && frames.count == wide.count)
        #expect(news.wide.map(\.place) == Array(frames.indices))
        let wideRate = CallerFramer.wideRate(of: rate)
        #expect(wideRate <= 24_000 && wideRate > 8_000)
        #expect(wide.allSatisfy { $0.sampleRate == wideRate && $0.count == Int(wideRate) / 50 })
        let narrowSound = frames.flatMap { frame in frame.withBytes { $0.map(MuLaw.decode) } }
        let wideSound = wide.flatMap { frame in frame.withSamples { Array($0) } }
        for ms in clickMs {
            func found(_ sound: [Int16], _ perMs: Double) -> Double {
                let range = Int(Double(ms - 20) * perMs)..<Int(Double(ms + 20) * perMs)
                let total = range.reduce(0.0) { $0 + abs(Double(sound[$1])) }
                return range.reduce(0.0) { $0 + abs(Double(sound[$1])) * Double($1) } / total / perMs
            }
            let narrow = found(narrowSound, 8), wide = found(wideSound, Double(wideRate) / 1_000)
            #expect(abs(narrow - wide) < 0.5 && abs(wide - Double(ms)) < 2.5, "\(narrow) and \(wide) ms, not \(ms)")
        }
    }

    @Test func aStreamOfEightKilohertzHasNoWideSound() throws {
        for format in [WireFormat.muLaw8k, WireFormat(.linear16(.little))] {
            let reader = try SoundReader(format)
            var news = WireNews()
            news.isWideHeard = true
            try [UInt8](repeating: 0, count: 3_200).withUnsafeBufferPointer {
                try reader.read($0, timestampMs: nil, into: &news)
            }
            #expect(news.messages.count >= 9 && news.wide.isEmpty)
        }
        #expect(CallerFramer.wideRate(of: 8_000) == 8_000)
    }

    /// One message may hold sound of both sides of an agreement.
    @Test func theWideSoundStaysWithItsFrameAcrossAHandshake() throws {
        let wide = BinaryDialect.sound(16_000)
        let narrow = WireTerms(incoming: .muLaw8k, outgoing: .muLaw8k, chunks: .any(frames: 5))
        let inbox = try DialectInbox(narrow)
        inbox.isWideHeard = true
        func tell(_ count: Int) throws {
            try [UInt8](repeating: 0, count: count).withUnsafeBufferPointer { try inbox.sound($0) }
        }
        try tell(320)
        try inbox.agree(wide)
        try tell(640 * 6)
        try inbox.agree(narrow)
        try tell(320)
        let messages = inbox.take(), places = inbox.takeWide().map(\.place)
        #expect((8...10).contains(messages.count) && places == Array(2..<messages.count - 2))
        #expect(inbox.takeWide().isEmpty)
    }

    @Test func tooMuchSoundIsRefusedAndOddFormatsToo() throws {
        let inbox = try DialectInbox(BigEndianDialect(DialectOptions(role: .application)).terms)
        #expect(throws: MediaStreamError.self) {
            try [UInt8](repeating: 0, count: 32_001).withUnsafeBufferPointer { try inbox.sound($0) }
        }
        for format in [
            WireFormat(.muLaw, sampleRate: 4_000), WireFormat(.aLaw, channels: 3), WireFormat(.muLaw, channels: 0),
        ] {
            #expect(throws: MediaStreamError.self) { _ = try SoundReader(format) }
        }
    }

    /// Sound of our frames is not touched.
    @Test func soundOfOurOwnFormatPassesAsItIs() throws {
        let line = try StreamLine(TwilioDialect.self)
        line.tell(.start(StreamStart(streamID: "MZ1", callID: "CA1")))
        let frames = (0..<7).map { StreamLine.tone($0) }
        line.loop.run { _ = frames.withUnsafeBufferPointer { line.application.send($0) } }
        #expect(line.sockets.application.texts.count == 1, "one message, whatever it holds")
        let heard = StreamLine.frames(line.atCarrier)
        #expect(heard.map { $0.withBytes { Array($0) } } == frames.map { $0.withBytes { Array($0) } })
    }

    // MARK: Marks and clear

    @Test func aMarkFollowsTheSoundInFrontOfIt() throws {
        let line = try StreamLine(BigEndianDialect.self)
        line.say(.media(StreamLine.tone(0)))
        line.say(.mark("m"))
        #expect(StreamLine.marks(line.atCarrier).isEmpty, "its sound waits for a full message")
        line.loop.advance(ms: 100)
        #expect(StreamLine.marks(line.atCarrier) == ["m"], "no more sound came: the message was filled up")
        line.say(.mark("n"))
        #expect(StreamLine.marks(line.atCarrier) == ["m", "n"], "nothing waits any more")
    }

    @Test func aClearGivesBackEveryMark() throws {
        let line = try StreamLine(BigEndianDialect.self)
        line.say(.mark("sent"))
        line.say(.media(StreamLine.tone(0)))
        line.say(.mark("waiting"))
        line.say(.clear)
        #expect(line.atCarrier.last == .clear)
        #expect(StreamLine.marks(line.atApplication) == ["sent", "waiting"])
        line.loop.advance(ms: 200)
        #expect(StreamLine.frames(line.atCarrier).isEmpty && StreamLine.marks(line.atCarrier) == ["sent"])
        // What was echoed is not given back again.
        line.say(.mark("echoed"))
        line.tell(.mark("echoed"))
        line.say(.clear)
        #expect(StreamLine.marks(line.atApplication) == ["sent", "waiting", "echoed"])
    }

    @Test func withoutMarksOurClockGivesThemBack() throws {
        let line = try StreamLine(BinaryDialect.self)
        for index in 0..<10 { line.say(.media(StreamLine.tone(index))) }
        line.say(.mark("m"))
        line.loop.advance(ms: 160)
        #expect(StreamLine.marks(line.atApplication).isEmpty)
        line.loop.advance(ms: 140)
        #expect(StreamLine.marks(line.atApplication) == ["m"])
    }

    // MARK: Words

    @Test func digitsGoBothWays() throws {
        let line = try StreamLine(BigEndianDialect.self)
        line.tell(.dtmf("5"))
        line.say(.dtmf("#"))
        #expect(line.atApplication == [.dtmf("5")] && line.atCarrier == [.dtmf("#")])
    }

    @Test func theFarEndMayHoldSoundBack() throws {
        let line = try StreamLine(BinaryDialect.self)
        line.sockets.carrier.send(text: "XOFF")
        line.loop.advance(ms: 20)
        #expect(line.say(.media(StreamLine.tone(0))) == false)
        line.sockets.carrier.send(text: "XON")
        line.loop.advance(ms: 20)
        #expect(line.say(.media(StreamLine.tone(0))) == true)
        #expect(line.loop.run { line.carrier.setPaused(true) })
        #expect(line.say(.media(StreamLine.tone(0))) == false)
    }

    @Test func aFullSocketKeepsWhatWaits() throws {
        let line = try StreamLine(BinaryDialect.self)
        line.sockets.application.isFull = true
        var accepted = 0
        for index in 0..<200 where line.say(.media(StreamLine.tone(index))) { accepted += 1 }
        #expect((50...60).contains(accepted), "a second, and no more: \(accepted)")
        line.sockets.application.isFull = false
        line.loop.advance(ms: 100)
        #expect((accepted - 1...accepted + 1).contains(line.sockets.application.sizes.count))
    }

    @Test func theProtocolsOwnWordsAreSaid() throws {
        let line = try StreamLine(BinaryDialect.self)
        line.sockets.carrier.send(text: "PING")
        line.loop.advance(ms: 20)
        #expect(line.sockets.application.texts == ["PONG"])
        line.loop.advance(ms: 5_200)
        #expect(line.sockets.carrier.texts.contains("PING"), "a keep-alive every 5 s")
        line.say(.start(StreamStart(streamID: "s", callID: "c")))
        #expect(line.sockets.application.texts.contains("ACCEPTED"))
    }

    @Test func theHandshakeSettlesTheFormat() throws {
        let line = try StreamLine(BinaryDialect.self)
        line.sockets.carrier.send(text: "START s 16000")
        line.loop.advance(ms: 20)
        #expect(line.application.soundRate == 16_000)
        for index in 0..<5 { line.say(.media(StreamLine.tone(index))) }
        #expect(Set(line.sockets.application.sizes) == [640])
    }

    @Test(arguments: ["START s 1000000", "START s"]) func aBadFormatIsRefusedInItsOwnWords(text: String) throws {
        let line = try StreamLine(BinaryDialect.self)
        line.sockets.carrier.send(text: text)
        line.loop.advance(ms: 20)
        #expect(line.sockets.application.texts.last == "ERROR format" && line.sockets.application.closedWith == 1_003)
    }

    @Test func messagesOfTheWrongKindAreMalformed() throws {
        let line = try StreamLine(BigEndianDialect.self)
        line.sockets.carrier.send(binary: [1, 2, 3])
        line.loop.advance(ms: 20)
        #expect(line.application.malformed == 1 && line.atApplication.isEmpty)
        for _ in 0...WebSocketMediaStream.errorLimit { line.sockets.carrier.send(text: "[]") }
        line.loop.advance(ms: 20)
        #expect(line.sockets.application.closedWith == 1_003)
    }

    @Test func theEndIsAskedForWhereTheDialectWantsIt() throws {
        let line = try StreamLine(BinaryDialect.self)
        line.loop.run { line.application.close() }
        #expect(line.atCarrier == [.stop] && line.sockets.application.closedWith == nil)
        line.loop.advance(ms: 1_200)
        #expect(line.sockets.application.closedWith == 1_000)
    }

    /// A caller who speaks and presses keys, through a dialect of another rate.
    @Test func aScriptedCallerIsHeardThroughADialect() throws {
        let line = try StreamLine(BigEndianDialect.self)
        let caller = line.loop.run { ScriptedCaller(line.carrier, on: line.loop) }
        caller.speak(ms: 400)
        line.loop.advance(ms: 600)
        caller.press("7")
        let loud = StreamLine.frames(line.atApplication).count { $0.peak > 2_000 }
        #expect((19...22).contains(loud) && line.atApplication.last == .dtmf("7"))
        for index in 0..<20 { line.say(.media(StreamLine.tone(index))) }
        line.say(.mark("end"))
        line.loop.advance(ms: 700)
        #expect(StreamLine.marks(line.atApplication) == ["end"] && (380...440).contains(caller.playedMs))
        caller.leave()
    }
}
