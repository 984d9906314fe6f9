import ArgumentParser
import Foundation
import Pipeline
import Realtime

/// `trunkline bench voice`: the built-in English voice, for `scripts/bench-voices`.
struct BenchVoice: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "voice", abstract: "Speaks a sentence with the built-in English voice into a WAV file.")

    @Argument(help: "The sentence.") var text: String
    @Option(help: "The file.") var out: String

    func run() throws {
        let speech = try FliteVoice.kal16.synthesize(text)
        let wave = WaveFile(sampleRate: speech.sampleRate, samples: speech.samples)
        try Data(wave.bytes).write(to: URL(fileURLWithPath: out))
    }
}
