import ArgumentParser

/// The executable: one file a command.
@main
struct Trunkline: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "trunkline",
        abstract: "Places and answers phone calls and lets an AI hold the conversation.",
        discussion: """
            Start with `trunkline serve`: it needs no file, no key and no account, listens on loopback, and prints the \
            dashboard's address and a first API key. `trunkline demo` shows a whole call.
            """,
        version: version,
        subcommands: [
            Serve.self, PlaceCall.self, KeysCommand.self, UsersCommand.self, ConfigCommand.self, ProvidersCommand.self,
            Doctor.self, Backup.self,
            Restore.self,
            AgentsCommand.self, Encrypt.self, SIPCommand.self, StreamCommand.self,
            Callee.self, Demo.self, Bench.self,
        ])
}
