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
            let store = try options.store()
            for key in try await store.installation.accounts.keysOfAll() {
                let state =
                    key.revokedAt != nil
                    ? "revoked" : (key.expiresAt.map { $0 <= Date() } ?? false) ? "expired" : "valid"
                print(
                    "\(key.id)  \(state)  \(key.role)  \(key.name)  "
                        + "since \(key.createdAt.formatted(.iso8601)) by \(key.createdBy)"
                        + CompanyOption.suffix(key.company))
            }
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Makes a key and prints it, this once.")
        @OptionGroup var options: ServerOptions
        @Option(help: "Whose it is.") var name: String
        @Option(help: "viewer, operator or admin.") var role = "operator"
        @Option(help: "Days until it expires (never).") var days: Int?
        @OptionGroup var company: CompanyOption

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
            let store = try await company.store(options)
            try await store.insert(stored)
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
        @OptionGroup var company: CompanyOption

        func run() async throws {
            let store = try await company.store(options)
            do { try await store.revokeKey(id, at: Date()) } catch { throw ValidationError(error.message) }
            try await store.audit.append(
                AuditEntry(at: Date(), actor: "command line", action: "key.revoke", target: id))
        }
    }
}

/// The company that a command is about.
struct CompanyOption: ParsableArguments {
    @Option(help: "The company's slug.") var company = CompanyID.default.rawValue

    func store(_ options: ServerOptions) async throws -> CompanyStore {
        let store = try options.store()
        let id = CompanyID(rawValue: company)
        do { try await store.installation.reloadCompanies() } catch { throw ValidationError(error.message) }
        guard store.companies.exists(id) else { throw ValidationError("there is no company \(company)") }
        return store.of(id)
    }

    /// Behind what is listed: nothing, for the installation's own.
    static func suffix(_ company: CompanyID) -> String { company == .default ? "" : "  of \(company)" }
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
