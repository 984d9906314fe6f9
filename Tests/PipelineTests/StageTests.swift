import Foundation
import TestSupport
import Testing

@testable import Pipeline

@Suite struct G711Tests {
    @Test func everyCodeWordSurvivesDecodingAndEncoding() {
        for byte in UInt8.min...UInt8.max {
            // μ-law has two zeros; both decode to 0.
            let muLaw = MuLaw.encode(MuLaw.decode(byte))
            #expect(muLaw == byte || MuLaw.decode(byte) == 0)
            #expect(ALaw.encode(ALaw.decode(byte)) == byte)
        }
    }

    @Test(arguments: [(0, 0xFF), (32_124, 0x80), (-32_124, 0x00), (8, 0xFE), (-8, 0x7E)] as [(Int16, UInt8)])
    func muLawKnownValues(sample: Int16, code: UInt8) { #expect(MuLaw.encode(sample) == code) }

    @Test(arguments: [(8, 0xD5), (-8, 0x55), (32_256, 0xAA), (-32_256, 0x2A)] as [(Int16, UInt8)])
    func aLawKnownValues(sample: Int16, code: UInt8) { #expect(ALaw.encode(sample) == code) }

    @Test func extremesDoNotTrap() {
        for sample in [Int16.min, .max, -1, 0, 1] {
            _ = MuLaw.encode(sample)
            _ = ALaw.encode(sample)
        }
    }

    @Test func decodersAndEncodersKeepTurnAndLength() throws {
        var frame = EncodedFrame(law: .aLaw, turn: 7)
        frame.bytes[0] = 0x2A
        let decoded = try StageHarness.run(ALawDecoder(), [frame])
        #expect(decoded.count == 1 && decoded[0].turn == 7 && decoded[0].count == 160 && decoded[0].sampleRate == 8_000)
        let encoded = try StageHarness.run(ALawEncoder(), decoded)
        #expect(encoded[0].bytes[0] == 0x2A && encoded[0].turn == 7)
        #expect(G711.transcode(frame, to: .muLaw).law == .muLaw)
        #expect(
            try StageHarness.run(MuLawEncoder(), StageHarness.run(MuLawDecoder(), [EncodedFrame()])) == [EncodedFrame()]
        )
    }
}

@Suite struct ResamplerTests {
    @Test(
        arguments: [(8_000, 24_000, 10.0), (24_000, 8_000, 10.0), (8_000, 16_000, 15.0), (16_000, 8_000, 15.0)]
            as [(Int32, Int32, Double)])
    func delayStaysWithinItsLimit(from: Int32, to: Int32, limit: Double) throws {
        let tone = Signals.impulse(at: 3_200, count: 6_400, rate: from)
        var resampler = try Resampler(from: from, to: to)
        var produced: [Int16] = []
        var availableAfterMs: [Int] = []
        for (ms, frame) in tone.enumerated() {
            var output: [AudioFrame] = []
            try resampler.process(frame, into: &output)
            for frame in output { frame.withSamples { produced.append(contentsOf: $0) } }
            while availableAfterMs.count < produced.count { availableAfterMs.append(ms + 1) }
        }
        let peak = try #require(produced.indices.max { abs(Int(produced[$0])) < abs(Int(produced[$1])) })
        let sentMs = 3_200 * 1_000 / Int(from)
        #expect(Double(availableAfterMs[peak] - sentMs) <= limit)
    }

    @Test func aToneKeepsItsLevelAndLength() throws {
        let frames = Signals.tone(hertz: 1_000, amplitude: 10_000, ms: 1_000, rate: 8_000)
        let output = try StageHarness.run(Resampler(from: 8_000, to: 16_000), frames)
        let samples = output.flatMap { frame in frame.withSamples { Array($0) } }
        #expect(abs(samples.count - 16_000) <= 2)
        let middle = samples[4_000..<12_000]
        let level = sqrt(middle.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(middle.count)) * 2.0.squareRoot()
        #expect(abs(level - 10_000) < 200)
    }

    @Test func aWrongRateIsAnError() throws {
        #expect(throws: StageError.self) { _ = try Resampler(from: 0, to: 8_000) }
        #expect(throws: StageError.self) {
            try StageHarness.run(Resampler(from: 8_000, to: 16_000), [AudioFrame(sampleRate: 24_000)])
        }
    }
}

@Suite struct FramerTests {
    @Test func anyLengthsBecomeWholeFrames() throws {
        var frames: [AudioFrame] = []
        for count in [100, 300, 7, 153] {
            var frame = AudioFrame(sampleRate: 8_000, turn: 2)
            frame.fill { buffer in
                for index in 0..<count { buffer[index] = Int16(index) }
                return count
            }
            frames.append(frame)
        }
        let output = try StageHarness.run(Framer(sampleRate: 8_000), frames)
        #expect(output.map(\.count) == [160, 160, 160, 160])
        #expect(output.allSatisfy { $0.turn == 2 })
        #expect(output[0].samples[99] == 99 && output[0].samples[100] == 0)
        #expect(output[3].samples[79] == 152 && output[3].samples[80] == 0, "the rest is silence")
    }
}

@Suite struct VoiceActivityDetectorTests {
    @Test func speechIsToldFromSilenceAndHum() throws {
        let speech = Signals.encoded(Signals.tone(hertz: 300, amplitude: 6_000, ms: 200, rate: 8_000))
        let silence = [EncodedFrame](repeating: EncodedFrame(), count: 10)
        let hum = Signals.encoded(Signals.tone(hertz: 50, amplitude: 60, ms: 200, rate: 8_000))
        #expect(try StageHarness.run(VoiceActivityDetector(), silence).allSatisfy { !$0.isSpeech && $0.level == -96 })
        #expect(try StageHarness.run(VoiceActivityDetector(), hum).allSatisfy { !$0.isSpeech })
        #expect(
            try StageHarness.run(VoiceActivityDetector(), silence + speech).suffix(10).allSatisfy {
                $0.isSpeech && abs($0.level - -17.8) < 1
            })
    }

    @Test func steadyNoiseBecomesTheFloor() throws {
        let noise = Signals.encoded(Signals.noise(amplitude: 400, ms: 12_000, rate: 8_000))
        let verdicts = try StageHarness.run(VoiceActivityDetector(), noise)
        #expect(verdicts.suffix(50).count { $0.isSpeech } == 0)
    }
}

@Suite struct TurnDetectorTests {
    private func events(
        _ pattern: String, _ configuration: TurnDetector.Configuration = .init(silenceMs: 100, monologueMs: 1_000)
    ) throws
        -> [TurnEvent]
    {
        try StageHarness.run(
            TurnDetector(configuration), pattern.map { VoiceActivity(isSpeech: $0 == "#", level: -20) })
    }

    @Test func aPauseIsToldOnce() throws {
        let configuration = TurnDetector.Configuration(silenceMs: 400, monologueMs: 10_000)
        #expect(
            try events("####..........####..........", configuration) == [
                .speechStarted, .paused, .paused, .speechEnded(spokenMs: 360),
            ])
    }
    @Test func theSilenceThatEndsATurnMayChangeWithinIt() {
        var stage = TurnDetector(.init(silenceMs: 600, monologueMs: 10_000))
        func silence(after ms: Int?) -> Int {
            var output: [TurnEvent] = []
            for _ in 0..<10 { stage.process(VoiceActivity(isSpeech: true, level: -20), into: &output) }
            if let ms { stage.silenceMs = ms }
            for frame in 1...200 {
                stage.process(VoiceActivity(isSpeech: false, level: -60), into: &output)
                if case .speechEnded? = output.last { return frame * EncodedFrame.milliseconds }
            }
            return 0
        }
        #expect(silence(after: 300) == 300 && silence(after: 1_200) == 1_200)
        #expect(silence(after: nil) == 600, "the next turn begins as configured")
    }
    @Test func aTurnBeginsWithTwoFramesAndEndsWithSilence() throws {
        #expect(try events("..####.....") == [.speechStarted, .speechEnded(spokenMs: 80)])
    }
    @Test func aClickIsNoTurn() throws { #expect(try events("..#....#....") == []) }
    @Test func aShortPauseDoesNotEndIt() throws {
        #expect(try events("####...####.....") == [.speechStarted, .speechEnded(spokenMs: 220)])
    }
    @Test func aMonologueIsReportedOnce() throws {
        #expect(
            try events(String(repeating: "#", count: 60) + ".....") == [
                .speechStarted, .monologue(spokenMs: 1_000), .speechEnded(spokenMs: 1_200),
            ])
    }
    @Test func aClosedLineEndsTheTurn() throws {
        #expect(try events("####") == [.speechStarted, .speechEnded(spokenMs: 80)])
    }
}

@Suite struct BargeInTests {
    /// s: speech over our speech, q: speech while we are quiet, m: muted speech, .: silence over our speech.
    /// Out: index of the frame and p(ause), r(esume), i(nterrupt).
    private func interruptions(
        _ pattern: String, minimumMs: Int = 40, confirmMs: Int = 100, resumeMs: Int = 100,
        words: (Int) -> Int? = { _ in nil }
    )
        -> String
    {
        var stage = BargeIn(.init(minimumMs: minimumMs, confirmMs: confirmMs, resumeMs: resumeMs, minimumWords: 2))
        var result: [String] = []
        for (index, character) in pattern.enumerated() {
            var output: [Interruption] = []
            stage.process(
                BargeInInput(
                    isCallerSpeech: character != ".", isAISpeaking: character != "q", isMuted: character == "m",
                    words: words(index)),
                into: &output)
            result += output.map { "\(index)\($0 == .pause ? "p" : $0 == .resume ? "r" : "i")" }
        }
        return result.joined(separator: " ")
    }
    @Test func speechOverOursPausesThenInterruptsOnce() { #expect(interruptions("..ssssssss") == "3p 6i") }
    @Test func tooFewWordsDoNot() {
        #expect(interruptions("..ssssssss....." + "....", words: { _ in 1 }) == "3p 14r")
        #expect(interruptions("..ssssssssss", words: { $0 < 9 ? 1 : 2 }) == "3p 9i")
    }
    @Test func longSpeechDoesWhateverItsWords() {
        #expect(interruptions("..ssssssssssssssssssssssssss", words: { _ in 0 }) == "3p 21i")
    }
    @Test func speechWhileWeAreQuietDoesNot() { #expect(interruptions("..qqqqqqq") == "") }
    @Test func mutedSpeechDoesNot() { #expect(interruptions("mmmmmmmm") == "") }
    @Test func aClickDoesNothing() { #expect(interruptions("s..s..s..") == "") }
    @Test func aBackchannelCostsNothing() { #expect(interruptions("sss.....ss") == "1p 7r 9p") }
    @Test func shortGapsDoNotEndTheDecision() { #expect(interruptions("ss.s.s.s") == "1p 7i") }
    @Test func atOnceWhereNothingIsToBeDecided() { #expect(interruptions("sss", confirmMs: 40) == "1p 1i") }
}

@Suite struct SentenceSplitterTests {
    static let cases: [(input: [String], output: [String])] = [
        (["Hello. How are", " you? "], ["Hello.", "How are you?"]),
        (["It costs 3.", "50 dollars. "], ["It costs 3.50 dollars."]),
        (["Dr. Kim is in. "], ["Dr. Kim is in."]),
        (["\"Stop!\" he said. "], ["\"Stop!\"", "he said."]),
        (["안녕하세요. 반갑습니다。 네"], ["안녕하세요.", "반갑습니다。", "네"]),
        (["..."], []),
        (["At 3 p.m. we close."], ["At 3 p.m. we close."]),
        (["Wait… what?"], ["Wait…", "what?"]),
    ]
    @Test(arguments: cases.indices) func splits(index: Int) throws {
        #expect(try StageHarness.run(SentenceSplitter(), Self.cases[index].input) == Self.cases[index].output)
    }
    @Test func endlessTextIsCut() throws {
        let output = try StageHarness.run(SentenceSplitter(), [String](repeating: "word, ", count: 100))
        #expect(output.count > 1 && output.allSatisfy { $0.count <= SentenceSplitter.longestSentence })
    }
}

@Suite struct WaveFileTests {
    private static let file = WaveFile(sampleRate: 8_000, samples: [0, 1, -1, 32_767, -32_768])

    @Test func whatIsWrittenIsReadAgain() throws { #expect(try WaveFile(Self.file.bytes) == Self.file) }

    @Test func otherChunksAreSkippedAndTheFirstChannelTaken() throws {
        var bytes = Self.file.bytes
        bytes.insert(contentsOf: Array("LIST".utf8) + [3, 0, 0, 0, 1, 2, 3, 0], at: 12)
        #expect(try WaveFile(bytes) == Self.file)
        bytes = Self.file.bytes
        bytes[22] = 2
        #expect(try WaveFile(bytes).samples == [0, -1])
    }

    @Test func companded() throws {
        var bytes = Self.file.bytes
        (bytes[20], bytes[34]) = (7, 8)
        #expect(try WaveFile(bytes).samples.count == 10)
    }

    /// Carriers stream a file whose length they do not know yet.
    @Test func aFileThatWasCutOffGivesWhatIsThere() throws {
        var bytes = Self.file.bytes
        bytes.replaceSubrange(40..<44, with: [255, 255, 255, 255])
        #expect(try WaveFile(bytes).samples == Self.file.samples)
        #expect(try WaveFile(Array(bytes.dropLast(3))).samples == [0, 1, -1])
    }

    @Test func noFileIsReadWrong() {
        let bytes = Self.file.bytes
        for count in 0..<44 { #expect(throws: WaveFile.Malformed.self) { try WaveFile(Array(bytes[..<count])) } }
        for (at, value) in [(0, 0), (8, 0), (20, 3), (22, 0), (22, 9), (24, 0), (34, 24), (16, 255)] as [(Int, UInt8)] {
            var broken = bytes
            broken[at] = value
            if at == 24 { broken[25] = 0 }
            #expect(throws: WaveFile.Malformed.self, "\(at)") { try WaveFile(broken) }
        }
    }
}
