internal import Foundation
internal import Net
internal import Problems

/// The static dashboard: files of `web/`, nothing from outside.
struct Dashboard: Sendable {
    static let contentSecurityPolicy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
        + "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

    private static let types = [
        "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
        "svg": "image/svg+xml", "png": "image/png", "json": "application/json",
        "webmanifest": "application/manifest+json",
    ]

    let root: String?

    func page() -> HTTPResponse {
        file(HTTPRequest(method: "GET", path: "/"), named: "index.html")
    }

    func file(_ request: HTTPRequest, named: String? = nil) -> HTTPResponse {
        let name = named ?? request.parameters["path"] ?? ""
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        // No part may climb out or be hidden.
        guard let root, !parts.isEmpty,
            parts.allSatisfy({ !$0.isEmpty && !$0.hasPrefix(".") && !$0.contains("\\") && !$0.contains("\0") }),
            let type = Self.types[name.split(separator: ".").last.map(String.init) ?? ""],
            var response = HTTPResponse.file(path: root + "/" + name, contentType: type, request: request)
        else {
            return APIError.notFound(
                root == nil ? .noWebRoot : .noFile
            ).response
        }
        response.headers.append(("cache-control", "no-cache"))
        return response
    }
}
