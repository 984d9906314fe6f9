internal import Calls
internal import Delivery
internal import Foundation
internal import JSON
internal import Net
internal import Problems
internal import Store

/// `/api/companies`: whom the installation serves. For admins of the company `default`; nobody else learns that it is
/// there.
struct CompanyRoutes: Sendable {
    static let slugLimit = 40
    private static let nameLimit = 100
    private static let zoneLimit = 64
    private static let secretRange = 30...200
    private static let callerLimit = 1_000
    private static let retentionRange = 1...36_500

    /// The quotas that there are, with the most that each may be.
    private static let quotas: [(name: String, range: ClosedRange<Int>, help: String)] = [
        ("concurrent_calls", 1...10_000, "calls at once, in both directions; more wait"),
        ("calls_per_second", 1...1_000, "dials begun in a second; more wait"),
        ("calls_per_day", 0...10_000_000, "calls asked for in a day, UTC"),
        ("minutes_per_month", 0...100_000_000, "of conversations in a month, UTC"),
    ]
    /// Of the contract, and not kept yet.
    private static let reservedQuotas: Set<String> = ["agents", "contacts", "storage_mb"]

    private static let settings: [Field] = [
        Field("name", .text(nameLimit), "what it is called"),
        Field(
            "quotas", .object(quotas.map { Field($0.name, .integer($0.range), $0.help) }, others: true),
            "what it may use; null: any amount"),
        Field("webhook_url", .url, "https address that every event of the company is posted to"),
        Field("webhook_secret", .secret(secretRange), "signs its webhooks: whsec_ and Base64; one is made"),
        Field("retention_days", .integer(retentionRange), "days after which ended calls are erased"),
        Field(
            "allowed_callers", .list(.phoneNumber, count: 0...callerLimit),
            "numbers that may be shown beside those of /api/numbers"),
        Field("time_zone", .text(zoneLimit), "where its day begins, e.g. Asia/Seoul"),
        Field("country", .text(2), "not supported yet"),
    ]
    static let form = Form(
        "NewCompany",
        [Field("slug", .text(slugLimit), required: true, "its name in X-Company: lower-case letters, digits, hyphens")]
            + settings)
    static let changeForm = Form(
        "CompanyChange",
        [Field("state", .choice(Company.State.allCases.map(\.rawValue)), "whether it is suspended")] + settings)

    let services: Routes.Services

    /// As if there were no such path, for everybody but admins of `default`.
    private func check(_ principal: Principal) throws(APIError) {
        guard principal.role == .admin, principal.company == .default else { throw APIError.notFound(.noPath) }
    }

    private func slug(_ request: HTTPRequest) throws(APIError) -> CompanyID {
        let slug = CompanyID(rawValue: request.parameters["slug"] ?? "")
        guard services.companies.exists(slug) else {
            throw APIError.notFound(
                .noCompanyNamed, ["slug": .text(String(slug.rawValue.prefix(Self.slugLimit)))])
        }
        return slug
    }

    /// One that the configuration does not describe.
    private func changeable(_ request: HTTPRequest) throws(APIError) -> Company {
        guard let company = services.companies.known(try slug(request)) else {
            throw APIError.conflict(.companyConfigured)
        }
        return company
    }

    func list(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        try check(principal)
        let companies = services.companies
        return Routes.json(["items": .array(companies.ids.map { Self.payload(companies.known($0)) })])
    }

    func one(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        try check(principal)
        return Routes.json(Self.payload(services.companies.known(try slug(request))))
    }

    func create(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        try check(principal)
        var fields = try FieldReader(request.body, Self.form)
        let slug = fields.text("slug") ?? ""
        if !slug.isEmpty, !Self.isSlug(slug) { fields.fail("slug", .notSlug) }
        if slug == CompanyID.default.rawValue {
            fields.fail("slug", .companySlugTaken, ["slug": .text(slug)])
        }
        var company = Company(
            slug: CompanyID(rawValue: slug), name: slug, webhookSecret: WebhookSecret.random().text,
            createdAt: services.now())
        let apply = read(&fields)
        try fields.check()
        apply(&company)
        try await services.installation.insert(company)
        await services.audit(principal, "company.create", target: slug)
        guard case .object(var members) = Self.payload(company) else { return HTTPResponse(status: 201) }
        // Shown this once.
        members["webhook_secret"] = .string(company.webhookSecret)
        var response = Routes.json(.object(members), status: 201)
        response.headers.append(("location", "/api/companies/\(slug)"))
        return response
    }

    /// Members that are left out stay as they are; null takes a value away.
    func change(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        try check(principal)
        let company = try changeable(request)
        var fields = try FieldReader(request.body, Self.changeForm)
        let state = fields.choice("state", as: Company.State.self)
        let apply = read(&fields)
        try fields.check()
        let changed = try await services.installation.update(company.slug) { company in
            apply(&company)
            company.state = state ?? company.state
        }
        let detail = changed.state == company.state ? "" : changed.state.rawValue
        await services.audit(principal, "company.change", target: company.slug.rawValue, detail: detail)
        return Routes.json(Self.payload(changed))
    }

    /// Erases the company with all that is its, as calls are erased.
    func remove(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        try check(principal)
        let company = try changeable(request).slug
        guard services.companies.isSuspended(company) else { throw APIError.conflict(.companyNotSuspended) }
        let states = try await services.installation.storage.counts(company).states
        let live = states.filter { !$0.key.isTerminal && $0.key != .queued }.values.reduce(0, +)
        guard live == 0 else { throw APIError.conflict(.companyHasLiveCalls, ["count": .number(live)]) }
        try await services.dialler.cancelQueue(company)
        try await services.installation.erase(company, recordings: services.settings.recordingsFolder)
        try await services.reloadKeys()
        try await services.reloadNumbers()
        services.operators.replace(try await services.installation.operators())
        await services.audit(principal, "company.delete", target: company.rawValue)
        return HTTPResponse(status: 204)
    }

    // MARK: Fields

    private static func isSlug(_ text: String) -> Bool {
        guard let first = text.utf8.first, (97...122).contains(first) else { return false }
        return text.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 45 }
    }

    /// What the fields change.
    private func read(_ fields: inout FieldReader) -> @Sendable (inout Company) -> Void {
        var quotas: [(name: String, value: Int?)] = []
        if case .object(let sent)? = fields.sent("quotas") {
            let read = fields.values.object("quotas") ?? [:]
            for name in sent.keys.sorted() {
                if Self.quotas.contains(where: { $0.name == name }) {
                    quotas.append((name, read.integer(name)))
                } else {
                    fields.fail(
                        "quotas." + name, Self.reservedQuotas.contains(name) ? .notSupportedYet : .unknownField)
                }
            }
        }
        if fields.sent("country").map({ $0 != .null }) ?? false { fields.fail("country", .notSupportedYet) }
        let url = fields.text("webhook_url"), secret = fields.text("webhook_secret")
        if let url, let problem = WebhookSender.problem(with: url, settings: services.webhooks) {
            fields.fail("webhook_url", problem)
        }
        if let secret, WebhookSecret(secret) == nil { fields.fail("webhook_secret", .notWebhookSecret) }
        let zone = fields.text("time_zone")
        if let zone, TimeZone(identifier: zone) == nil { fields.fail("time_zone", .notTimeZone) }
        let name = fields.text("name"), days = fields.integer("retention_days")
        let callers = fields.list("allowed_callers")?.compactMap { item -> String? in
            if case .text(let number)? = item { number } else { nil }
        }
        let sent = Set(
            ["webhook_url", "retention_days", "allowed_callers", "time_zone"].filter {
                fields.sent($0) != nil
            })
        return { [quotas] company in
            if let name { company.name = name }
            if let secret { company.webhookSecret = secret }
            if sent.contains("webhook_url") { company.webhookURL = url }
            if sent.contains("retention_days") { company.retentionDays = days }
            if sent.contains("allowed_callers") { company.allowedCallers = callers ?? [] }
            if sent.contains("time_zone") { company.timeZone = zone }
            for (name, value) in quotas { company.quotas.set(name, value) }
        }
    }

    /// - Parameter company: nil: `default`, which the configuration describes.
    private static func payload(_ company: Company?) -> JSONValue {
        let quotas = company?.quotas ?? Company.Quotas()
        return [
            "slug": .string((company?.slug ?? .default).rawValue),
            "name": .string(company?.name ?? CompanyID.default.rawValue),
            "state": .string((company?.state ?? .active).rawValue), "is_configured": .bool(company == nil),
            "quotas": .object(
                Dictionary(
                    uniqueKeysWithValues: Self.quotas.map { quota in
                        (quota.name, quotas.value(quota.name).map { .whole($0) } ?? .null)
                    })),
            "webhook_url": .optional(company?.webhookURL),
            "retention_days": company?.retentionDays.map { .whole($0) } ?? .null,
            "allowed_callers": .array((company?.allowedCallers ?? []).map { .string($0) }),
            "time_zone": .optional(company?.timeZone), "created_at": Payloads.time(company?.createdAt),
        ]
    }
}

extension CompanyRoutes {
    /// `GET …/{slug}/usage?month=2026-11`: what the company has used in a month, UTC.
    func usage(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        try check(principal)
        let company = try slug(request)
        var query = QueryReader(request.query, ListQuery.usage)
        let month = query.text("month") ?? UsageRows.month(services.now())
        if !Self.isMonth(month) { query.fail("month", .notMonth) }
        try query.check()
        var components: [String: [String: JSONValue]] = [:]
        var cost: [JSONValue] = []
        var calls: Int64 = 0, milliseconds: Int64 = 0
        for line in try await services.installation.usage(company, month: month) {
            let quantity = line.quantity
            if let name = line.component.split(separator: " ", maxSplits: 1).last, line.component.hasPrefix("cost ") {
                cost.append([
                    "component": .string(String(name)), "currency": .string(line.unit),
                    "amount": .string("\(Decimal(quantity) / 1_000_000)"),
                ])
            } else if line.component == "call" {
                if line.unit == "calls" { calls = quantity } else { milliseconds = quantity }
            } else {
                components[line.component, default: [:]][line.unit] = .number(Double(quantity))
            }
        }
        let recorded = try await services.installation.recordedBytes(
            company, recordings: services.settings.recordingsFolder)
        return Routes.json([
            "slug": .string(company.rawValue), "storage_bytes": .number(Double(recorded)), "month": .string(month),
            "calls": .number(Double(calls)),
            "minutes": .number((Double(milliseconds) / 600).rounded() / 100),
            "components": .array(
                components.sorted { $0.key < $1.key }.map {
                    ["component": .string($0.key), "quantities": .object($0.value)]
                }), "cost": .array(cost),
        ])
    }

    private static func isMonth(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Array($0.utf8) }
        guard parts.count == 2, parts[0].count == 4, parts[1].count == 2,
            parts.joined().allSatisfy({ (48...57).contains($0) })
        else { return false }
        return (1...12).contains(Int(text.suffix(2)) ?? 0)
    }
}

extension Company.Quotas {
    /// By the name in the API.
    fileprivate func value(_ name: String) -> Int? {
        switch name {
        case "concurrent_calls": concurrentCalls
        case "calls_per_second": callsPerSecond
        case "calls_per_day": callsPerDay
        default: minutesPerMonth
        }
    }

    fileprivate mutating func set(_ name: String, _ value: Int?) {
        switch name {
        case "concurrent_calls": concurrentCalls = value
        case "calls_per_second": callsPerSecond = value
        case "calls_per_day": callsPerDay = value
        default: minutesPerMonth = value
        }
    }
}

extension APIError {
    /// - Parameter now: by which it is told when to come again.
    static func overQuota(_ use: QuotaUse, at now: Date) -> APIError {
        APIError(
            429, "quota_exceeded", .quotaExceeded,
            [
                "quota": .text(use.quota), "limit": .number(use.limit), "used": .number(use.used),
                "resets_at": .text(Timestamp.text(use.resetsAt)),
            ],
            headers: [
                (
                    "retry-after",
                    String(Int(clamping: Int64(max(1, min(use.resetsAt.timeIntervalSince(now), 2_678_400)))))
                )
            ])
    }
}
