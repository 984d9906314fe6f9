internal import Foundation
internal import JSON
internal import Problems
public import Realtime
public import Store

extension ToolCatalog {
    /// The tools of one call. What is missing by now is left out, so that a call never fails for a tool.
    /// - Parameters:
    ///   - names: as agents list them: of HTTP tools, of built-in ones, and `server.tool`.
    ///   - servers: MCP servers of which all tools are wanted.
    public func box(
        _ company: CompanyID, names: [String], servers: [String] = [], values: ToolValues, means: ToolMeans
    ) async throws(StoreError) -> CallToolBox {
        var found: [CallToolBox.Found] = [], missing: [String] = []
        let needsServers = !servers.isEmpty || names.contains { $0.contains(".") }
        let known = needsServers ? try await self.servers(company) : []
        let documents = names.isEmpty ? [] : try await tools(company)
        for name in names where !BuiltInTool.dialogue.contains(name) {
            if let builtIn = BuiltInTool(rawValue: name) {
                if let tool = builtIn.tool(means, values) {
                    found.append(.init(name: name, tool: tool, action: .builtIn(builtIn)))
                } else {
                    missing.append(name)
                }
            } else if let stored = documents.first(where: { $0.document.name == name }) {
                found.append(
                    .init(
                        name: name, tool: stored.document.tool(revision: stored.revision, values),
                        action: .http(stored.document)))
            } else if let (server, tool) = MCPName.split(name),
                let stored = known.first(where: { $0.server.name == server }),
                let listed = stored.usable.first(where: { $0.name == tool })
            {
                found.append(Self.found(stored.server, listed))
            } else {
                missing.append(name)
            }
        }
        for name in servers {
            guard let stored = known.first(where: { $0.server.name == name }) else {
                missing.append(name)
                continue
            }
            found += stored.usable.map { Self.found(stored.server, $0) }
        }
        return CallToolBox(found, missing: missing, values: values, means: means, catalog: self, company: company)
    }

    private static func found(_ server: MCPServer, _ tool: MCPListedTool) -> CallToolBox.Found {
        CallToolBox.Found(
            name: MCPName.forPeople(server.name, tool.name),
            tool: CallTool(
                name: MCPName.forModels(server.name, tool.name), purpose: tool.purpose, parameters: tool.schema.text,
                revision: tool.revision),
            action: .mcp(server, tool))
    }

    /// Names of tools that an agent may list now: HTTP tools, built-in ones and those of MCP servers.
    public func knownNames(_ company: CompanyID) async throws(StoreError) -> Set<String> {
        var names = BuiltInTool.dialogue.union(BuiltInTool.allCases.map(\.rawValue))
        for tool in try await tools(company) { names.insert(tool.document.name) }
        for server in try await servers(company) {
            for tool in server.usable { names.insert(MCPName.forPeople(server.server.name, tool.name)) }
        }
        return names
    }

    /// Calls a tool once, for an administrator who tries it.
    /// - Parameter name: of an HTTP tool, or `server.tool`.
    /// - Throws: `StoreError.notFound`.
    public func tryOut(_ company: CompanyID, _ name: String, arguments: String, values: ToolValues)
        async throws(StoreError) -> ToolResult
    {
        guard BuiltInTool(rawValue: name) == nil else {
            throw StoreError(.notFound, .noTool, ["name": .text(name)])
        }
        let box = try await box(company, names: [name], values: values, means: ToolMeans())
        guard let tool = box.tools.first else {
            throw StoreError(.notFound, .noTool, ["name": .text(String(name.prefix(200)))])
        }
        return await box.call(tool.name, arguments: arguments, number: 1)
    }
}
