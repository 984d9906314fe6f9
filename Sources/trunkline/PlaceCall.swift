import ArgumentParser

struct PlaceCall: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "call", abstract: "Places a call through a running server and shows it.")
    func run() async throws {}
}
