internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Problems
internal import Store
internal import Tools

/// `/api/mcp-servers`: servers whose tools agents may use.
struct MCPServerRoutes: Sendable {
    let services: Routes.Services

    private func catalog() throws(APIError) -> ToolCatalog { try ToolRoutes.catalog(services) }

    private func name(_ request: HTTPRequest) -> String { request.parameters["name"] ?? "" }

    func list(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let servers = try await catalog().servers(principal.company)
        return Routes.json(["items": .array(servers.map { ToolPayloads.server($0, showsTools: false) })])
    }

    func one(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        Routes.json(ToolPayloads.server(try await catalog().server(principal.company, name(request)), showsTools: true))
    }

    /// Stores a server when its tools could be listed.
    func create(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let members = try FieldReader.members(of: request.body), tools = try catalog()
        let server = try await ToolRoutes.checked {
            try await tools.checkServer(principal.company, .object(members))
        }
        let stored: StoredServer
        do throws(StoreError) { stored = try await tools.createServer(principal.company, server) } catch {
            guard error.problem.code == .mcpNotListed else { throw error }
            throw APIError.invalid([.init(field: "/url", problem: error.problem)])
        }
        await services.audit(principal, "mcp.create", target: server.name)
        var response = Routes.json(ToolPayloads.server(stored, showsTools: true), status: 201)
        response.headers.append(("location", "/api/mcp-servers/\(server.name)"))
        return response
    }

    /// `POST …/refresh`: lists the tools anew.
    func refresh(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let stored = try await catalog().refreshServer(principal.company, name(request))
        await services.audit(principal, "mcp.refresh", target: name(request))
        return Routes.json(ToolPayloads.server(stored, showsTools: true))
    }

    /// `POST …/accept` `{"tool"}`: takes the definition that a tool has now.
    func accept(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let fields = try FieldReader(request.body, ToolForms.accepted)
        try fields.check()
        let tool = fields.text("tool") ?? ""
        let stored = try await catalog().acceptTool(principal.company, name(request), tool)
        await services.audit(principal, "mcp.accept", target: name(request), detail: tool)
        return Routes.json(ToolPayloads.server(stored, showsTools: true))
    }

    func remove(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        try await catalog().removeServer(principal.company, name(request))
        await services.audit(principal, "mcp.delete", target: name(request))
        return HTTPResponse(status: 204)
    }
}
