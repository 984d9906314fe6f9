import ArgumentParser
import Bridge
import Calls
import Foundation
internal import Problems
import Store

/// `trunkline sip`: on the data folder, whether a server runs on it or not.
struct SIPCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sip", abstract: "SIP messages of calls.", subcommands: [Trace.self])

    struct Trace: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints a ladder of the messages of a call that has ended.",
            discussion:
                "Secrets are not kept, so they are not printed. "
                + "Of a call in progress GET /api/outbound/{id}/sip tells the same."
        )
        @OptionGroup var options: ServerOptions
        @Argument(help: "ob-… or in-…") var id: String
        @Flag(help: "The messages whole, below the ladder.") var full = false

        func run() async throws {
            let messages: [SIPTrace.Message]
            do {
                let store = try options.store()
                guard let company = try await store.installation.company(ofCall: id) else {
                    throw StoreError(.notFound, .noCallNamed, ["id": .text(id)])
                }
                messages = try await store.of(company).trace(of: id)
                store.close()
            } catch {
                FileHandle.standardError.write(Data("trunkline: \(error)\n".utf8))
                throw ExitCode(1)
            }
            guard !messages.isEmpty else {
                return print("nothing is kept of \(id): no SIP leg of ours carried it, or it goes on")
            }
            print(SIPTrace.ladder(messages), terminator: "")
            guard full else { return }
            for message in messages {
                print(
                    "\n\(message.isSent ? "sent to" : "received from") \(message.peer), "
                        + "\(message.at.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))"
                )
                print(message.text)
            }
        }
    }
}
