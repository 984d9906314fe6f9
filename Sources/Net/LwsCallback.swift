internal import CLibwebsockets
internal import Foundation
internal import Synchronization

/// What a virtual host hangs its connections on.
final class VirtualHost: Sendable {
    let loop: EventLoop
    let server: HTTPServer?
    /// Connections of this host: counted up by the acceptor, down where they end.
    let connections = Atomic<Int>(0)
    init(loop: EventLoop, server: HTTPServer?) {
        self.loop = loop
        self.server = server
    }
}

/// What a libwebsockets connection carries in its user space: one of ours, retained.
enum LwsUser {
    /// Each connection's user space holds one pointer.
    static let size = MemoryLayout<UnsafeMutableRawPointer?>.size

    static func object<Object: AnyObject>(_ user: UnsafeMutableRawPointer?, as type: Object.Type) -> Object? {
        guard let user, let pointer = user.load(as: UnsafeMutableRawPointer?.self) else { return nil }
        return Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue() as? Object
    }

    /// The WebSocket of a connection, in callbacks that only WebSockets get: their user space holds nothing else.
    static func socket(_ user: UnsafeMutableRawPointer?) -> WebSocket? {
        guard let user, let pointer = user.load(as: UnsafeMutableRawPointer?.self) else { return nil }
        return unsafeDowncast(Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue(), to: WebSocket.self)
    }

    static func set(_ user: UnsafeMutableRawPointer, _ object: AnyObject) {
        take(user)
        user.storeBytes(of: Unmanaged.passRetained(object).toOpaque(), as: UnsafeMutableRawPointer.self)
    }

    @discardableResult
    static func take(_ user: UnsafeMutableRawPointer?) -> AnyObject? {
        guard let user, let pointer = user.load(as: UnsafeMutableRawPointer?.self) else { return nil }
        user.storeBytes(of: nil, as: UnsafeMutableRawPointer?.self)
        return Unmanaged<AnyObject>.fromOpaque(pointer).takeRetainedValue()
    }
}

/// Subprotocols a carrier may ask for; libwebsockets drops a connection that asks for an unknown one.
let webSocketSubprotocols = ["http", "audio.twilio.com", "audio.jambonz.org", "audio.drachtio.org"]

/// Headers libwebsockets has no token for.
private let customHeaders = [
    "x-twilio-signature", "x-requested-with", "idempotency-key", "sec-fetch-site", "x-trunkline-token",
]

/// Strings and tables handed to libwebsockets live as long as the process.
func makeProtocols() -> UnsafePointer<lws_protocols> {
    let table = UnsafeMutablePointer<lws_protocols>.allocate(capacity: webSocketSubprotocols.count + 1)
    for (index, name) in webSocketSubprotocols.enumerated() {
        var entry = lws_protocols()
        entry.name = UnsafePointer(strdup(name))
        entry.callback = { lwsCallback($0, $1, $2, $3, $4) }
        entry.per_session_data_size = LwsUser.size
        entry.rx_buffer_size = 16_384
        (table + index).initialize(to: entry)
    }
    (table + webSocketSubprotocols.count).initialize(to: lws_protocols())
    return UnsafePointer(table)
}

private func virtualHost(_ wsi: OpaquePointer) -> VirtualHost? {
    guard let vhost = lws_get_vhost(wsi), let user = lws_get_vhost_user(vhost) else { return nil }
    return Unmanaged<VirtualHost>.fromOpaque(user).takeUnretainedValue()
}

private func copyHeader(_ wsi: OpaquePointer, _ token: lws_token_indexes) -> String? {
    let length = lws_hdr_total_length(wsi, token)
    guard length > 0 else { return nil }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(length) + 1) { buffer in
        guard let base = buffer.baseAddress, lws_hdr_copy(wsi, base, length + 1, token) >= 0 else { return nil }
        return String(decoding: UnsafeRawBufferPointer(start: base, count: Int(length)), as: UTF8.self)
    }
}

/// Method, path, decoded query, headers. They are gone after the upgrade, so they are copied at once.
private func readHead(_ wsi: OpaquePointer) -> HTTPRequest {
    var pointer: UnsafeMutablePointer<CChar>?
    var length: Int32 = 0
    let method = lws_http_get_uri_and_method(wsi, &pointer, &length)
    let methods = ["GET", "POST", "OPTIONS", "PUT", "PATCH", "DELETE", "CONNECT", "HEAD"]
    let path = pointer.map { String(decoding: UnsafeRawBufferPointer(start: $0, count: Int(length)), as: UTF8.self) } ?? "/"
    var query: [(name: String, value: String)] = []
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4_096) { buffer in
        // libwebsockets splits the query at '&' and percent-decodes it.
        for index in 0..<Int32(64) {
            let count = lws_hdr_copy_fragment(wsi, buffer.baseAddress, 4_096, WSI_TOKEN_HTTP_URI_ARGS, index)
            if count < 0 { break }
            let item = String(decoding: UnsafeRawBufferPointer(start: buffer.baseAddress, count: Int(count)), as: UTF8.self)
            if count == 0, index > 0 { break }
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            // A "?" with nothing behind it is told as "/".
            guard !pair[0].isEmpty, pair[0] != "/" else { continue }
            query.append((String(pair[0]), pair.count > 1 ? String(pair[1]) : ""))
        }
    }
    var headers: [String: String] = [:]
    let wanted: [(lws_token_indexes, String)] = [
        (WSI_TOKEN_HOST, "host"), (WSI_TOKEN_HTTP_CONTENT_LENGTH, "content-length"),
        (WSI_TOKEN_HTTP_CONTENT_TYPE, "content-type"), (WSI_TOKEN_HTTP_AUTHORIZATION, "authorization"),
        (WSI_TOKEN_HTTP_COOKIE, "cookie"), (WSI_TOKEN_HTTP_RANGE, "range"), (WSI_TOKEN_ORIGIN, "origin"),
        (WSI_TOKEN_HTTP_TRANSFER_ENCODING, "transfer-encoding"), (WSI_TOKEN_HTTP_ACCEPT, "accept"),
        (WSI_TOKEN_HTTP_IF_NONE_MATCH, "if-none-match"), (WSI_TOKEN_HTTP_USER_AGENT, "user-agent"),
        (WSI_TOKEN_HTTP_REFERER, "referer"), (WSI_TOKEN_PROTOCOL, "sec-websocket-protocol"),
        (WSI_TOKEN_HTTP_ACCEPT_LANGUAGE, "accept-language"), (WSI_TOKEN_X_FORWARDED_FOR, "x-forwarded-for"),
    ]
    for (token, name) in wanted { headers[name] = copyHeader(wsi, token) }
    for name in customHeaders {
        let key = name + ":"
        let length = lws_hdr_custom_length(wsi, key, Int32(key.utf8.count))
        guard length > 0 else { continue }
        headers[name] = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(length) + 1) { buffer in
            guard let base = buffer.baseAddress, lws_hdr_custom_copy(wsi, base, length + 1, key, Int32(key.utf8.count)) >= 0
            else { return nil }
            return String(decoding: UnsafeRawBufferPointer(start: base, count: Int(length)), as: UTF8.self)
        }
    }
    var peer = [CChar](repeating: 0, count: 64)
    _ = lws_get_peer_simple(wsi, &peer, peer.count)
    return HTTPRequest(
        method: method >= 0 && Int(method) < methods.count ? methods[Int(method)] : "?",
        path: path.hasPrefix("/") ? path : "/" + path, query: query, headers: headers,
        peer: String(decoding: peer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
}

/// Answers an upgrade with a status. (`lws_return_http_status` answers in HTTP/1.0 here, which some clients do not take.)
private func refuse(_ wsi: OpaquePointer, _ status: Int) -> Bool {
    let text = Array(
        "HTTP/1.1 \(status) \(status == 404 ? "Not Found" : status == 401 ? "Unauthorized" : "Forbidden")\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            .utf8)
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: clws_pre() + text.count) { buffer in
        guard let base = buffer.baseAddress else { return false }
        (base + clws_pre()).update(from: text, count: text.count)
        return lws_write(wsi, base + clws_pre(), text.count, LWS_WRITE_HTTP) == text.count
    }
}

func lwsCallback(
    _ wsi: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?, _ length: Int
) -> Int32 {
    switch reason {
    // A message or room to write: the media path, so first.
    case LWS_CALLBACK_RECEIVE, LWS_CALLBACK_CLIENT_RECEIVE:
        return LwsUser.socket(user)?.received(input, length) ?? -1
    case LWS_CALLBACK_SERVER_WRITEABLE, LWS_CALLBACK_CLIENT_WRITEABLE:
        return LwsUser.socket(user)?.writable() ?? 0

    // WebSocket server: ask the server before the upgrade, while a status can still be sent.
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        guard let wsi, let server = virtualHost(wsi)?.server else { return -1 }
        let head = readHead(wsi)
        let status = server.refusal(of: head)
        guard status != 0 else { return 0 }
        return refuse(wsi, status) ? 1 : -1
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        guard let wsi, let user, let host = virtualHost(wsi), let server = host.server else { return -1 }
        let head = readHead(wsi)
        let socket = WebSocket(
            loop: host.loop,
            handshake: .init(path: head.path, query: head.query, headers: head.headers, peer: head.peer))
        guard server.accept(socket) else { return -1 }
        LwsUser.set(user, socket)
        return 0
    case LWS_CALLBACK_ESTABLISHED, LWS_CALLBACK_CLIENT_ESTABLISHED:
        guard let wsi, let socket = LwsUser.object(user, as: WebSocket.self) else { return -1 }
        var noDelay: Int32 = 1
        setsockopt(lws_get_socket_fd(wsi), Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
        socket.opened(wsi)
        return 0
    case LWS_CALLBACK_RECEIVE_PONG, LWS_CALLBACK_CLIENT_RECEIVE_PONG:
        LwsUser.object(user, as: WebSocket.self)?.ponged()
        return 0
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        guard let socket = LwsUser.object(user, as: WebSocket.self), let input, length >= 2 else { return 0 }
        let bytes = UnsafeRawBufferPointer(start: input, count: length)
        socket.peerClosed(
            code: Int(bytes[0]) << 8 | Int(bytes[1]), reason: String(decoding: bytes.dropFirst(2), as: UTF8.self))
        return 0
    case LWS_CALLBACK_CLOSED, LWS_CALLBACK_CLIENT_CLOSED:
        (LwsUser.take(user) as? WebSocket)?.closed()
        return 0
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        let text = input.map { String(cString: $0.assumingMemoryBound(to: CChar.self)) } ?? "connection failed"
        let socket = LwsUser.take(user) as? WebSocket
        if let wsi {
            let status = lws_http_client_http_response(wsi)
            if status > 0 { socket?.refusedStatus = Int(status) }
        }
        socket?.closed(text)
        return 0
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
        guard let wsi, let input, let socket = LwsUser.object(user, as: WebSocket.self) else { return 0 }
        let cursor = input.assumingMemoryBound(to: UnsafeMutablePointer<UInt8>?.self)
        guard let start = cursor.pointee else { return -1 }
        for (name, value) in socket.clientHeaders {
            let failed = value.withCString { text in
                lws_add_http_header_by_name(
                    wsi, name.lowercased() + ":", UnsafeRawPointer(text).assumingMemoryBound(to: UInt8.self),
                    Int32(value.utf8.count), cursor, start + length)
            }
            if failed != 0 { return -1 }
        }
        return 0

    case LWS_CALLBACK_WSI_DESTROY:
        if let wsi, let host = virtualHost(wsi), host.server != nil { host.connections.subtract(1, ordering: .relaxed) }
        return 0

    // HTTP server.
    case LWS_CALLBACK_HTTP:
        guard let wsi, let user, let host = virtualHost(wsi), let server = host.server else { return -1 }
        let exchange = HTTPExchange(loop: host.loop, server: server, wsi: wsi, request: readHead(wsi))
        LwsUser.set(user, exchange)
        return exchange.begin()
    case LWS_CALLBACK_HTTP_BODY:
        return LwsUser.object(user, as: HTTPExchange.self)?.body(UnsafeRawBufferPointer(start: input, count: length)) ?? -1
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        return LwsUser.object(user, as: HTTPExchange.self)?.bodyComplete() ?? -1
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return LwsUser.object(user, as: HTTPExchange.self)?.writable() ?? 0
    case LWS_CALLBACK_CLOSED_HTTP, LWS_CALLBACK_HTTP_DROP_PROTOCOL:
        (LwsUser.take(user) as? HTTPExchange)?.closed()
        return 0
    default:
        return lws_callback_http_dummy(wsi, reason, user, input, length)
    }
}
