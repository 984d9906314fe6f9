import ArgumentParser
import Bridge
import Foundation
import Pipeline

/// What a telephone line makes of speech: a codec, noise, lost packets that are concealed as a leg does.
struct TelephoneLine: Hashable, Sendable {
    enum Codec: String, Sendable, CaseIterable, ExpressibleByArgument {
        /// 8 kHz.
        case mulaw, alaw
        /// 16 kHz without a codec, as from a browser. No packet is lost.
        case wide
    }

    var codec = Codec.mulaw
    /// Share of the packets that are lost, 0…1, and how many at a time.
    var loss = 0.0
    var burst = 1
    /// Decibels of speech over noise; nil: no noise.
    var noise: Double?

    /// Silence before and after, ms: what a turn's detector leaves.
    private static let before = 300, after = 200
    private static let loudest: Float = 16_000

    var name: String { "\(codec) loss \(loss)/\(burst) noise \(noise.map { "\($0)" } ?? "none")" }

    /// What callers have: a good line, bad ones, and a browser.
    static let usual = [
        TelephoneLine(), TelephoneLine(noise: 10), TelephoneLine(codec: .alaw, loss: 0.05), TelephoneLine(noise: 20),
        TelephoneLine(codec: .wide),
    ]

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
        switch codec {
        case .wide:
            var audio: [AudioFrame] = []
            var chain = try Resampler(from: speech.sampleRate, to: 16_000).then(Framer(sampleRate: 16_000))
            try chain.process(samples: whole[...], sampleRate: speech.sampleRate, into: &audio)
            try chain.finish(into: &audio)
            return audio
        case .mulaw:
            return try carry(whole, speech.sampleRate, MuLawEncoder(), MuLawDecoder())
        case .alaw:
            return try carry(whole, speech.sampleRate, ALawEncoder(), ALawDecoder())
        }
    }

    private func carry(
        _ samples: [Int16], _ sampleRate: Int32,
        _ encoder: some Processor<AudioFrame, EncodedFrame>, _ decoder: some Processor<EncodedFrame, AudioFrame>
    ) throws -> [AudioFrame] {
        var near = try Resampler(from: sampleRate, to: 8_000).then(Framer(sampleRate: 8_000)).then(encoder)
        var far = try decoder.then(Resampler(from: 8_000, to: 16_000))
        var packets: [EncodedFrame] = [], audio: [AudioFrame] = []
        try near.process(samples: samples[...], sampleRate: sampleRate, into: &packets)
        try near.finish(into: &packets)
        var concealment = Concealment()
        // Other packets are lost of each sentence.
        var random = Randomness(
            seed: samples.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32(bitPattern: Int32($1))) &* 16_777_619 })
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
        private var state: UInt32
        init(seed: UInt32 = 7) { state = seed }
        mutating func uniform() -> Double {
            state = state &* 1_664_525 &+ 1_013_904_223
            return Double(state) / Double(UInt32.max)
        }
        /// Nearly normal: the sum of twelve.
        mutating func normal() -> Float { Float((0..<12).reduce(-6.0) { sum, _ in sum + uniform() }) }
    }
}
