import API
import ArgumentParser
import Calls
import Foundation
import Store

/// `trunkline keys`: on the data folder, whether a server runs on it or not; a running one knows within 2 s.
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "API keys.", subcommands: [List.self, Create.self, Revoke.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the keys; a key itself is nowhere kept.")
        @OptionGroup var options: ServerOptions

        func run() async throws {
            for key in try await options.store().accounts.keys() {
                let state =
                    key.revokedAt != nil
                    ? "revoked" : (key.expiresAt.map { $0 <= Date() } ?? false) ? "expired" : "valid"
                print(
                    "\(key.id)  \(state)  \(key.role)  \(key.name)  "
                        + "since \(key.createdAt.formatted(.iso8601)) by \(key.createdBy)"
                )
            }
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Makes a key and prints it, this once.")
        @OptionGroup var options: ServerOptions
        @Option(help: "Whose it is.") var name: String
        @Option(help: "viewer, operator or admin.") var role = "operator"
        @Option(help: "Days until it expires (never).") var days: Int?

        func run() async throws {
            guard let role = Role(rawValue: role) else {
                throw ValidationError("--role must be viewer, operator or admin")
            }
            guard (1...64).contains(name.count) else { throw ValidationError("--name must have 1 to 64 characters") }
            if let days { guard (1...3_650).contains(days) else { throw ValidationError("--days must lie in 1…3650") } }
            let now = Date()
            let (key, stored) = Authenticator.makeKey(
                name: name, role: role, by: "command line", at: now,
                expires: days.map { now.addingTimeInterval(Double($0) * 86_400) })
            let store = try options.store()
            try await store.accounts.insert(stored)
            try await store.audit.append(
                AuditEntry(at: now, actor: "command line", action: "key.create", target: stored.id, detail: stored.role)
            )
            print("\(stored.id)  \(key)")
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Ends a key at once; its open sockets are closed within 5 s.")
        @OptionGroup var options: ServerOptions
        @Argument(help: "The key's id, key-…") var id: String

        func run() async throws {
            let store = try options.store()
            do { try await store.accounts.revokeKey(id, at: Date()) } catch { throw ValidationError(error.message) }
            try await store.audit.append(
                AuditEntry(at: Date(), actor: "command line", action: "key.revoke", target: id))
        }
    }
}

extension ServerOptions {
    /// The store of these settings.
    func store() throws -> CallStore {
        let settings = try read()
        do {
            return try settings.openStore()
        } catch { throw ValidationError(error.message) }
    }
}
