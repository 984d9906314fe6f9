internal import Foundation
internal import Net

/// `/api/session`: the dashboard's login.
struct SessionRoutes: Sendable {
    let services: Routes.Services

    func logIn(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        guard case .object(let members)? = try? JSONValue(parsing: request.body) else {
            throw APIError(status: 400, code: "invalid_json", title: "Bad Request", detail: "the body must be a JSON object")
        }
        var fields = FieldReader(members)
        for name in members.keys.sorted() where name != "api_key" {
            fields.fail(name, ["username", "password"].contains(name) ? "is not supported yet: log in with an api_key" : "is not a known field")
        }
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
