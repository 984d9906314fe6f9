internal import Agents
import ArgumentParser
import Foundation
internal import JSON
import Net

/// `trunkline agents`: agents as files, one YAML file an agent, for git.
struct AgentsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agents", abstract: "Agents of a running server, as files.",
        discussion: "Every command exits with 1 where a file is not acceptable or the server refuses.",
        subcommands: [Pull.self, Push.self, Check.self])

    struct Pull: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes the latest version of each agent to FOLDER/slug.yaml.")
        @Argument(help: "The folder.") var folder: String
        @OptionGroup var address: ServerAddress

        func run() async throws {
            let server = try ServerClient(address)
            let list = try await server.send("GET", "/api/agents")
            guard list.isSuccess, case .array(let agents)? = (try? JSONValue(parsing: list.body))?["items"] else {
                throw AgentsCommand.fail(ServerClient.refusal(list))
            }
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for agent in agents {
                // A slug becomes a file's name: only one that is one.
                guard case .string(let slug)? = agent["slug"], slug != AgentReference.defaultSlug,
                    AgentName.isSlug(slug)
                else { continue }
                let reply = try await server.send(
                    "GET", "/api/agents/\(slug)", headers: [("accept", "application/yaml")])
                guard reply.isSuccess else { throw AgentsCommand.fail(ServerClient.refusal(reply)) }
                let path = "\(folder)/\(slug).yaml"
                try Data(reply.body).write(to: URL(fileURLWithPath: path), options: .atomic)
                print(path)
            }
        }
    }

    struct Push: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes each file of a folder the latest version of its agent.",
            discussion: "A file that says what the latest version says makes none.")
        @Argument(help: "The folder.") var folder: String
        @Flag(help: "Only checks the files.") var check = false
        @Flag(help: "Calls go on with the versions that are live.") var draft = false
        @Option(help: "Why, for people.") var note: String?
        @OptionGroup var address: ServerAddress

        func run() async throws {
            let server = try ServerClient(address)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
            let files = names.filter { $0.hasSuffix(".yaml") || $0.hasSuffix(".yml") }.map { "\(folder)/\($0)" }
            guard !files.isEmpty else { throw AgentsCommand.fail(["there is no .yaml file in \(folder)"]) }
            // Either all files are acceptable, or none is sent.
            try await AgentsCommand.check(files, server)
            if check { return }
            for file in files { try await push(file, server) }
        }

        private func push(_ file: String, _ server: ServerClient) async throws {
            let body = try AgentsCommand.read(file)
            let slug = try AgentsCommand.slug(body, file)
            let known = try await server.send("GET", "/api/agents/\(slug)")
            guard known.isSuccess || known.status == 404 else {
                throw AgentsCommand.fail(ServerClient.refusal(known), file)
            }
            var headers = [(name: "content-type", value: "application/yaml")]
            var query = note.map { "note=" + AgentsCommand.escaped($0) } ?? ""
            var method = "POST", path = "/api/agents"
            if known.isSuccess {
                (method, path) = ("PUT", "/api/agents/\(slug)")
                if let tag = known.headers["etag"] {
                    headers.append(("if-match", tag))
                }
                if draft { query += (query.isEmpty ? "" : "&") + "publish=false" }
            }
            let reply = try await server.send(
                method, path + (query.isEmpty ? "" : "?" + query), headers: headers, body: body)
            guard reply.isSuccess else { throw AgentsCommand.fail(ServerClient.refusal(reply), file) }
            let answer = try? JSONValue(parsing: reply.body)
            if case .number(let version)? = answer?["version"] {
                print("\(file): \(slug)@\(version.text)\(answer?["unchanged"] == true ? " unchanged" : "")")
            }
        }
    }

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Tells everything that is wrong with files.")
        @Argument(help: "YAML files.") var files: [String]
        @OptionGroup var address: ServerAddress

        func run() async throws { try await AgentsCommand.check(files, try ServerClient(address)) }
    }

    /// Tells of every file what is wrong with it.
    /// - Throws: at least one is not acceptable.
    private static func check(_ files: [String], _ server: ServerClient) async throws {
        var isGood = true
        for file in files {
            let reply = try await server.send(
                "POST", "/api/agents/check", headers: [("content-type", "application/yaml")], body: try read(file))
            let lines = reply.isSuccess ? ServerClient.warnings(reply) : ServerClient.refusal(reply)
            for line in lines { tell("\(file): \(line)") }
            if reply.isSuccess { print("\(file): good") } else { isGood = false }
        }
        guard isGood else { throw ExitCode(1) }
    }

    private static func read(_ file: String) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: file) else { throw fail(["cannot read \(file)"]) }
        guard data.count <= YAMLDocument.sizeLimit else { throw fail(["it is too large"], file) }
        return Array(data)
    }

    private static func slug(_ body: [UInt8], _ file: String) throws -> String {
        let document: JSONValue
        do throws(YAMLDocument.Failure) { document = try YAMLDocument.read(body) } catch {
            throw fail([error.message], file)
        }
        guard case .string(let slug)? = document["slug"], AgentName.isSlug(slug) else {
            throw fail(["it has no slug"], file)
        }
        return slug
    }

    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    private static func fail(_ lines: [String], _ file: String? = nil) -> ExitCode {
        for line in lines { tell("\(file.map { $0 + ": " } ?? "trunkline agents: ")\(line)") }
        return ExitCode(1)
    }

    private static func tell(_ line: String) { FileHandle.standardError.write(Data("\(line)\n".utf8)) }
}
