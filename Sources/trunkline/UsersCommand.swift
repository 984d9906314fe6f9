import API
import ArgumentParser
import Calls
import Foundation
import Store

/// `trunkline users`: the users that log in to the dashboard with name and password.
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "Manages the users that log in to the dashboard with name and password.",
        subcommands: [List.self, Save.self, Remove.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the users.")
        @OptionGroup var options: ServerOptions

        func run() async throws {
            let store = try options.store()
            for user in try await store.installation.accounts.usersOfAll() {
                print(
                    "\(user.name)  \(user.role)  since \(user.createdAt.formatted(.iso8601)) by \(user.createdBy)"
                        + CompanyOption.suffix(user.company))
            }
        }
    }

    struct Save: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Makes a user, or gives one a new password and role. "
                + "The password is read from standard input, one line."
        )
        @OptionGroup var options: ServerOptions
        @Argument(help: "The name to log in with.") var name: String
        @Option(help: "viewer, operator or admin.") var role = "operator"
        @OptionGroup var company: CompanyOption

        func run() async throws {
            guard let role = Role(rawValue: role) else {
                throw ValidationError("--role must be viewer, operator or admin")
            }
            guard (1...64).contains(name.count), !name.contains(where: \.isNewline) else {
                throw ValidationError("a name has 1 to 64 characters")
            }
            if isatty(STDIN_FILENO) == 1 { FileHandle.standardError.write(Data("password: ".utf8)) }
            guard let password = readLine(strippingNewline: true) else {
                throw ValidationError("no password on standard input")
            }
            let store = try await company.store(options)
            do {
                try await store.saveUser(
                    name, password: password, role: role.rawValue, by: "command line", at: Date())
            } catch {
                throw ValidationError(error.message)
            }
            try await store.audit.append(
                AuditEntry(at: Date(), actor: "command line", action: "user.save", target: name, detail: role.rawValue))
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Removes a user. Logins of the user end within 5 s.")
        @OptionGroup var options: ServerOptions
        @Argument(help: "The name.") var name: String
        @OptionGroup var company: CompanyOption

        func run() async throws {
            let store = try await company.store(options)
            do { try await store.removeUser(name) } catch { throw ValidationError(error.message) }
            try await store.audit.append(
                AuditEntry(at: Date(), actor: "command line", action: "user.remove", target: name))
        }
    }
}
