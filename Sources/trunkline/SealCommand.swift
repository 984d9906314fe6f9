import ArgumentParser
import Calls
import Foundation

/// `trunkline seal`
struct Seal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Seals what is stored with today's key.",
        discussion: """
            After security.encryption_key was set for the first time, or changed with the old one in security.former_keys: when this is \
            done, the old one is not needed any more. A server may be running.
            """)

    @OptionGroup var options: ServerOptions

    func run() async throws {
        do {
            let count = try await options.store().reseal()
            print("\(count.sealed) rows are sealed anew")
            if count.failed > 0 {
                print("\(count.failed) rows cannot be opened: their key is missing, or they were changed by somebody")
                throw ExitCode(1)
            }
        } catch let error as StoreError { throw ValidationError(error.message) }
    }
}
