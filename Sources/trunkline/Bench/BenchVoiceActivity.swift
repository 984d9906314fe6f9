import ArgumentParser
import Foundation
import Pipeline
import Realtime

/// `trunkline bench vad`: the built-in detector and Silero's, on telephone speech with and without noise.
struct BenchVoiceActivity: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vad", abstract: "Speech found and noise taken for speech, frame by frame, and what it costs.")

    @Option(help: "Folder of `make speech-pack`.") var pack = SpeechPack.defaultFolder

    private static let sentences = [
        "Yes, I will be there on Friday.", "There are four of us.", "Can you repeat that, please?",
        "I would like a table by the window.",
        "My number is five five five one two three four.", "Thank you very much.", "No, I have moved to another town.",
        "What time does it start?",
    ]
    private static let voices: [FliteVoice] = [.kal16, .rms]
    /// Frames at the edges of speech that count for neither side: 60 ms on both sides.
    private static let edge = 3

    func run() throws {
        var clean: [Float] = []
        for (index, sentence) in Self.sentences.enumerated() {
            clean += [Float](repeating: 0, count: 8_000) + (try Self.telephone(sentence, Self.voices[index % 2]))
        }
        clean += [Float](repeating: 0, count: 8_000)
        let truth = Self.truth(clean)
        let noise = Self.noise(clean.count)
        let babble = try Self.babble(clean.count)
        let silero = try? SileroModel(pack: pack)
        if silero == nil { print("no \(pack): run `make speech-pack` to measure Silero too") }
        print(
            "\(clean.count / 8_000) s, \(truth.count { $0 == true }) frames of speech, "
                + "\(truth.count { $0 == false }) without"
        )
        let cases: [(name: String, sound: [Float], snr: Float)] = [
            ("clean", noise, 60), ("noise 10 dB", noise, 10), ("noise 0 dB", noise, 0), ("babble 10 dB", babble, 10),
            ("babble 0 dB", babble, 0),
        ]
        for (name, sound, snr) in cases {
            let frames = Self.encoded(Self.mix(clean, sound, snr: snr, truth))
            var builtIn = VoiceActivityDetector()
            report(name, "built-in", truth, frames) { builtIn.detect($0).isSpeech }
            var beside = VoiceActivityDetector()
            if let detector = try silero?.detector(threshold: 0.5) {
                report(name, "Silero", truth, frames) { detector.isSpeech($0, beside.detect($0)) }
            }
        }
    }

    private func report(
        _ name: String, _ detector: String, _ truth: [Bool?], _ frames: [EncodedFrame],
        _ isSpeech: (EncodedFrame) -> Bool
    ) {
        let start = ContinuousClock.now
        let verdicts = frames.map(isSpeech)
        let cost = start.duration(to: .now) / .microseconds(1) / Double(max(1, frames.count))
        var found = 0, speech = 0, taken = 0, silence = 0
        for (index, real) in truth.enumerated() where index < verdicts.count {
            switch real {
            case true?:
                speech += 1
                if verdicts[index] { found += 1 }
            case false?:
                silence += 1
                if verdicts[index] { taken += 1 }
            case nil: break
            }
        }
        let percent = { (part: Int, whole: Int) in 100 * Double(part) / Double(max(1, whole)) }
        print(
            String(
                format: "%-13@ %-9@ speech found %5.1f %%, noise taken for speech %5.1f %%, %6.1f µs a frame",
                name as NSString, detector as NSString,
                percent(found, speech), percent(taken, silence), cost))
    }

    private static func telephone(_ text: String, _ voice: FliteVoice) throws -> [Float] {
        let speech = try voice.synthesize(text)
        var resampler = try Resampler(from: speech.sampleRate, to: 8_000)
        var frames: [AudioFrame] = []
        try resampler.process(samples: speech.samples[...], sampleRate: speech.sampleRate, into: &frames)
        try resampler.finish(into: &frames)
        return frames.flatMap { $0.withSamples { $0.map(Float.init) } }
    }

    /// A frame is speech where the clean sound is over −45 dB, pauses up to 200 ms included; nil near an edge.
    private static func truth(_ clean: [Float]) -> [Bool?] {
        var loud = stride(from: 0, to: clean.count - 159, by: 160).map { start in
            clean[start..<(start + 160)].reduce(Float(0)) { $0 + $1 * $1 } / 160 > 34_000
        }
        var last = -1_000
        for index in loud.indices where loud[index] {
            if index - last <= 10 { for gap in max(0, last)..<index { loud[gap] = true } }
            last = index
        }
        return loud.indices.map { index in
            let near = loud[max(0, index - edge)...min(loud.count - 1, index + edge)]
            return near.allSatisfy { $0 == loud[index] } ? loud[index] : nil
        }
    }

    private static func noise(_ count: Int) -> [Float] {
        var state: UInt64 = 42
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Float(Int32(truncatingIfNeeded: state >> 32)) / Float(Int32.max)
        }
    }

    /// Six voices at once, each somewhere else in its sentences.
    private static func babble(_ count: Int) throws -> [Float] {
        var sum = [Float](repeating: 0, count: count)
        for speaker in 0..<6 {
            var line: [Float] = []
            for index in sentences.indices {
                line += try telephone(sentences[(index + speaker * 3) % sentences.count], voices[(index + speaker) % 2])
            }
            for index in 0..<count { sum[index] += line[(index + speaker * 7_919) % line.count] }
        }
        return sum
    }

    private static func mix(_ clean: [Float], _ noise: [Float], snr: Float, _ truth: [Bool?]) -> [Int16] {
        let spoken = truth.indices.filter { truth[$0] == true }.flatMap { ($0 * 160)..<(($0 + 1) * 160) }
        let speechPower = spoken.reduce(Float(0)) { $0 + clean[$1] * clean[$1] } / Float(max(1, spoken.count))
        let noisePower = noise.reduce(Float(0)) { $0 + $1 * $1 } / Float(max(1, noise.count))
        let gain = (speechPower / max(noisePower, 1e-9) / pow(10, snr / 10)).squareRoot()
        return clean.indices.map { Int16(min(max(clean[$0] + noise[$0] * gain, -32_000), 32_000)) }
    }

    private static func encoded(_ samples: [Int16]) -> [EncodedFrame] {
        var chain = Framer(sampleRate: 8_000).then(MuLawEncoder())
        var frames: [EncodedFrame] = []
        try? chain.process(samples: samples[...], sampleRate: 8_000, into: &frames)
        return frames
    }
}
