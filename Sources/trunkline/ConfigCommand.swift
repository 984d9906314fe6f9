import ArgumentParser
import Foundation

/// `trunkline config`
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "The settings there are, and whether yours are right.",
        subcommands: [Check.self, Explain.self], defaultSubcommand: Explain.self)

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Reads the settings as `serve` would; exits with 1 and says where something is wrong.")
        @OptionGroup var options: ServerOptions

        func run() async throws {
            _ = try options.read()
            print("the configuration is right")
        }
    }

    struct Explain: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints every key, its meaning, default and environment variable.")
        @Option(help: "Only keys that hold this text.") var key: String?

        func run() async throws {
            for setting in Configuration.settings where key.map({ setting.key.contains($0) }) ?? true {
                let names = Configuration.environmentNames(of: setting.key).joined(separator: ", ")
                print(
                    "\(setting.key)\n    \(setting.help)"
                        + "\(setting.isSecret ? "; a secret: only by environment or file" : "")\n    \(names)"
                )
            }
        }
    }
}
