import ArgumentParser

struct BenchCalls: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "calls", abstract: "Full calls over SIP and RTP on loopback.")
    func run() async throws {}
}
