internal import Bridge
internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Problems

/// `/api/operators`: people who answer calls, and their telephones.
struct OperatorRoutes: Sendable {
    private static let nameLimit = 100
    private static let passwordRange = 12...128
    private static let messageLimit = 500
    private static let ringRange = 5...120
    private static let orderRange = 0...1_000
    private static let usual = Operator(name: "", sipUser: "", createdAt: .distantPast)
    private static let statuses = Operator.Status.allCases.map(\.rawValue)

    private static let awayMessage = Field(
        "away_message", .text(messageLimit, .paragraph), mayBeBlank: true,
        "what callers hear while the operator is away")
    static let form = Form(
        "NewOperator", path: "operators",
        [
            Field("name", .text(nameLimit), required: true, "what the operator is called"),
            Field("sip_user", .text(Field.Kind.wordLimit), required: true, "what the phone registers with"),
            Field("sip_password", .secret(passwordRange), "the phone's password"),
            Field("number", .phoneNumber, "number that callers dial"),
            Field(
                "address", .text(Field.Kind.addressLimit), "number or `sip:` address of a phone without registration"),
            Field(
                "status", .choice(statuses), default: .string(usual.status.rawValue), "whether the operator takes calls"
            ), awayMessage,
            Field(
                "ring_timeout", .integer(ringRange), default: .whole(usual.ringSeconds),
                "seconds for which the phone rings"),
            Field("order", .integer(orderRange), default: .whole(usual.order), "place among those who are tried"),
        ])
    static let statusForm = Form(
        "OperatorStatus",
        [Field("status", .choice(statuses), required: true, "whether the operator takes calls"), awayMessage])

    let services: Routes.Services

    private func known(_ request: HTTPRequest, _ principal: Principal) throws -> Operator {
        guard let known = services.operators.with(principal.company, id: request.parameters["id"] ?? "") else {
            throw APIError.notFound(.noOperator)
        }
        return known
    }

    private func reload() async throws { services.operators.replace(try await services.installation.operators()) }

    func list(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        Routes.json(["items": .array(services.operators.all(principal.company).map { payload($0, principal) })])
    }

    func one(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        Routes.json(payload(try known(request, principal), principal))
    }

    func create(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let made = try read(request, Operator(name: "", sipUser: "", createdAt: services.now()))
        try await services.store(principal).save(made)
        try await reload()
        await services.audit(principal, "operator.create", target: made.id)
        var response = Routes.json(payload(made, principal), status: 201)
        response.headers.append(("location", "/api/operators/\(made.id)"))
        return response
    }

    func replace(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let old = try known(request, principal)
        var changed = try read(request, old)
        changed.updatedAt = services.now()
        try await services.store(principal).save(changed)
        if changed.sipUser != old.sipUser || changed.secret != old.secret {
            services.operators.registrar.forget(old.sipUser)
        }
        try await reload()
        await services.audit(principal, "operator.change", target: changed.id)
        return Routes.json(payload(changed, principal))
    }

    /// `PUT …/status`: what operators change themselves, many times a day.
    func setStatus(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var changed = try known(request, principal)
        let fields = try FieldReader(request.body, Self.statusForm)
        try fields.check()
        changed.status = fields.choice("status", as: Operator.Status.self) ?? changed.status
        if fields.sent("away_message") != nil { changed.awayMessage = fields.text("away_message") }
        changed.updatedAt = services.now()
        try await services.store(principal).save(changed)
        try await reload()
        await services.audit(principal, "operator.status", target: changed.id, detail: changed.status.rawValue)
        return Routes.json(payload(changed, principal))
    }

    func remove(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let gone = try known(request, principal)
        try await services.store(principal).removeOperator(gone.id)
        try await reload()
        await services.audit(principal, "operator.delete", target: gone.id)
        return HTTPResponse(status: 204)
    }

    private func read(_ request: HTTPRequest, _ old: Operator) throws -> Operator {
        var known = old
        var fields = try FieldReader(request.body, Self.form)
        let (user, password) = (fields.text("sip_user"), fields.text("sip_password"))
        known.number = fields.text("number")
        known.address = fields.text("address")
        known.awayMessage = fields.text("away_message")
        if let user, !user.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_.+".contains($0)) }) {
            fields.fail("sip_user", .notSipUser)
        }
        if let address = known.address {
            do { _ = try services.settings.routing.route(toSomebody: address) } catch {
                fields.fail("address", error.problem)
            }
        }
        // The stored password hash contains the user's name at the registrar.
        if let user, user != old.sipUser, old.secret != nil, password == nil, !fields.hasFailed("sip_password") {
            fields.fail("sip_password", .requiredForNewName)
        }
        try fields.check()
        known.name = fields.text("name") ?? ""
        known.sipUser = user ?? ""
        known.ringSeconds = fields.integer("ring_timeout") ?? known.ringSeconds
        known.order = fields.integer("order") ?? known.order
        known.status = fields.choice("status", as: Operator.Status.self) ?? known.status
        if let password {
            known.secret = DigestAuthenticator.Secret(
                user: known.sipUser, realm: services.operators.realm, password: password)
        }
        return known
    }

    private func payload(_ known: Operator, _ principal: Principal) -> JSONValue {
        let phones = services.operators.phones(of: known)
        let isMasked = principal.role < .operator
        return [
            "id": .string(known.id), "name": .string(known.name), "number": .optional(known.number),
            "sip_user": .string(known.sipUser),
            "has_password": .bool(known.secret != nil),
            "address": .optional(known.address.map { isMasked ? Payloads.masked($0) : $0 }),
            "status": .string(known.status.rawValue), "away_message": .optional(known.awayMessage),
            "ring_timeout": .number(Double(known.ringSeconds)),
            "order": .number(Double(known.order)), "in_call": .bool(services.operators.isEngaged(known.id)),
            "registered": .bool(!phones.isEmpty),
            "phones": .array(
                phones.map {
                    [
                        "contact": .string(isMasked ? Payloads.masked($0.contact) : $0.contact),
                        "expires_at": Payloads.time($0.expiresAt),
                    ]
                }), "created_at": Payloads.time(known.createdAt), "updated_at": Payloads.time(known.updatedAt),
        ]
    }
}
