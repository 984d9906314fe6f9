import ArgumentParser

struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "bench", abstract: "Measures.")
    func run() async throws {}
}
