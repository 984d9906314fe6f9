internal import Crypto
internal import Foundation

/// The server's side of a WebSocket's opening handshake (RFC 6455 §4.2).
struct WebSocketHandshake {
    private static let guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    let response: HTTPResponse

    /// Whether a request asks for a WebSocket at all.
    static func isWanted(by request: HTTPRequest) -> Bool {
        HTTPRequest.has("websocket", in: request.headers["upgrade"])
            && HTTPRequest.has("upgrade", in: request.headers["connection"])
    }

    /// - Parameter subprotocols: that are spoken; the first of them that the client offers is taken.
    /// - Throws: `HTTPFailure` 400, 405 or 426 for a handshake that must not succeed.
    init(_ request: HTTPRequest, isVersion10: Bool, subprotocols: Set<String>) throws(HTTPFailure) {
        guard !isVersion10 else { throw .badRequest("a WebSocket needs HTTP/1.1") }
        guard request.method == "GET" else { throw HTTPFailure(405, "a WebSocket is opened with GET") }
        guard request.body.isEmpty else { throw .badRequest("a WebSocket is opened without a body") }
        guard request.headers["sec-websocket-version"] == "13" else {
            throw HTTPFailure(426, "Sec-WebSocket-Version must be 13")
        }
        guard let key = request.headers["sec-websocket-key"], key.utf8.count == 24,
            Data(base64Encoded: key)?.count == 16
        else {
            throw .badRequest("Sec-WebSocket-Key must be 16 bytes in Base64")
        }
        let digest = Insecure.SHA1.hash(data: Data((key + Self.guid).utf8))
        var headers = [
            ("upgrade", "websocket"), ("connection", "Upgrade"),
            ("sec-websocket-accept", Data(digest).base64EncodedString()),
        ]
        let offered =
            request.headers["sec-websocket-protocol"]?.split(separator: ",").map {
                $0.trimmingCharacters(in: .whitespaces)
            } ?? []
        if let chosen = offered.first(where: subprotocols.contains) {
            headers.append(("sec-websocket-protocol", chosen))
        }
        response = HTTPResponse(status: 101, headers: headers)
    }
}
