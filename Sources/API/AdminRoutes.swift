internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Problems
internal import Store

/// `/api/keys` and `/api/audit`: who may do what, and who did.
struct AdminRoutes: Sendable {
    private static let nameLimit = 64
    private static let dayLimit = 3_650

    static let keyForm = Form(
        "NewKey", path: "keys",
        [
            Field("name", .text(nameLimit), required: true, "whose key it is"),
            Field("role", .choice(Role.allCases.map(\.rawValue)), required: true, "what it may do"),
            Field("expires_in_days", .integer(1...dayLimit), "days for which it is good"),
        ])

    let services: Routes.Services

    func keys(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        Routes.json([
            "items": .array(try await services.store(principal).keys().map { Payloads.key($0, now: services.now()) })
        ])
    }

    /// `{"name", "role", "expires_in_days"}` → the key, shown this once.
    func createKey(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let fields = try FieldReader(request.body, Self.keyForm)
        try fields.check()
        let now = services.now()
        let (key, stored) = Authenticator.makeKey(
            name: fields.text("name") ?? "", role: fields.choice("role", as: Role.self) ?? .viewer, by: principal.actor,
            at: now, expires: fields.integer("expires_in_days").map { now.addingTimeInterval(Double($0) * 86_400) })
        try await services.store(principal).insert(stored)
        try await services.reloadKeys()
        await services.audit(principal, "key.create", target: stored.id, detail: stored.role)
        guard case .object(var members) = Payloads.key(stored, now: now) else { return HTTPResponse(status: 201) }
        members["key"] = .string(key)
        return Routes.json(.object(members), status: 201)
    }

    func revokeKey(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let id = request.parameters["id"] ?? ""
        let keys = try await services.store(principal).keys()
        let admins = keys.filter { $0.role == Role.admin.rawValue && $0.revokedAt == nil }
        if admins.map(\.id) == [id] { throw APIError.conflict(.lastAdminKey) }
        try await services.store(principal).revokeKey(id, at: services.now())
        try await services.reloadKeys()
        await services.audit(principal, "key.revoke", target: id)
        return HTTPResponse(status: 204)
    }

    /// `GET /api/retention`: what is kept of calls, and for how long.
    func retention(_ request: HTTPRequest, _ principal: Principal) -> HTTPResponse {
        let days = services.companies.known(principal.company)?.retentionDays ?? services.retentionDays
        return Routes.json([
            "retention_days": days.map { .number(Double($0)) } ?? .null,
            "records_calls": .bool(services.settings.savesRecording),
            "is_encrypted": .bool(services.store(principal).isEncrypted),
        ])
    }

    func audit(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var query = QueryReader(request.query, ListQuery.audit)
        let cursor = query.cursor(of: .audit)
        try query.check()
        let page = try await services.store(principal).audit.page(
            action: query.text("action"), limit: query.integer("limit") ?? 0, cursor: cursor)
        return Routes.json([
            "items": .array(page.items.map(Payloads.audit)), "next_cursor": .cursor(page.nextCursor, of: .audit),
        ])
    }
}
