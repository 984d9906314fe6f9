import ArgumentParser
import Bridge
import Foundation

/// `trunkline stream`: for people who build servers of media streams.
struct StreamCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stream", abstract: "Checks servers of media streams, and shows what they say.",
        subcommands: [StreamCheckCommand.self, StreamTapCommand.self])

    /// Of a command that could not do what it is for.
    static let couldNotRun: Int32 = 2

    static func dialect(_ name: String?) throws -> any MediaStreamDialect.Type {
        guard let dialect = name.flatMap({ Dialects.named($0) }) else {
            throw fail("--dialect is one of \(Dialects.names.joined(separator: ", "))")
        }
        return dialect
    }

    static func fail(_ message: String) -> ExitCode {
        FileHandle.standardError.write(Data("trunkline stream: \(message)\n".utf8))
        return ExitCode(couldNotRun)
    }
}
