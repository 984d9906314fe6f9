internal import Foundation
internal import Net

/// `/api/session`: the dashboard's login.
struct SessionRoutes: Sendable {
    let services: Routes.Services

    func logIn(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var fields = try FieldReader(body: request.body, known: ["api_key", "username", "password"])
        for name in ["username", "password"] where fields.members[name] != nil { fields.fail(name, "is not supported yet: log in with an api_key") }
        let key = fields.text("api_key", required: true, limit: 200)
        guard fields.errors.isEmpty, let key else { throw APIError.invalid(fields.errors) }
        guard let session = services.authenticator.logIn(key: key) else {
            throw APIError(status: 401, code: "wrong_key", title: "Unauthorized", detail: "the key is not known")
        }
        var response = Routes.json(["name": .string(session.principal.name), "role": .string(session.principal.role.rawValue)])
        response.headers.append(
            (
                "set-cookie",
                "\(Authenticator.cookie)=\(session.token); Path=/; HttpOnly; SameSite=Strict; Max-Age=\(Int(Authenticator.sessionHours * 3_600))\(services.isSecure ? "; Secure" : "")"
            ))
        return response
    }

    func current(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        Routes.json(["name": .string(principal.name), "role": .string(principal.role.rawValue)])
    }

    func logOut(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        services.authenticator.logOut(request)
        var response = HTTPResponse(status: 204)
        response.headers.append(("set-cookie", "\(Authenticator.cookie)=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"))
        return response
    }
}
