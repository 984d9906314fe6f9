public import Foundation
public import JSON
public import Problems
public import Store

/// What a document is checked and completed by: this server's configuration, and what there is to choose from.
public struct AgentEnvironment: Sendable {
    /// Values of the configuration, by the paths of leaves.
    public var configured: [String: JSONValue] = [:]
    /// The setting that a provider lacks, e.g. `CARTESIA_API_KEY`; nil: it is set up.
    public var missing: @Sendable (AgentProvider, String) -> String? = { _, _ in nil }
    /// Names of a company's tools, MCP servers and knowledge sets.
    public var names: @Sendable (AgentCatalogue, CompanyID) -> Set<String> = { catalogue, _ in
        switch catalogue {
        case .tools: AgentEnvironment.builtInTools
        case .servers: []
        case .knowledge: ["default"]
        }
    }
    /// What calls in a language lack with the providers named; nil: nothing.
    public var warning: @Sendable (_ language: String, _ speechToText: String?, _ textToSpeech: String?) -> Problem? = {
        _, _, _ in nil
    }
    /// Whose days and hours `{{today}}` and `{{now}}` are.
    public var timeZone = TimeZone.current

    public init() {}

    /// Tools that every server has.
    public static let builtInTools: Set<String> = [
        "end_call", "transfer_to_operator", "send_dtmf", "report_task_state",
    ]

    /// The configuration as a document: the agent `default`, version 0.
    public var document: JSONValue {
        var document: JSONValue = ["slug": .string(AgentReference.defaultSlug), "name": "Default"]
        for leaf in AgentForm.leaves {
            guard let value = configured[leaf.path], value != .null else { continue }
            document.set(value, at: leaf.path.split(separator: ".").map(String.init)[...])
        }
        return document
    }
}

extension JSONValue {
    fileprivate mutating func set(_ value: JSONValue, at path: ArraySlice<String>) {
        guard let name = path.first else {
            self = value
            return
        }
        var members = members ?? [:]
        var member = members[name] ?? [:]
        member.set(value, at: path.dropFirst())
        members[name] = member
        self = .object(members)
    }
}
