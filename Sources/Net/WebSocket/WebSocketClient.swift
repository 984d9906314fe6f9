internal import CLibwebsockets
internal import Foundation

/// A `ws:` or `wss:` URL in parts.
public struct WebSocketURL: Sendable, Equatable {
    public var host: String
    public var port: UInt16
    /// Path with query.
    public var path: String
    /// `wss:`: TLS, the certificate verified for `host`.
    public var isSecure: Bool

    public init(host: String, port: UInt16, path: String, isSecure: Bool) {
        self.host = host
        self.port = port
        self.path = path
        self.isSecure = isSecure
    }

    /// nil unless it is a `ws:` or `wss:` URL with a host. A host with a percent sign is refused: no name in the DNS
    /// and no address that we connect to has one, and encoded and decoded it would be two hosts.
    public init?(_ text: String) {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
            ["ws", "wss"].contains(scheme),
            let host = parts.host, !host.isEmpty, HostField.isValid(host.utf8), !host.utf8.contains(UInt8(ascii: "%"))
        else { return nil }
        self.host = host
        isSecure = scheme == "wss"
        guard let port = UInt16(exactly: parts.port ?? (isSecure ? 443 : 80)) else { return nil }
        self.port = port
        let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        self.path = parts.percentEncodedQuery.map { path + "?" + $0 } ?? path
    }

    /// As the field Host has it: the port only where it is not the scheme's own (RFC 9110 §7.2).
    public var authority: String { port == (isSecure ? 443 : 80) ? host : "\(host):\(port)" }
}

extension EventLoop {
    /// Opens a WebSocket. `address` must be resolved already: libwebsockets would resolve on the loop's thread.
    /// The outcome is `onOpen` or `onClose`, after this has returned. On the loop only.
    ///
    /// - Parameter subprotocols: that are offered, the best first. An answer that names another one, or one where none
    ///   was offered, fails the handshake (RFC 6455 §4.1).
    public func connect(
        _ url: WebSocketURL, address: SocketAddress, headers: [(String, String)] = [], subprotocols: [String] = [],
        configuration: WebSocket.Configuration = .init()
    ) -> WebSocket {
        preconditionOnLoop()
        let socket = WebSocket(
            loop: self, handshake: .init(path: url.path, query: [], headers: [:], peer: address.host),
            configuration: configuration, role: .client)
        socket.clientHeaders = headers
        guard let vhost = clientVirtualHost() else {
            post { [box = Confined(socket, to: self)] in box.value.closed("libwebsockets could not make a client") }
            return socket
        }
        // libwebsockets keeps this pointer as the connection's user space; it lives as long as the connection.
        let user = UnsafeMutableRawPointer.allocate(byteCount: LwsUser.size, alignment: 8)
        user.storeBytes(of: nil, as: UnsafeMutableRawPointer?.self)
        LwsUser.set(user, socket)
        let hostHeader = url.authority
        var info = lws_client_connect_info()
        info.context = context
        info.vhost = vhost
        info.port = Int32(address.port)
        info.userdata = user
        // A redirection may lead anywhere, and libwebsockets would resolve its host on this thread.
        info.ssl_connection = Int32(LCCSCF_HTTP_NO_FOLLOW_REDIRECT.rawValue)
        if url.isSecure { info.ssl_connection |= Int32(LCCSCF_USE_SSL.rawValue) }
        info.ietf_version_or_minus_one = -1
        // Copies that live until libwebsockets has made its own.
        let offered = subprotocols.isEmpty ? nil : subprotocols.joined(separator: ", ")
        let texts = [address.host, hostHeader, url.path, lwsProtocolName, offered].map { $0.map { strdup($0) } }
        defer { for case let text?? in texts { free(text) } }
        info.address = UnsafePointer(texts[0] ?? nil)
        info.host = UnsafePointer(texts[1] ?? nil)
        info.origin = info.host
        info.path = UnsafePointer(texts[2] ?? nil)
        info.local_protocol_name = UnsafePointer(texts[3] ?? nil)
        info.protocol = UnsafePointer(texts[4] ?? nil)
        socket.isBeginning = true
        _ = lws_client_connect_via_info(&info)
        socket.isBeginning = false
        if let failure = socket.failedAtOnce {
            post { [box = Confined(socket, to: self)] in box.value.closed(failure) }
        }
        return socket
    }

    private func clientVirtualHost() -> OpaquePointer? {
        if let clientVhost { return clientVhost }
        var info = lws_context_creation_info()
        info.port = CONTEXT_PORT_NO_LISTEN
        info.protocols = makeProtocols()
        info.vhost_name = UnsafePointer(strdup("client"))
        info.options = clws_context_options()
        info.timeout_secs = 10
        info.client_ssl_ca_filepath = caFile.map { UnsafePointer(strdup($0)) }
        clientVhost = lws_create_vhost(context, &info)
        return clientVhost
    }
}
