internal import CLibwebsockets
internal import Foundation
internal import Synchronization

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

/// The one protocol of ours that libwebsockets knows: what a connection is for is decided by us.
let lwsProtocolName = "trunkline"

/// Strings and tables handed to libwebsockets live as long as the process.
func makeProtocols() -> UnsafePointer<lws_protocols> {
    let table = UnsafeMutablePointer<lws_protocols>.allocate(capacity: 2)
    var entry = lws_protocols()
    entry.name = UnsafePointer(strdup(lwsProtocolName))
    entry.callback = { lwsCallback($0, $1, $2, $3, $4) }
    entry.per_session_data_size = LwsUser.size
    entry.rx_buffer_size = 16_384
    table.initialize(to: entry)
    (table + 1).initialize(to: lws_protocols())
    return UnsafePointer(table)
}

/// The connection of our server that a libwebsockets connection carries.
private func serverConnection(_ wsi: OpaquePointer?) -> HTTPConnection? {
    guard let wsi, let opaque = lws_get_opaque_user_data(wsi) else { return nil }
    return Unmanaged<HTTPConnection>.fromOpaque(opaque).takeUnretainedValue()
}

/// The subprotocol in the response to our upgrade; nil: none.
private func chosenProtocol(_ wsi: OpaquePointer) -> String? {
    let length = Int(lws_hdr_total_length(wsi, WSI_TOKEN_PROTOCOL))
    guard (1...WebSocket.subprotocolLimit).contains(length) else { return nil }
    var text = [CChar](repeating: 0, count: length + 1)
    let copied = lws_hdr_copy(wsi, &text, Int32(text.count), WSI_TOKEN_PROTOCOL)
    guard copied > 0 else { return nil }
    return String(decoding: text[..<Int(copied)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

func lwsCallback(
    _ wsi: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?, _ length: Int
) -> Int32 {
    switch reason {
    // Bytes or room to write: the media path, so first. Of our server:
    case LWS_CALLBACK_RAW_RX:
        return serverConnection(wsi)?.received(UnsafeMutableRawBufferPointer(start: input, count: length)) ?? -1
    case LWS_CALLBACK_RAW_WRITEABLE: return serverConnection(wsi)?.writable() ?? -1
    // ... and of our client's WebSockets, whose frames libwebsockets reads.
    case LWS_CALLBACK_CLIENT_RECEIVE:
        guard let socket = LwsUser.socket(user) else { return -1 }
        socket.loop.begins(.clients)
        return socket.received(input, length)
    case LWS_CALLBACK_CLIENT_WRITEABLE:
        guard let socket = LwsUser.socket(user) else { return 0 }
        socket.loop.begins(.clients)
        return socket.writable()
    case LWS_CALLBACK_WSI_DESTROY:
        guard let wsi, let connection = serverConnection(wsi) else {
            // A client's connection that libwebsockets gives up without a word of its own.
            (LwsUser.take(user) as? WebSocket)?.closed("the connection was given up")
            return 0
        }
        let held = Unmanaged.passUnretained(connection)
        lws_set_opaque_user_data(wsi, nil)
        connection.ended()
        held.release()
        return 0

    // The response's header is thrown away before the connection counts as established.
    case LWS_CALLBACK_CLIENT_FILTER_PRE_ESTABLISH:
        if let wsi, let socket = LwsUser.object(user, as: WebSocket.self) { socket.subprotocol = chosenProtocol(wsi) }
        return 0
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        guard let wsi, let socket = LwsUser.object(user, as: WebSocket.self) else { return -1 }
        var noDelay: Int32 = 1
        setsockopt(
            lws_get_socket_fd(wsi), Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
        socket.opened(wsi)
        return 0
    case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
        LwsUser.object(user, as: WebSocket.self)?.ponged()
        return 0
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        guard let socket = LwsUser.object(user, as: WebSocket.self), let input, length >= 2 else { return 0 }
        let bytes = UnsafeRawBufferPointer(start: input, count: length)
        socket.peerClosed(
            code: Int(bytes[0]) << 8 | Int(bytes[1]), reason: String(decoding: bytes.dropFirst(2), as: UTF8.self))
        return 0
    case LWS_CALLBACK_CLIENT_CLOSED:
        (LwsUser.take(user) as? WebSocket)?.closed()
        return 0
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        let text = input.map { String(cString: $0.assumingMemoryBound(to: CChar.self)) } ?? "connection failed"
        let socket = LwsUser.take(user) as? WebSocket
        if let wsi {
            let status = lws_http_client_http_response(wsi)
            // 101: what is wrong with the upgrade is something else.
            if status > 0, status != 101 { socket?.refusedStatus = Int(status) }
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

    default:
        return lws_callback_http_dummy(wsi, reason, user, input, length)
    }
}
