import Foundation
import TestSupport
import Testing

@testable import Pipeline

@Suite struct ResamplerTests {
    @Test(
        arguments: [
            (8_000, 24_000, 3.0), (24_000, 8_000, 3.0), (8_000, 16_000, 3.0), (16_000, 8_000, 3.0),
            (8_000, 48_000, 3.0), (22_000, 8_000, 15.0), (24_000, 16_000, 15.0),
        ] as [(Int32, Int32, Double)])
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

    /// Nothing waits: what a message of 20 ms has brought is heard with it.
    @Test(arguments: [8_000, 16_000, 24_000, 48_000] as [Int32], [8_000, 16_000, 24_000, 48_000] as [Int32])
    func aWholeRatioMakesOfEachFrameAFrame(from: Int32, to: Int32) throws {
        guard max(from, to) % min(from, to) == 0, from != to else { return }
        var resampler = try Resampler(from: from, to: to)
        for frame in Signals.tone(hertz: 1_000, amplitude: 10_000, ms: 200, rate: from) {
            // 20 ms of 48 kHz are more than a frame.
            var output: [AudioFrame] = []
            try resampler.process(frame, into: &output)
            #expect(output.reduce(0) { $0 + $1.count } == frame.count * Int(to) / Int(from))
        }
        var rest: [AudioFrame] = []
        try resampler.finish(into: &rest)
        #expect(rest.isEmpty)
    }

    /// Cut anywhere, the sound is the same.
    @Test(arguments: [(16_000, 8_000), (8_000, 24_000)] as [(Int32, Int32)])
    func piecesOfAnyLengthAreOneSound(from: Int32, to: Int32) throws {
        let sound = Signals.tone(hertz: 700, amplitude: 10_000, ms: 200, rate: from).flatMap { frame in
            frame.withSamples { Array($0) }
        }
        func run(_ lengths: [Int]) throws -> [Int16] {
            var resampler = try Resampler(from: from, to: to)
            var output: [AudioFrame] = [], place = 0
            while place < sound.count {
                let length = min(lengths[output.count % lengths.count], sound.count - place)
                var piece = AudioFrame(sampleRate: from)
                sound[place..<place + length].withUnsafeBufferPointer { _ = piece.append($0) }
                try resampler.process(piece, into: &output)
                place += length
            }
            return output.flatMap { frame in frame.withSamples { Array($0) } }
        }
        #expect(try run([160]) == run([1, 7, 160, 480, 3]))
    }

    @Test(arguments: [16_000, 24_000, 48_000] as [Int32])
    func speechPassesAndWhatIsAboveItDoesNot(rate: Int32) throws {
        func level(_ hertz: Double, from: Int32, to: Int32, heard: Double) throws -> Double {
            let output = try StageHarness.run(
                Resampler(from: from, to: to), Signals.tone(hertz: hertz, amplitude: 10_000, ms: 1_000, rate: from))
            let samples = output.flatMap { frame in frame.withSamples { Array($0) } }
            return Signals.amplitude(hertz: heard, in: samples[(samples.count / 4)..<(samples.count * 3 / 4)], rate: to)
        }
        for hertz in [100.0, 1_000, 3_400] {
            #expect(abs(try level(hertz, from: rate, to: 8_000, heard: hertz) - 10_000) < 60)
            #expect(abs(try level(hertz, from: 8_000, to: rate, heard: hertz) - 10_000) < 60)
        }
        // 60 dB: of an alias, and of an image.
        #expect(try level(5_000, from: rate, to: 8_000, heard: 3_000) < 10)
        #expect(try level(3_000, from: 8_000, to: rate, heard: 5_000) < 10)
    }

    @Test func theLoudestSoundDoesNotOverflow() throws {
        var state: UInt64 = 7
        let square = (0..<1_600).map { _ -> Int16 in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 63 == 0 ? .max : .min
        }
        for (from, to) in [(8_000, 48_000), (48_000, 8_000)] as [(Int32, Int32)] {
            var resampler = try Resampler(from: from, to: to)
            for start in stride(from: 0, to: square.count, by: 160) {
                var piece = AudioFrame(sampleRate: from)
                square[start..<start + 160].withUnsafeBufferPointer { _ = piece.append($0) }
                var output: [AudioFrame] = []
                try resampler.process(piece, into: &output)
                #expect(output.allSatisfy { $0.sampleRate == to })
            }
        }
    }

    @Test func flushedSpeechIsNeverHeard() throws {
        var resampler = try Resampler(from: 16_000, to: 8_000)
        var output: [AudioFrame] = []
        for frame in Signals.tone(hertz: 1_000, amplitude: 10_000, ms: 40, rate: 16_000) {
            try resampler.process(frame, into: &output)
        }
        resampler.flush()
        output = []
        var silence = AudioFrame(sampleRate: 16_000)
        silence.fill { _ in 320 }
        try resampler.process(silence, into: &output)
        #expect(output.count == 1 && output[0].withSamples { $0.allSatisfy { $0 == 0 } })
    }

    /// Sound that is all there keeps its places.
    @Test func timeIsKeptWhereItIsWanted() throws {
        let click = Signals.impulse(at: 800, count: 1_600, rate: 8_000)
        let output = try StageHarness.run(Resampler(from: 8_000, to: 16_000, keepsTime: true), click)
        let samples = output.flatMap { frame in frame.withSamples { Array($0) } }
        let peak = try #require(samples.indices.max { abs(Int(samples[$0])) < abs(Int(samples[$1])) })
        #expect(abs(peak - 1_600) <= 1)
    }

    @Test func aWrongRateIsAnError() throws {
        #expect(throws: StageError.self) { _ = try Resampler(from: 0, to: 8_000) }
        #expect(throws: StageError.self) {
            try StageHarness.run(Resampler(from: 8_000, to: 16_000), [AudioFrame(sampleRate: 24_000)])
        }
    }
}
