import Foundation
import TestSupport
import Testing

@testable import Pipeline

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
