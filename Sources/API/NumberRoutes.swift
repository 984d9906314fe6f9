internal import Agents
internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Problems
internal import Store

/// `/api/do-not-call` and `/api/numbers`: who must not be called, and which numbers of ours may be shown.
struct NumberRoutes: Sendable {
    /// Numbers of one request.
    private static let batchLimit = 10_000
    private static let reasonLimit = 200
    private static let labelLimit = 100
    /// Calls a day.
    private static let capRange = 1...1_000_000
    private static let idLimit = 20

    static let doNotCallForm = Form(
        "NewDoNotCall", path: "do-not-call",
        [
            Field("number", .callAddress, "a number or `sip:` address that must not be called"),
            Field("numbers", .list(.callAddress, count: 0...batchLimit), "many of them"),
            Field("reason", .text(reasonLimit), mayBeBlank: true, "why"),
        ])
    static let form = Form(
        "NewNumber", path: "numbers",
        [
            Field("number", .phoneNumber, required: true, "a number of ours"),
            Field("label", .text(labelLimit), mayBeBlank: true, "what it is called"),
            Field("daily_cap", .integer(capRange), "calls a day that may show it"),
            Field("template_id", .text(idLimit), "template by which calls to it are answered"),
            Field("agent", .text(AgentName.lengthLimit), "agent that answers calls to it: a slug, or slug@version"),
        ])

    let services: Routes.Services

    /// `limit`, `cursor` and `q` of a list.
    private static func page(_ request: HTTPRequest, of list: ListCursor) throws -> (
        limit: Int, cursor: Int64?, search: String?
    ) {
        var query = QueryReader(request.query, ListQuery.numbers)
        let cursor = query.cursor(of: list)
        try query.check()
        return (query.integer("limit") ?? 0, cursor, query.text("q"))
    }

    // MARK: Do not call

    func doNotCall(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let wanted = try Self.page(request, of: .doNotCall)
        let page = try await services.store.numbers.doNotCall(
            search: wanted.search, limit: wanted.limit, cursor: wanted.cursor)
        // Whole for who may change the list; masked for who may only look.
        let isMasked = principal.role < .operator
        return Routes.json([
            "items": .array(page.items.map { Payloads.doNotCall($0, isMasked: isMasked) }),
            "next_cursor": .cursor(page.nextCursor, of: .doNotCall),
            "total": .number(Double(page.total)),
        ])
    }

    /// `{"number"}` or `{"numbers": […]}`, and a `reason`. All of them or none.
    func addDoNotCall(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var fields = try FieldReader(request.body, Self.doNotCallForm)
        let listed = (fields.list("numbers") ?? []).compactMap { item -> String? in
            if case .text(let number)? = item { number } else { nil }
        }
        let numbers = [fields.text("number")].compactMap(\.self) + listed
        if numbers.isEmpty, fields.errors.isEmpty { fields.require("number") }
        try fields.check()
        let reason = fields.text("reason") ?? ""
        let now = services.now()
        let added = try await services.store.numbers.addDoNotCall(
            numbers.map { DoNotCallEntry(number: $0, reason: reason, addedAt: now, addedBy: principal.name) })
        await services.audit(principal, "do_not_call.add", detail: "\(added) new of \(numbers.count)")
        return Routes.json(
            ["added": .number(Double(added)), "known": .number(Double(numbers.count - added))], status: 201)
    }

    func removeDoNotCall(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        try await services.store.numbers.removeDoNotCall(request.parameters["number"] ?? "")
        await services.audit(principal, "do_not_call.remove")
        return HTTPResponse(status: 204)
    }

    // MARK: Numbers of ours

    func numbers(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let wanted = try Self.page(request, of: .numbers)
        let page = try await services.store.numbers.callerNumbers(
            search: wanted.search, limit: wanted.limit, cursor: wanted.cursor)
        let since = services.settings.policy.dayBegins(services.now())
        var items: [JSONValue] = []
        for number in page.items {
            items.append(
                Payloads.callerNumber(
                    number, dialsToday: try await services.store.numbers.dials(showing: number.number, since: since)))
        }
        // Those of the configuration cannot be changed here.
        let configured = services.settings.routing.allowedCallers ?? []
        return Routes.json([
            "items": .array(items), "next_cursor": .cursor(page.nextCursor, of: .numbers),
            "total": .number(Double(page.total)),
            "configured": .array(configured.map { .string($0) }),
            "any_allowed": .bool(
                services.settings.routing.allowedCallers == nil && services.settings.routing.isBoundToLoopback),
        ])
    }

    func addNumber(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var fields = try FieldReader(request.body, Self.form)
        let template = fields.text("template_id")
        if let template, try await services.store.template(template) == nil {
            fields.fail("template_id", .unknownTemplate)
        }
        let agent = fields.text("agent")
        if let agent { try await checkAgent(agent, principal, &fields) }
        if template != nil, agent != nil { fields.exclude(["agent"], beside: ["template_id"]) }
        try fields.check()
        let stored = CallerNumber(
            number: fields.text("number") ?? "", label: fields.text("label") ?? "",
            dailyCap: fields.integer("daily_cap"), templateID: template, agent: agent, addedAt: services.now(),
            addedBy: principal.name)
        try await services.store.numbers.addCallerNumber(stored)
        try await services.numbers.reload(from: services.store)
        await services.audit(principal, "number.add")
        return Routes.json(Payloads.callerNumber(stored, dialsToday: 0), status: 201)
    }

    /// Callers give no variables.
    private func checkAgent(_ text: String, _ principal: Principal, _ fields: inout FieldReader) async throws {
        guard let name = AgentName(text), name.slug != AgentReference.defaultSlug,
            let version = try await services.agent(name, of: principal.company)
        else { return fields.fail("agent", .unknownAgent) }
        for variable in AgentFields.missing(AgentOrder(), version.variables) {
            fields.fail("agent.variables.\(variable)", .missingVariable)
        }
    }

    func removeNumber(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        try await services.store.numbers.removeCallerNumber(request.parameters["number"] ?? "")
        try await services.numbers.reload(from: services.store)
        await services.audit(principal, "number.remove")
        return HTTPResponse(status: 204)
    }
}
