internal import Calls
internal import Net
internal import Store

/// An answer that says no: RFC 9457 problem details, with one entry for every bad field.
struct APIError: Error, Sendable, Equatable {
    struct Field: Sendable, Equatable {
        var field: String
        var message: String
    }
    var status: Int
    /// A word for programs: `no_route`, `caller_not_allowed`, `invalid`, …
    var code: String
    var title: String
    var detail: String
    var errors: [Field] = []
    var headers: [(name: String, value: String)] = []

    static func == (a: APIError, b: APIError) -> Bool {
        a.status == b.status && a.code == b.code && a.detail == b.detail && a.errors == b.errors
    }

    static func invalid(_ errors: [Field]) -> APIError {
        APIError(
            status: 422, code: "invalid", title: "Unprocessable Content",
            detail: errors.count == 1 ? "1 field is not acceptable" : "\(errors.count) fields are not acceptable",
            errors: errors)
    }
    static func invalid(_ field: String, _ message: String) -> APIError {
        invalid([Field(field: field, message: message)])
    }
    static func notFound(_ what: String) -> APIError {
        APIError(status: 404, code: "not_found", title: "Not Found", detail: what)
    }
    static func conflict(_ detail: String) -> APIError {
        APIError(status: 409, code: "conflict", title: "Conflict", detail: detail)
    }
    static let unauthorized = APIError(
        status: 401, code: "unauthorized", title: "Unauthorized",
        detail: "an API key (Authorization: Bearer KEY) or a login is needed",
        headers: [("www-authenticate", "Bearer realm=\"trunkline\"")])

    init(
        status: Int, code: String, title: String, detail: String, errors: [Field] = [],
        headers: [(name: String, value: String)] = []
    ) {
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.errors = errors
        self.headers = headers
    }

    init(_ error: StoreError) {
        switch error.code {
        case .notFound: self = .notFound(error.message)
        case .conflict: self = .conflict(error.message)
        case .full: self.init(status: 507, code: "storage_full", title: "Insufficient Storage", detail: error.message)
        case .unavailable, .cannotOpen:
            self.init(
                status: 503, code: "unavailable", title: "Service Unavailable", detail: error.message,
                headers: [("retry-after", "5")])
        }
    }

    var response: HTTPResponse {
        var body: [String: JSONValue] = [
            "type": .string("/problems/" + code), "title": .string(title), "status": .number(Double(status)),
            "code": .string(code),
            "detail": .string(detail),
        ]
        if !errors.isEmpty {
            body["errors"] = .array(errors.map { ["field": .string($0.field), "message": .string($0.message)] })
        }
        var response = HTTPResponse(
            status: status, contentType: "application/problem+json", Array(JSONValue.object(body).text.utf8))
        response.headers += headers
        return response
    }
}

extension APIError {
    /// A dialling rule forbids the call.
    static func blocked(by rule: DialRule, _ detail: String, field: String) -> APIError {
        APIError(
            status: rule == .duplicate ? 409 : 422, code: rule.rawValue,
            title: rule == .duplicate ? "Conflict" : "Unprocessable Content",
            detail: "blocked by \(rule.rawValue): \(detail)", errors: [.init(field: field, message: detail)])
    }
}
