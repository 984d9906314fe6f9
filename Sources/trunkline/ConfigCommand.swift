import ArgumentParser
import Foundation
import Settings

/// `trunkline config`
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "The settings there are, and whether yours are right.",
        subcommands: [Check.self, Explain.self, Env.self, Table.self], defaultSubcommand: Explain.self)

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
            abstract: "Prints every key with its value and where that comes from, its meaning and its variables.")
        @OptionGroup var options: ServerOptions
        @Option(help: "Only keys that hold this text.") var key: String?

        func run() async throws {
            let keys = Configuration.keys
            let shown = key.map { text in keys.filter { $0.key.contains(text) } } ?? keys
            let printer = SettingsPrinter(shown, defaults: Configuration())
            do throws(ConfigurationError) {
                var given = Configuration()
                let found = try SettingsReader(keys).read(
                    into: &given, file: options.config, flags: options.flags(),
                    environment: ProcessInfo.processInfo.environment)
                print(printer.list(found), terminator: "")
            } catch {
                // With a faulty configuration the list of settings is needed most.
                print(printer.list([:]), terminator: "")
                throw ServerOptions.failure(error)
            }
        }
    }

    struct Env: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Prints .env.example.")

        func run() async throws {
            print(
                SettingsPrinter(Configuration.keys, defaults: Configuration()).environmentFile, terminator: "")
        }
    }

    struct Table: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Prints the table of docs/configuration.md.")

        func run() async throws {
            print(SettingsPrinter(Configuration.keys, defaults: Configuration()).table, terminator: "")
        }
    }
}
