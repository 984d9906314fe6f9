import Bridge
import Foundation
import Pipeline

/// What a telephone line makes of speech: 8 kHz μ-law, noise, lost packets that are concealed as a leg does.
struct TelephoneLine: Sendable {
    /// Share of the packets that are lost, 0…1, and how many at a time.
    var loss = 0.0
    var burst = 1
    /// Decibels of speech over noise; nil: no noise.
    var noise: Double?

    /// Silence before and after, ms: what a turn's detector leaves.
    private static let before = 300, after = 200
    private static let loudest: Float = 16_000

    /// Speech as it reaches a recogniser, at 16 kHz; always the same for the same speech.
    func carry(_ speech: (samples: [Int16], sampleRate: Int32)) throws -> [AudioFrame] {
        let isLoud: (Int16) -> Bool = { $0 > 200 || $0 < -200 }
        let first = speech.samples.firstIndex(where: isLoud) ?? 0
        let last = speech.samples.lastIndex(where: isLoud) ?? max(0, speech.samples.count - 1)
        guard first < last else { return [] }
        let perMs = Int(speech.sampleRate) / 1_000
        let spoken = speech.samples[first...last]
        let peak = spoken.reduce(Float(1)) { max($0, abs(Float($1))) }
        var samples = [Float](repeating: 0, count: Self.before * perMs)
        samples += spoken.map { Float($0) / peak * Self.loudest }
        samples += [Float](repeating: 0, count: Self.after * perMs)
        var random = Randomness()
        if let noise {
            let power = spoken.reduce(Float(0)) {
                $0 + (Float($1) / peak * Self.loudest) * (Float($1) / peak * Self.loudest)
            }
            let deviation = (power / Float(spoken.count)).squareRoot() / Float(pow(10, noise / 20))
            for index in samples.indices { samples[index] += random.normal() * deviation }
        }
        let whole = samples.map { Int16(min(max($0, -32_768), 32_767)) }
        var near = try Resampler(from: speech.sampleRate, to: 8_000).then(Framer(sampleRate: 8_000)).then(
            MuLawEncoder())
        var far = try MuLawDecoder().then(Resampler(from: 8_000, to: 16_000))
        var packets: [EncodedFrame] = [], audio: [AudioFrame] = []
        try near.process(samples: whole[...], sampleRate: speech.sampleRate, into: &packets)
        try near.finish(into: &packets)
        var concealment = Concealment()
        var dropping = 0
        for packet in packets {
            if dropping == 0, random.uniform() < loss / Double(burst) { dropping = burst }
            if dropping > 0 {
                dropping -= 1
                try far.process(concealment.conceal(law: packet.law), into: &audio)
            } else {
                concealment.heard(packet)
                try far.process(packet, into: &audio)
            }
        }
        try far.finish(into: &audio)
        return audio
    }

    /// The same numbers at every run.
    private struct Randomness {
        private var state: UInt32 = 7
        mutating func uniform() -> Double {
            state = state &* 1_664_525 &+ 1_013_904_223
            return Double(state) / Double(UInt32.max)
        }
        /// Nearly normal: the sum of twelve.
        mutating func normal() -> Float { Float((0..<12).reduce(-6.0) { sum, _ in sum + uniform() }) }
    }
}
