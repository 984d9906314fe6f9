/// A request that is refused before any handler sees it. The connection ends with the answer: what follows on it cannot
/// be trusted.
public struct HTTPFailure: Error, Sendable, Equatable {
    /// 0: the connection is closed without an answer.
    public var status: Int
    /// A reason for people. Contains nothing that the client sent.
    public var detail: String

    public init(_ status: Int, _ detail: String) {
        self.status = status
        self.detail = detail
    }

    static func badRequest(_ detail: String) -> HTTPFailure { HTTPFailure(400, detail) }

    /// Problem details (RFC 9457).
    var response: HTTPResponse {
        let title = HTTPStatus.reason(status)
        let code = title.lowercased().replacing(" ", with: "_")
        let body =
            #"{"type":"/problems/\#(code)","title":"\#(title)","status":\#(status),"#
            + #""code":"\#(code)","detail":"\#(detail)"}"#
        var response = HTTPResponse(status: status, contentType: "application/problem+json", Array(body.utf8))
        response.headers += [("cache-control", "no-store"), ("x-content-type-options", "nosniff")]
        return response
    }
}

/// Status codes and their phrases (RFC 9110 §15).
public enum HTTPStatus {
    private static let reasons: [Int: String] = [
        100: "Continue", 101: "Switching Protocols", 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content",
        206: "Partial Content", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
        404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict",
        410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large", 414: "URI Too Long",
        415: "Unsupported Media Type",
        416: "Range Not Satisfiable", 417: "Expectation Failed", 421: "Misdirected Request",
        422: "Unprocessable Content",
        426: "Upgrade Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported", 507: "Insufficient Storage",
    ]
    public static func reason(_ status: Int) -> String { reasons[status] ?? "Status \(status)" }
}
