internal import Foundation
internal import JSON
internal import Problems
internal import Tools

/// Tools, secrets and MCP servers as the API tells of them.
enum ToolPayloads {
    static func tool(_ tool: StoredTool, warnings: [Problem] = []) -> JSONValue {
        guard case .object(var members) = tool.document.json else { return tool.document.json }
        members["revision"] = .whole(tool.revision)
        members["created_at"] = Payloads.time(tool.createdAt)
        members["updated_at"] = Payloads.time(tool.updatedAt)
        if !warnings.isEmpty { members["warnings"] = .array(warnings.map { .object($0.json) }) }
        return .object(members)
    }

    /// Never its value.
    static func secret(_ secret: SecretEntry) -> JSONValue {
        [
            "name": .string(secret.name), "updated_at": secret.updatedAt.map(Payloads.time) ?? .null,
            "used_by": .array(secret.usedBy.sorted().map { .string($0) }),
            "source": .string(secret.updatedAt == nil ? "configuration" : "stored"),
        ]
    }

    /// - Parameter showsTools: with its tools.
    static func server(_ stored: StoredServer, showsTools: Bool) -> JSONValue {
        guard case .object(var members) = stored.server.json else { return stored.server.json }
        members["revision"] = .whole(stored.revision)
        members["created_at"] = Payloads.time(stored.createdAt)
        members["updated_at"] = Payloads.time(stored.updatedAt)
        members["listed_at"] = stored.listedAt.map(Payloads.time) ?? .null
        members["holds_until"] = stored.holdsUntil.map(Payloads.time) ?? .null
        members["problem"] = .optional(stored.problem)
        members["tool_count"] = .whole(stored.tools.count)
        if showsTools { members["tools"] = .array(stored.tools.map { listed($0, of: stored) }) }
        return .object(members)
    }

    private static func listed(_ tool: MCPListedTool, of stored: StoredServer) -> JSONValue {
        let server = stored.server.name
        var members: [String: JSONValue] = [
            "name": .string(MCPName.forPeople(server, tool.name)), "tool": .string(tool.name),
            "model_name": .string(MCPName.forModels(server, tool.name)), "description": .string(tool.purpose),
            "parameters": tool.schema, "state": .string(stored.state(of: tool).rawValue),
            "problem": .optional(tool.problem), "revision": .whole(tool.revision),
        ]
        if let offered = tool.offered {
            members["offered"] = ["description": .string(offered.purpose), "parameters": offered.schema]
        }
        return .object(members)
    }
}
