internal import Calls
internal import Foundation
internal import JSON
internal import Logging
internal import Net
internal import Problems
internal import Store

/// `/api/session`: the dashboard's login.
struct SessionRoutes: Sendable {
    private static let secretLimit = 200

    static let form = Form(
        "Login",
        [
            Field("api_key", .text(secretLimit), "an API key; or username and password"),
            Field("username", .text(Field.Kind.wordLimit), "a user's name"),
            Field("password", .secret(1...secretLimit), "the user's password"),
        ])

    let services: Routes.Services

    func logIn(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var fields = try FieldReader(request.body, Self.form)
        let byName = ["username", "password"]
        let isByName = byName.contains { fields.sent($0) != nil }
        if isByName { fields.exclude(["api_key"], beside: byName) }
        for name in isByName ? byName : ["api_key"] { fields.require(name) }
        try fields.check()
        let (key, name, password) = (fields.text("api_key"), fields.text("username"), fields.text("password"))
        let sources = [request.peer] + (name.map { ["name " + $0] } ?? [])
        for source in sources {
            guard let seconds = services.authenticator.secondsToWait(forLoginOf: source) else { continue }
            throw APIError(429, "rate_limited", .tooManyLogins, headers: [("retry-after", String(seconds))])
        }
        let session: (token: String, principal: Principal)?
        if let name, let password {
            session = try await services.installation.accounts.user(name, password: password).flatMap {
                services.authenticator.logIn($0)
            }
        } else {
            session = services.authenticator.logIn(key: key ?? "")
        }
        guard let session else {
            for source in sources { services.authenticator.loginRefused(of: source) }
            await services.audit(Principal(name: "-", key: "", role: .viewer, isSession: false), "session.refused")
            throw isByName
                ? APIError(401, "wrong_password", .wrongPassword) : APIError(401, "wrong_key", .unknownKey)
        }
        await services.audit(session.principal, "session.begin")
        if let stored = services.authenticator.stored(session.token) {
            // Without it the login is good until the next restart.
            do { try await services.installation.accounts.insert(stored, at: services.now()) } catch {
                services.logger.error("a login cannot be kept: \(error)")
            }
        }
        var response = Routes.json([
            "name": .string(session.principal.name), "role": .string(session.principal.role.rawValue),
        ])
        response.headers.append(
            (
                "set-cookie",
                "\(Authenticator.cookie)=\(session.token); Path=/; HttpOnly; SameSite=Strict; "
                    + "Max-Age=\(Int(Authenticator.sessionHours * 3_600))\(services.isSecure ? "; Secure" : "")"
            ))
        return response
    }

    func current(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        // From there on `WS /api/events?after=` leaves nothing out of what is read next.
        var members: [String: JSONValue] = [
            "name": .string(principal.name), "role": .string(principal.role.rawValue),
            "last_event_id": .number(Double(try await services.store(principal).latestEventID())),
        ]
        if services.companies.areSeveral { members["company"] = .string(principal.company.rawValue) }
        return Routes.json(.object(members))
    }

    func logOut(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        if let ended = services.authenticator.logOut(request) {
            try await services.installation.accounts.removeSession(ended)
        }
        var response = HTTPResponse(status: 204)
        response.headers.append(
            ("set-cookie", "\(Authenticator.cookie)=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"))
        return response
    }
}
