internal import Agents
internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Problems
internal import Store

/// What requests about agents hold beside their paths.
enum AgentRequests {
    /// Characters of a note.
    static let noteLimit = 200
    static let yaml = "application/yaml"
    private static let yamlTypes = [yaml, "application/x-yaml", "text/yaml", "text/x-yaml"]

    static let note = Field("note", .text(noteLimit), mayBeBlank: true, "why, for people")
    static let version = Field("version", .integer(0...AgentRows.versionLimit), "this version of it")
    static let changeQuery = [
        Field("publish", .choice(["true", "false"]), default: "true", "calls begin with it from now on"), note,
    ]
    static let publishForm = Form(
        "PublishAgent",
        [
            Field(
                "version", .integer(1...AgentRows.versionLimit), required: true, "the version that calls begin with"),
            note,
        ])
    static let listQuery = [
        Field("limit", .integer(1...200), default: 50, "rows of a page"),
        Field("cursor", .text(Field.Kind.wordLimit), "`next_cursor` of the page before"),
    ]
    static let diffQuery = [
        Field("to", .integer(0...AgentRows.versionLimit), required: true, "the version that the patch makes")
    ]

    /// The document of a body, JSON or YAML.
    static func document(_ request: HTTPRequest) throws(APIError) -> JSONValue {
        let type = mediaType(request.headers["content-type"] ?? "application/json")
        if type == "application/json" { return try json(request.body) }
        guard yamlTypes.contains(type) else { throw APIError(415, "unsupported_media_type", .contentNotDocument) }
        do throws(YAMLDocument.Failure) { return try YAMLDocument.read(request.body) } catch {
            throw APIError(400, "invalid_yaml", .notYaml, ["problem": .text(error.message)])
        }
    }

    private static func json(_ body: [UInt8]) throws(APIError) -> JSONValue {
        do throws(JSONValue.ParseError) { return try JSONValue(parsing: body) } catch {
            throw APIError(
                error.isRepetition ? 422 : 400, "invalid_json", .invalidJson,
                ["problem": .text(error.message), "place": .number(error.offset)])
        }
    }

    /// Whether the answer is to be YAML.
    static func wantsYAML(_ request: HTTPRequest) -> Bool {
        (request.headers["accept"] ?? "").split(separator: ",").contains { yamlTypes.contains(mediaType(String($0))) }
    }

    private static func mediaType(_ text: String) -> String {
        text.split(separator: ";").first.map { $0.trimmingCharacters(in: .whitespaces).lowercased() } ?? ""
    }

    static func tag(_ version: Int) -> String { "\"v\(version)\"" }

    /// The versions of which one must be the latest, by `If-Match`; nil: any may be.
    static func expected(_ request: HTTPRequest) -> Set<Int>? {
        guard let header = request.headers["if-match"] else { return nil }
        let tags = header.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        guard !tags.contains("*") else { return nil }
        // A tag that is none of ours matches nothing.
        return Set(
            tags.compactMap { tag in
                guard tag.hasPrefix("\"v"), tag.hasSuffix("\"") else { return nil }
                return Int(tag.dropFirst(2).dropLast())
            })
    }

    static func repeatable(_ request: HTTPRequest, _ principal: Principal, _ document: JSONValue, answer: String)
        throws(APIError) -> RepeatableRequest?
    {
        guard let key = request.headers["idempotency-key"]?.trimmingCharacters(in: .whitespaces) else { return nil }
        guard (1...RepeatableRequest.keyLimit).contains(key.utf8.count) else {
            throw APIError.invalid(
                CallRoutes.idempotencyKey.name, .lengthNotInRange,
                ["least": 1, "most": .number(RepeatableRequest.keyLimit)])
        }
        return RepeatableRequest(
            key: "\(principal.name) \(key)", request: Authenticator.hash("agents " + document.text), answer: answer)
    }
}

extension Routes.Services {
    var agents: AgentDirectory { numbers.agents }

    /// A version that calls may begin with; nil: there is no such agent, it is archived, or has no such version.
    func agent(_ name: AgentName, of company: CompanyID) async throws(StoreError) -> AgentVersion? {
        if name.slug == AgentReference.defaultSlug { return name.version ?? 0 == 0 ? configuredAgent : nil }
        if let known = agents.version(name, of: company) { return known }
        guard let version = name.version, let found = try await store.agent(name.slug, version: version, of: company),
            found.agent.archivedAt == nil
        else { return nil }
        return found.version
    }

    /// The agent `default`: the configuration, as version 0.
    var configuredAgent: AgentVersion { AgentVersion(.default, agents.environment.document) }
}

extension APIError {
    /// All that is wrong with a document.
    static func invalid(_ checker: AgentChecker) -> APIError {
        invalid(checker.errors.map { Field(field: $0.field, problem: $0.problem) })
    }

    /// By the code that the contract names.
    static func agent(_ error: StoreError) -> APIError {
        var answer = APIError(error)
        switch error.problem.code {
        case .slugTaken, .tooManyVersions, .tooManyAgents, .agentArchived: answer.code = error.problem.code.name
        default: break
        }
        return answer
    }
}
