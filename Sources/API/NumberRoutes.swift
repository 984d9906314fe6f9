internal import Calls
internal import Foundation
internal import Net
internal import Store

/// `/api/do-not-call` and `/api/numbers`: who must not be called, and which numbers of ours may be shown.
struct NumberRoutes: Sendable {
    /// Numbers of one request.
    private static let batchLimit = 10_000
    private static let reasonLimit = 200

    let services: Routes.Services

    /// `limit`, `cursor` and `q` of a list.
    private static func page(_ request: HTTPRequest, of list: ListCursor) throws -> (
        limit: Int, cursor: Int64?, search: String?
    ) {
        var query = QueryReader(request.query, known: OpenAPI.numberQuery)
        let page = (query.limit(), query.cursor(of: list), query["q"])
        try query.check()
        return page
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
        var fields = try FieldReader(body: request.body, known: ["number", "numbers", "reason"])
        let reason = fields.text("reason", required: false, limit: Self.reasonLimit, mayBeBlank: true) ?? ""
        var numbers: [(name: String, text: String)] = []
        if let number = fields.text("number", required: false, limit: 256) { numbers.append(("number", number)) }
        switch fields.members["numbers"] {
        case nil, .null: break
        case .array(let items) where items.count <= Self.batchLimit:
            for (index, item) in items.enumerated() {
                if case .string(let text) = item {
                    numbers.append(("numbers[\(index)]", text))
                } else {
                    fields.fail("numbers[\(index)]", "must be a string")
                }
            }
        default: fields.fail("numbers", "must be an array of at most \(Self.batchLimit) numbers")
        }
        for number in numbers where CallAddress(number.text) == nil {
            fields.fail(number.name, "must be a number of 3 to 15 digits, or a sip: address")
        }
        if numbers.isEmpty, fields.errors.isEmpty { fields.fail("number", "is required") }
        try fields.check()
        let now = services.now()
        let added = try await services.store.numbers.addDoNotCall(
            numbers.map { DoNotCallEntry(number: $0.text, reason: reason, addedAt: now, addedBy: principal.name) })
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
        var fields = try FieldReader(body: request.body, known: ["number", "label", "daily_cap", "template_id"])
        let number = fields.text("number", required: true, limit: 64)
        let label = fields.text("label", required: false, limit: 100, mayBeBlank: true) ?? ""
        let cap = fields.integer("daily_cap", in: 1...1_000_000)
        let template = fields.text("template_id", required: false, limit: 20)
        if let number, Routing.normalize(number) == nil { fields.fail("number", "must be a number of 3 to 15 digits") }
        if let template, try await services.store.template(template) == nil {
            fields.fail("template_id", "there is no such template")
        }
        try fields.check()
        let stored = CallerNumber(
            number: number ?? "", label: label, dailyCap: cap, templateID: template, addedAt: services.now(),
            addedBy: principal.name)
        try await services.store.numbers.addCallerNumber(stored)
        try await services.numbers.reload(from: services.store)
        await services.audit(principal, "number.add")
        return Routes.json(Payloads.callerNumber(stored, dialsToday: 0), status: 201)
    }

    func removeNumber(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        try await services.store.numbers.removeCallerNumber(request.parameters["number"] ?? "")
        try await services.numbers.reload(from: services.store)
        await services.audit(principal, "number.remove")
        return HTTPResponse(status: 204)
    }
}
