internal import Bridge
internal import Calls
internal import Foundation
internal import Net

/// `/api/operators`: people who answer calls, and their telephones.
struct OperatorRoutes: Sendable {
    static let nameLimit = 100
    static let userLimit = 64
    static let passwordRange = 12...128
    static let messageLimit = 500
    static let ringRange = 5...120

    let services: Routes.Services

    private func known(_ request: HTTPRequest) throws -> Operator {
        guard let known = services.operators.with(id: request.parameters["id"] ?? "") else {
            throw APIError.notFound("there is no operator with this id")
        }
        return known
    }

    private func reload() async throws { services.operators.replace(try await services.store.operators()) }

    func list(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        Routes.json(["items": .array(services.operators.all.map { payload($0, principal) })])
    }

    func one(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        Routes.json(payload(try known(request), principal))
    }

    func create(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let made = try read(request, Operator(name: "", sipUser: "", createdAt: services.now()))
        try await services.store.save(made)
        try await reload()
        await services.audit(principal, "operator.create", target: made.id)
        var response = Routes.json(payload(made, principal), status: 201)
        response.headers.append(("location", "/api/operators/\(made.id)"))
        return response
    }

    func replace(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let old = try known(request)
        var changed = try read(request, old)
        changed.updatedAt = services.now()
        try await services.store.save(changed)
        if changed.sipUser != old.sipUser || changed.secret != old.secret {
            services.operators.registrar.forget(old.sipUser)
        }
        try await reload()
        await services.audit(principal, "operator.change", target: changed.id)
        return Routes.json(payload(changed, principal))
    }

    /// `PUT …/status`: what operators change themselves, many times a day.
    func setStatus(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var changed = try known(request)
        var fields = try FieldReader(body: request.body, known: ["status", "away_message"])
        let status = fields.text("status", required: true, limit: 20)
        Self.take(status, &fields, &changed)
        if fields.members["away_message"] != nil {
            changed.awayMessage = fields.text(
                "away_message", required: false, limit: Self.messageLimit, .paragraph, mayBeBlank: true)
        }
        try fields.check()
        changed.updatedAt = services.now()
        try await services.store.save(changed)
        try await reload()
        await services.audit(principal, "operator.status", target: changed.id, detail: changed.status.rawValue)
        return Routes.json(payload(changed, principal))
    }

    func remove(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let gone = try known(request)
        try await services.store.removeOperator(gone.id)
        try await reload()
        await services.audit(principal, "operator.delete", target: gone.id)
        return HTTPResponse(status: 204)
    }

    private static func take(_ status: String?, _ fields: inout FieldReader, _ known: inout Operator) {
        guard let status else { return }
        guard let read = Operator.Status(rawValue: status) else {
            return fields.fail(
                "status", "must be one of \(Operator.Status.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        known.status = read
    }

    private func read(_ request: HTTPRequest, _ old: Operator) throws -> Operator {
        var known = old
        var fields = try FieldReader(
            body: request.body,
            known: [
                "name", "number", "sip_user", "sip_password", "address", "status", "away_message", "ring_timeout",
                "order",
            ])
        let name = fields.text("name", required: true, limit: Self.nameLimit)
        let user = fields.text("sip_user", required: true, limit: Self.userLimit)
        let password = fields.secret("sip_password", required: false, limit: Self.passwordRange.upperBound)
        known.number = fields.text("number", required: false, limit: 64)
        known.address = fields.text("address", required: false, limit: 256)
        known.awayMessage = fields.text(
            "away_message", required: false, limit: Self.messageLimit, .paragraph, mayBeBlank: true)
        known.ringSeconds =
            fields.integer("ring_timeout", in: Self.ringRange)
            ?? Operator(name: "", sipUser: "", createdAt: old.createdAt).ringSeconds
        known.order = fields.integer("order", in: 0...1_000) ?? 0
        known.status = .available
        Self.take(fields.text("status", required: false, limit: 20), &fields, &known)
        if let user, !user.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_.+".contains($0)) }) {
            fields.fail("sip_user", "must consist of letters, digits, '-', '_', '.' and '+'")
        }
        if let number = known.number, Routing.normalize(number) == nil {
            fields.fail("number", "must be a number of 3 to 15 digits")
        }
        if let password, !Self.passwordRange.contains(password.count) {
            fields.fail(
                "sip_password",
                "must have \(Self.passwordRange.lowerBound) to \(Self.passwordRange.upperBound) characters")
        }
        if let address = known.address {
            do { _ = try services.settings.routing.route(toSomebody: address) } catch {
                fields.fail("address", error.message)
            }
        }
        // Who he is at the registrar is part of what is kept of the password.
        if let user, user != old.sipUser, old.secret != nil, password == nil {
            fields.fail("sip_password", "is needed where sip_user changes")
        }
        try fields.check()
        known.name = name ?? ""
        known.sipUser = user ?? ""
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
