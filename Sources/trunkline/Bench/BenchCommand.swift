import ArgumentParser

/// `trunkline bench`
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measures what BENCHMARKS.md tells.",
        subcommands: [
            BenchPipeline.self, BenchRecognition.self, BenchTurns.self, BenchVoice.self, BenchVoiceActivity.self,
            BenchCalls.self, BenchStreams.self,
        ])
}
