import ArgumentParser
import Foundation
import Net
import Realtime

/// `trunkline providers check`
struct ProvidersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "providers", abstract: "The speech services that calls use.", subcommands: [Check.self])

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Asks each configured service whether our key works. "
                + "Costs nothing; exits with 1 where one does not work."
        )

        @OptionGroup var options: ServerOptions

        func run() async throws {
            let checks = try await ProvidersCommand.withCatalog(try options.read()) { await $0.check() }
            for check in checks {
                print("\(check.name.padding(toLength: 28, withPad: " ", startingAt: 0))\(check.failure ?? "works")")
            }
            if checks.contains(where: { $0.failure != nil }) { throw ExitCode(1) }
        }
    }

    /// Lends the configured engines, loaded as the server does.
    static func withCatalog<Result: Sendable>(
        _ settings: Configuration, _ body: (SpeechCatalog) async throws -> Result
    ) async throws -> Result {
        var web = HTTPClient.Configuration()
        web.caFile = settings.http.caFile
        let client = HTTPClient(web)
        let loop = try EventLoop(name: "loop", caFile: settings.http.caFile)
        loop.start()
        let workers = WorkerPool(name: "speech", threads: 1)
        let embedded = SpeechEngines(
            speechToText: try await settings.local.recognizer(workers), languageModel: EmbeddedPolicy(),
            textToSpeech: EmbeddedSpeech(workers: workers))
        let local = try LocalEngines(settings.speech, folder: settings.local.packFolder, workers: workers)
        let catalog = SpeechCatalog(
            settings.speech, network: SpeechNetwork(client: client, loops: [loop]), embedded: embedded, local: local
        ) { _ in }
        defer {
            client.stop()
            loop.stop()
            workers.stop()
        }
        return try await body(catalog)
    }
}

extension Configuration {
    /// A speech model speaks and understands every language.
    func languageSupport(_ catalog: SpeechCatalog) -> @Sendable (_ language: String) -> LanguageSupport {
        if realtime.mode == .realtime { return { _ in .understood } }
        return { catalog.support(of: $0) }
    }
}
