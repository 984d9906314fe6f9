internal import CLibwebsockets
internal import Foundation
internal import Synchronization

/// An HTTP/1.1 and WebSocket server on one event loop or several.
///
/// One acceptor thread of ours hands each connection to the loop that has the fewest: libwebsockets' own listen sharing
/// does nothing in Debian's build. `@unchecked Sendable`: stored properties are immutable after `start`, but for
/// `listener`, which only `start` and `stop` touch, and handlers are `@Sendable`.
public final class HTTPServer: @unchecked Sendable {
    public struct Configuration: Sendable {
        public var host = "127.0.0.1"
        /// 0: the system chooses, see `port`.
        public var port: UInt16 = 8080
        /// Bytes of a request body; more is 413.
        public var maximumBody = 1 << 20
        /// Paths whose bodies may have more, e.g. for documents.
        public var largerBodies: [String: Int] = [:]
        /// TLS on every connection; nil: none.
        public var tls: TLS?
        /// A request whose handler has not answered after this is dropped, seconds.
        public var idleTimeoutSeconds: UInt32 = 30
        public init() {}
    }

    /// Certificate chain and private key, PEM files.
    public struct TLS: Sendable, Equatable {
        public var certificate: String
        public var key: String
        public init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    public typealias Handler = @Sendable (HTTPRequest) async -> HTTPResponse
    /// Decides on an upgrade before it happens: 0 to accept, else the HTTP status to refuse with.
    public typealias UpgradeCheck = @Sendable (HTTPRequest) -> Int
    /// Runs on the socket's loop before the first message; false drops the connection.
    public typealias SocketHandler = @Sendable (WebSocket) -> Bool

    let configuration: Configuration
    private let loops: [EventLoop]
    let handler: Handler
    private let upgradeCheck: UpgradeCheck
    private let socketHandler: SocketHandler
    private var hosts: [(host: VirtualHost, vhost: UInt, loop: EventLoop)] = []
    private var listener: Int32 = -1
    public private(set) var port: UInt16 = 0

    public init(
        _ configuration: Configuration, loops: [EventLoop], handler: @escaping Handler,
        upgradeCheck: @escaping UpgradeCheck = { _ in 404 }, socketHandler: @escaping SocketHandler = { _ in false }
    ) {
        self.configuration = configuration
        self.loops = loops
        self.handler = handler
        self.upgradeCheck = upgradeCheck
        self.socketHandler = socketHandler
    }

    /// Binds and begins to accept. Call before the loops start or from a loop-free thread.
    public func start() throws(NetError) {
        guard let address = SocketAddress(configuration.host, port: configuration.port) else {
            throw NetError(.cannotBind, "the HTTP host must be an IPv4 address, not \(configuration.host)")
        }
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var one: Int32 = 1
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        var name = address.sockaddr
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(fd, $0, size) }
        }
        guard bound == 0, listen(fd, 1_024) == 0 else {
            let reason = String(cString: strerror(errno))
            let code: NetError.Code = errno == EADDRINUSE ? .addressInUse : .cannotBind
            close(fd)
            throw NetError(code, "cannot listen for HTTP on \(address): \(reason)")
        }
        var actual = sockaddr_in()
        _ = withUnsafeMutablePointer(to: &actual) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(fd, $0, &size) }
        }
        listener = fd
        port = UInt16(bigEndian: actual.sin_port)
        let ready = DispatchSemaphore(value: 0)
        for (index, loop) in loops.enumerated() {
            loop.post { [self] in
                makeVhost(on: loop, index: index)
                ready.signal()
            }
            ready.wait()
        }
        guard hosts.count == loops.count else {
            close(fd)
            guard let tls = configuration.tls else { throw NetError(.unavailable, "libwebsockets could not make a virtual host") }
            throw NetError(.unavailable, "cannot serve TLS with the certificate \(tls.certificate) and the key \(tls.key): do they belong together?")
        }
        let thread = Thread { [self] in acceptLoop(fd) }
        thread.name = "acceptor"
        thread.start()
    }

    /// Stops accepting; connections live on until their loop stops.
    public func stop() {
        guard listener >= 0 else { return }
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        listener = -1
    }

    /// Reads certificate and key again; connections that are open keep theirs.
    public func reloadCertificate() {
        guard let tls = configuration.tls else { return }
        for loop in loops {
            loop.post { _ = lws_tls_cert_updated(loop.context, tls.certificate, tls.key, nil, 0, nil, 0) }
        }
    }

    private static func load(_ host: VirtualHost) -> Int { host.connections.load(ordering: .relaxed) }

    private func makeVhost(on loop: EventLoop, index: Int) {
        var info = lws_context_creation_info()
        info.port = clws_no_listen_server()
        info.protocols = makeProtocols()
        info.vhost_name = UnsafePointer(strdup("server\(index)"))
        info.options = clws_context_options()
        let host = VirtualHost(loop: loop, server: self)
        info.user = Unmanaged.passRetained(host).toOpaque()
        info.keepalive_timeout = 60
        info.timeout_secs = configuration.idleTimeoutSeconds
        if let tls = configuration.tls {
            info.options |= clws_tls_options()
            info.ssl_cert_filepath = UnsafePointer(strdup(tls.certificate))
            info.ssl_private_key_filepath = UnsafePointer(strdup(tls.key))
        }
        guard let vhost = lws_create_vhost(loop.context, &info) else { return }
        hosts.append((host, UInt(bitPattern: vhost), loop))
    }

    private func acceptLoop(_ fd: Int32) {
        while true {
            let connection = Glibc.accept(fd, nil, nil)
            if connection < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                if errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM {
                    usleep(50_000)  // descriptors are exhausted: let some close
                    continue
                }
                return
            }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            // Head and body are two writes: the second must not wait until the peer has acknowledged the first (40 ms).
            var noDelay: Int32 = 1
            setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
            guard let place = hosts.min(by: { Self.load($0.host) < Self.load($1.host) }) else { return }
            let (host, vhost) = (place.host, place.vhost)
            host.connections.add(1, ordering: .relaxed)
            // What it cannot take libwebsockets closes itself; closed once more, the number could be another thread's by then.
            place.loop.post { _ = lws_adopt_socket_vhost(OpaquePointer(bitPattern: vhost), connection) }
        }
    }

    func refusal(of request: HTTPRequest) -> Int { upgradeCheck(request) }
    func accept(_ socket: WebSocket) -> Bool { socketHandler(socket) }
}

/// One request and its response. Confined to its loop.
final class HTTPExchange {
    /// Bytes read from a file at a time.
    private static let chunk = 16_384

    private let loop: EventLoop
    private let server: HTTPServer
    private var wsi: OpaquePointer?
    private var request: HTTPRequest
    private var declaredLength = 0
    /// Bytes of unknown length follow the head.
    private var isBodyUnread = false
    private var response: HTTPResponse?
    private var sent = -1
    private var isDispatched = false
    private var task: Task<Void, Never>?

    init(loop: EventLoop, server: HTTPServer, wsi: OpaquePointer, request: HTTPRequest) {
        self.loop = loop
        self.server = server
        self.wsi = wsi
        self.request = request
    }

    func begin() -> Int32 {
        // libwebsockets cannot read a chunked request body.
        if request.headers["transfer-encoding"] != nil {
            isBodyUnread = true
            respond(
                .init(
                    status: 411, contentType: "application/problem+json", Self.problem(411, "Length Required", "send the body with a Content-Length"))
            )
            return 0
        }
        let header = request.headers["content-length"] ?? "0"
        guard let length = Int(header), length >= 0 else {
            isBodyUnread = true
            respond(.init(status: 400, contentType: "application/problem+json", Self.problem(400, "Bad Request", "Content-Length is not a number")))
            return 0
        }
        declaredLength = length
        if length > maximumBody {
            respond(
                .init(
                    status: 413, contentType: "application/problem+json",
                    Self.problem(413, "Content Too Large", "the body is larger than \(maximumBody) bytes")))
            return 0
        }
        if length == 0 { dispatch() }
        return 0
    }

    private var maximumBody: Int { server.configuration.largerBodies[request.path] ?? server.configuration.maximumBody }

    func body(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        if response != nil { return 0 }  // refused; swallow
        if request.body.count + bytes.count > maximumBody { return -1 }
        request.body.append(contentsOf: bytes)
        return 0
    }

    func bodyComplete() -> Int32 {
        if response == nil { dispatch() }
        return 0
    }

    private func dispatch() {
        guard !isDispatched else { return }
        isDispatched = true
        if let wsi { lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0) }
        let handler = server.handler
        let request = request
        let loop = loop
        let box = Confined(self, to: loop)
        task = Task {
            let response = await handler(request)
            loop.post { box.value.respond(response) }
        }
    }

    private func respond(_ response: HTTPResponse) {
        guard let wsi, self.response == nil else { return }
        self.response = response
        lws_callback_on_writable(wsi)
    }

    func writable() -> Int32 {
        guard let wsi, let response else { return 0 }
        if sent < 0 { return writeHead(wsi, response) }
        return writeBody(wsi, response)
    }

    private func writeHead(_ wsi: OpaquePointer, _ response: HTTPResponse) -> Int32 {
        let capacity = 8_192
        let pre = clws_pre()
        let refusesBody = response.status == 413 || response.status == 411
        let written: Int32 = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: pre + capacity) { buffer in
            guard let base = buffer.baseAddress else { return -1 }
            let start = base + pre
            let end = start + capacity
            var cursor: UnsafeMutablePointer<UInt8>? = start
            guard lws_add_http_header_status(wsi, UInt32(response.status), &cursor, end) == 0,
                lws_add_http_header_content_length(wsi, lws_filepos_t(response.length), &cursor, end) == 0
            else { return -1 }
            for (name, value) in response.headers {
                // A header value with a line break would begin a header of its own.
                guard !value.utf8.contains(where: { $0 < 0x20 && $0 != 9 }) else { continue }
                let failed = value.withCString { text in
                    lws_add_http_header_by_name(
                        wsi, name.lowercased() + ":", UnsafeRawPointer(text).assumingMemoryBound(to: UInt8.self),
                        Int32(value.utf8.count), &cursor, end)
                }
                if failed != 0 { return -1 }
            }
            if refusesBody {
                _ = "close".withCString { text in
                    lws_add_http_header_by_name(
                        wsi, "connection:", UnsafeRawPointer(text).assumingMemoryBound(to: UInt8.self), 5, &cursor, end)
                }
            }
            return lws_finalize_write_http_header(wsi, start, &cursor, end)
        }
        if written != 0 { return -1 }
        sent = 0
        if response.length == 0 || request.method == "HEAD" { return complete(wsi) }
        lws_callback_on_writable(wsi)
        return 0
    }

    private func writeBody(_ wsi: OpaquePointer, _ response: HTTPResponse) -> Int32 {
        let count = min(Self.chunk, response.length - sent)
        guard count > 0 else { return complete(wsi) }
        let pre = clws_pre()
        let isLast = sent + count == response.length
        let written: Int32 = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: pre + count) { buffer in
            guard let base = buffer.baseAddress else { return -1 }
            switch response.body {
            case .bytes(let bytes):
                bytes.withUnsafeBufferPointer { source in
                    _ = memcpy(base + pre, source.baseAddress! + sent, count)
                }
            case .part(let source, let range):
                let start = range.lowerBound + sent
                guard let bytes = try? source.read(start..<start + count), bytes.count == count else { return -1 }
                (base + pre).update(from: bytes, count: count)
            }
            return lws_write(wsi, base + pre, count, isLast ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP)
        }
        if written < 0 { return -1 }
        sent += count
        if isLast { return complete(wsi) }
        lws_callback_on_writable(wsi)
        return 0
    }

    private func complete(_ wsi: OpaquePointer) -> Int32 {
        response = nil
        // The rest of a refused body is still on the wire: this connection cannot be used again.
        if isBodyUnread || declaredLength > request.body.count { return -1 }
        return lws_http_transaction_completed(wsi) != 0 ? -1 : 0
    }

    func closed() {
        wsi = nil
        task?.cancel()
    }

    private static func problem(_ status: Int, _ title: String, _ detail: String) -> [UInt8] {
        Array(#"{"type":"about:blank","title":"\#(title)","status":\#(status),"detail":"\#(detail)"}"#.utf8)
    }
}
