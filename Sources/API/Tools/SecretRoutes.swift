internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Problems
internal import Store
internal import Tools

/// `/api/secrets`: what stands in headers of tools and MCP servers. Written, and never read again.
struct SecretRoutes: Sendable {
    let services: Routes.Services

    func list(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let entries = try await ToolRoutes.catalog(services).secretEntries(principal.company)
        return Routes.json(["items": .array(entries.map(ToolPayloads.secret))])
    }

    /// `{"name", "value"}`: stores a secret, or another value for it.
    func set(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var fields = try FieldReader(request.body, ToolForms.secret)
        let name = fields.text("name") ?? "", value = fields.text("value") ?? ""
        if !name.isEmpty, !ToolDocument.isName(name) { fields.fail("name", .notToolName) }
        if !value.isEmpty, !ToolCatalog.isSecret(value) { fields.fail("value", .notHeaderValue) }
        try fields.check()
        let entry = try await ToolRoutes.catalog(services).setSecret(principal.company, name, value)
        await services.audit(principal, "secret.set", target: name)
        return Routes.json(ToolPayloads.secret(entry), status: 201)
    }

    func remove(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let name = request.parameters["name"] ?? ""
        try await ToolRoutes.catalog(services).removeSecret(principal.company, name)
        await services.audit(principal, "secret.delete", target: name)
        return HTTPResponse(status: 204)
    }
}
