internal import Calls
internal import JSON
internal import Net
internal import Problems
internal import Store

/// An answer that says no: RFC 9457 problem details, with one entry for every bad field.
struct APIError: Error, Sendable, Equatable {
    struct Field: Sendable, Equatable {
        var field: String
        var problem: Problem
        var message: String { problem.message }
    }
    var status: Int
    /// The kind of problem, for programs: `no_route`, `caller_not_allowed`, `invalid`, `conflict`, …
    var code: String
    /// What it is exactly: the detail's code, with its parameters.
    var problem: Problem
    var errors: [Field] = []
    var headers: [(name: String, value: String)] = []

    var detail: String { problem.message }

    static func == (a: APIError, b: APIError) -> Bool {
        a.status == b.status && a.code == b.code && a.problem == b.problem && a.errors == b.errors
    }

    init(
        _ status: Int, _ code: String, _ problem: Problem, errors: [Field] = [],
        headers: [(name: String, value: String)] = []
    ) {
        self.status = status
        self.code = code
        self.problem = problem
        self.errors = errors
        self.headers = headers
    }

    init(
        _ status: Int, _ code: String, _ problem: ProblemCode, _ params: [String: Problem.Value] = [:],
        headers: [(name: String, value: String)] = []
    ) {
        self.init(status, code, Problem(problem, params), headers: headers)
    }

    static func invalid(_ errors: [Field]) -> APIError {
        let problem =
            errors.count == 1
            ? Problem(.fieldNotAcceptable) : Problem(.fieldsNotAcceptable, ["count": .number(errors.count)])
        return APIError(422, "invalid", problem, errors: errors)
    }
    static func invalid(_ field: String, _ code: ProblemCode, _ params: [String: Problem.Value] = [:]) -> APIError {
        invalid([Field(field: field, problem: Problem(code, params))])
    }
    static func notFound(_ code: ProblemCode, _ params: [String: Problem.Value] = [:]) -> APIError {
        APIError(404, "not_found", code, params)
    }
    static func conflict(_ code: ProblemCode, _ params: [String: Problem.Value] = [:]) -> APIError {
        APIError(409, "conflict", code, params)
    }
    static let unauthorized = APIError(
        401, "unauthorized", .loginNeeded, headers: [("www-authenticate", "Bearer realm=\"trunkline\"")])

    init(_ error: StoreError) {
        switch error.code {
        case .notFound: self.init(404, "not_found", error.problem)
        case .conflict: self.init(409, "conflict", error.problem)
        case .full: self.init(507, "storage_full", error.problem)
        case .unavailable, .cannotOpen:
            self.init(503, "unavailable", error.problem, headers: [("retry-after", "5")])
        }
    }

    /// Problem details, with all fields that are not acceptable.
    var body: JSONValue {
        var body: [String: JSONValue] = [
            "type": .string("/problems/" + code), "title": .string(HTTPStatus.reason(status)),
            "status": .whole(status), "code": .string(code), "detail": .string(detail),
            "detail_code": .string(problem.code.name), "params": problem.json["params"] ?? [:],
        ]
        if !errors.isEmpty {
            body["errors"] = .array(
                errors.map { .object($0.problem.json.merging(["field": .string($0.field)]) { $1 }) })
        }
        return .object(body)
    }

    var response: HTTPResponse {
        var response = HTTPResponse(
            status: status, contentType: "application/problem+json", body.bytes)
        response.headers += headers
        return response
    }
}

extension APIError {
    /// A dialling rule forbids the call.
    static func blocked(by rule: DialRule, _ problem: Problem, field: String) -> APIError {
        APIError(
            rule == .duplicate ? 409 : 422, rule.rawValue,
            Problem(.blocked, ["rule": .text(rule.rawValue), "problem": .problem(problem)]),
            errors: [.init(field: field, problem: problem)])
    }
}

extension Problem {
    /// `code`, `params` and `message`.
    var json: [String: JSONValue] {
        ["code": .string(code.name), "params": .object(params.mapValues(\.json)), "message": .string(message)]
    }
}

extension Problem.Value {
    fileprivate var json: JSONValue {
        switch self {
        case .text(let text): .string(text)
        case .number(let number): .whole(number)
        case .words(let words): .array(words.map { .string($0) })
        case .problem(let problem): .object(problem.json)
        }
    }
}
