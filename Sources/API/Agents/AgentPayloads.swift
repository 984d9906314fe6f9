internal import Agents
internal import Calls
internal import JSON
internal import Problems
internal import Store

/// Agents as JSON.
enum AgentPayloads {
    /// A row of the list.
    static func agent(_ agent: StoredAgent, numbers: Int, queued: Int) -> JSONValue {
        [
            "slug": .string(agent.slug), "name": .string(agent.name), "live": .whole(agent.live),
            "latest": .whole(agent.latest), "mode": .optional(agent.mode), "language": .optional(agent.language),
            "updated_at": Payloads.time(agent.updatedAt), "used_by": use(numbers: numbers, queued: queued),
        ]
    }

    /// The agent `default`: the configuration.
    static func configured(_ environment: AgentEnvironment, queued: Int) -> JSONValue {
        [
            "slug": .string(AgentReference.defaultSlug), "name": "Default", "version": 0, "live": 0, "latest": 0,
            "mode": environment.configured["mode"] ?? .null, "language": environment.configured["language"] ?? .null,
            "updated_at": .null, "used_by": use(numbers: 0, queued: queued),
        ]
    }

    private static func use(numbers: Int, queued: Int) -> JSONValue {
        ["numbers": .whole(numbers), "campaigns": 0, "queued_calls": .whole(queued)]
    }

    static func state(_ agent: StoredAgent) -> [String: JSONValue] {
        [
            "slug": .string(agent.slug), "version": .whole(agent.latest), "live": .whole(agent.live),
            "latest": .whole(agent.latest),
        ]
    }

    static func version(_ version: StoredAgentVersion, of agent: StoredAgent) -> JSONValue {
        var members: [String: JSONValue] = [
            "version": .whole(version.version), "at": Payloads.time(version.madeAt), "by": .string(version.madeBy),
            "note": .string(version.note), "live": .bool(version.version == agent.live),
        ]
        if version.version == agent.live {
            members["published"] = [
                "at": Payloads.time(agent.publishedAt), "by": .string(agent.publishedBy),
                "note": .string(agent.publishNote),
            ]
        }
        return .object(members)
    }

    /// The version that a call began with.
    static func reference(_ reference: AgentReference?) -> JSONValue {
        let reference = reference ?? .default
        return ["slug": .string(reference.slug), "version": .whole(reference.version)]
    }

    /// As texts, and with their codes.
    static func warnings(_ warnings: [Problem]) -> [String: JSONValue] {
        [
            "warnings": .array(warnings.map { .string($0.message) }),
            "warning_details": .array(warnings.map { .object($0.json) }),
        ]
    }
}

extension JSONValue {
    /// nil: it is no text.
    var asText: String? { if case .string(let text) = self { text } else { nil } }
}
