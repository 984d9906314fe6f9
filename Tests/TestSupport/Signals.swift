internal import Foundation
public import Pipeline

/// Audio for tests.
public enum Signals {
    private static func frames(_ samples: [Int16], rate: Int32, block: Int) -> [AudioFrame] {
        stride(from: 0, to: samples.count, by: block).map { start in
            var frame = AudioFrame(sampleRate: rate)
            samples[start..<min(start + block, samples.count)].withUnsafeBufferPointer { _ = frame.append($0) }
            return frame
        }
    }

    public static func tone(hertz: Double, amplitude: Double, ms: Int, rate: Int32) -> [AudioFrame] {
        let samples = (0..<(ms * Int(rate) / 1_000)).map {
            Int16(amplitude * sin(2 * .pi * hertz * Double($0) / Double(rate)))
        }
        return frames(samples, rate: rate, block: Int(rate) / 50)
    }

    /// Repeatable noise.
    public static func noise(amplitude: Double, ms: Int, rate: Int32) -> [AudioFrame] {
        var state: UInt64 = 42
        let samples = (0..<(ms * Int(rate) / 1_000)).map { _ -> Int16 in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int16(amplitude * (Double(state >> 33) / Double(1 << 31) * 2 - 1))
        }
        return frames(samples, rate: rate, block: Int(rate) / 50)
    }

    /// An impulse in blocks of one millisecond.
    public static func impulse(at index: Int, count: Int, rate: Int32) -> [AudioFrame] {
        var samples = [Int16](repeating: 0, count: count)
        samples[index] = 30_000
        return frames(samples, rate: rate, block: Int(rate) / 1_000)
    }

    /// Amplitude of one frequency in a sound (Goertzel).
    public static func amplitude(hertz: Double, in samples: some Collection<Int16>, rate: Int32) -> Double {
        let step = 2 * cos(2 * .pi * hertz / Double(rate))
        var last = 0.0, before = 0.0
        for sample in samples { (last, before) = (Double(sample) + step * last - before, last) }
        let power = last * last + before * before - step * last * before
        return 2 * max(0, power).squareRoot() / Double(max(1, samples.count))
    }

    public static func encoded(_ frames: [AudioFrame]) -> [EncodedFrame] {
        var encoder = MuLawEncoder()
        var output: [EncodedFrame] = []
        for frame in frames { encoder.process(frame, into: &output) }
        return output
    }
}
