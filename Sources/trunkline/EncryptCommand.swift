import ArgumentParser
import Calls
import Foundation
import Store

/// `trunkline encrypt`
struct Encrypt: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Encrypts stored data with the current key.",
        discussion: """
            After security.encryption_key was set for the first time, or changed with the old one in \
            security.former_keys: when this is done, the old one is not needed any more. A server may be running if \
            it was started with the current key; an older one goes on writing as before.
            """)

    @OptionGroup var options: ServerOptions

    func run() async throws {
        do {
            let store = try options.store()
            let rows = try await store.installation.storage.reencrypt()
            let recordings = try await store.installation.reencryptRecordings(
                in: try options.read().calls.recordingsFolder)
            print("\(rows.encrypted) rows and \(recordings.encrypted) recordings are encrypted anew")
            if rows.failed + recordings.failed > 0 {
                print(
                    "\(rows.failed) rows and \(recordings.failed) recordings cannot be opened: "
                        + "their key is missing, or they were changed"
                )
                throw ExitCode(1)
            }
        } catch let error as StoreError { throw ValidationError(error.message) }
    }
}
