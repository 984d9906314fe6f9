internal import CLibwebsockets
internal import Foundation
internal import Synchronization

/// An HTTP/1.1 and WebSocket server on one event loop or several.
///
/// One acceptor thread of ours hands each connection to the loop that has the fewest: libwebsockets' own listen sharing
/// does nothing in Debian's build. libwebsockets carries the bytes, TLS included; requests and frames are read by
/// `HTTPRequestParser` and `WebSocketFrameParser`. `@unchecked Sendable`: stored properties are immutable after
/// `start`, but for `listener`, which only `start` and `stop` touch, and handlers are `@Sendable`.
public final class HTTPServer: @unchecked Sendable {
    public struct Configuration: Sendable {
        public var host = "127.0.0.1"
        /// 0: the system chooses, see `port`.
        public var port: UInt16 = 8080
        /// Bytes of a request body; more is 413.
        public var maximumBody = 1 << 20
        /// Paths whose bodies may have more, e.g. for documents.
        public var largerBodies: [String: Int] = [:]
        /// WebSocket subprotocols that are spoken.
        public var subprotocols: Set<String> = []
        /// TLS on every connection; nil: none.
        public var tls: TLS?
        /// How many connections each loop has room for.
        var connections = ConnectionTable.Limits()
        var pace = Pace()
        public init() {}
    }

    /// How long a client may take over an answer as a whole: one that takes a byte now and then would hold it, and its
    /// connection, for ever.
    struct Pace: Sendable {
        var baseMs: UInt64 = 30_000
        /// Bytes a second that are taken at least: 32 kbit/s, a bad mobile line.
        var slowestRate: UInt64 = 4_096

        func limitMs(bytes: Int) -> UInt64 { baseMs + UInt64(clamping: bytes) / max(1, slowestRate) * 1_000 }
    }

    /// Bytes of an answer that the kernel keeps beyond what the client's window has room for. Without a limit it takes
    /// megabytes for a client that reads nothing.
    private static let unsentLimit: Int32 = 65_536

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
    /// Whether a request, whose body has not come yet, has a valid key or login. Its connection is then no stranger's:
    /// it does not give way while a request is in progress (`ConnectionTable`).
    public typealias Proof = @Sendable (HTTPRequest) -> Bool
    /// Decides on an upgrade before it happens: 0 to accept, else the HTTP status to refuse with.
    public typealias UpgradeCheck = @Sendable (HTTPRequest) -> Int
    /// Runs on the socket's loop before the first message; false drops the connection.
    public typealias SocketHandler = @Sendable (WebSocket) -> Bool
    /// Decides on an upgrade in place of `UpgradeCheck` and `SocketHandler` where something must be asked first: a
    /// proxy asks the server behind it.
    public typealias DeferredUpgrade = @Sendable (HTTPRequest) async -> UpgradeDecision
    public enum UpgradeDecision: Sendable {
        /// With this subprotocol; the handler runs as `SocketHandler` does.
        case accept(subprotocol: String?, SocketHandler)
        /// With this HTTP status.
        case refuse(Int)
    }

    let configuration: Configuration
    private let loops: [EventLoop]
    let handler: Handler
    let proves: Proof
    private let upgradeCheck: UpgradeCheck
    private let socketHandler: SocketHandler
    let deferredUpgrade: DeferredUpgrade?
    private var hosts: [ServerLoop] = []
    private var listener: Int32 = -1
    public private(set) var port: UInt16 = 0

    public init(
        _ configuration: Configuration, loops: [EventLoop], handler: @escaping Handler,
        proves: @escaping Proof = { _ in false },
        upgradeCheck: @escaping UpgradeCheck = { _ in 404 }, socketHandler: @escaping SocketHandler = { _ in false },
        deferredUpgrade: DeferredUpgrade? = nil
    ) {
        self.configuration = configuration
        self.loops = loops
        self.handler = handler
        self.proves = proves
        self.upgradeCheck = upgradeCheck
        self.socketHandler = socketHandler
        self.deferredUpgrade = deferredUpgrade
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
            guard let tls = configuration.tls else {
                throw NetError(.unavailable, "libwebsockets could not make a virtual host")
            }
            throw NetError(
                .unavailable,
                "cannot serve TLS with the certificate \(tls.certificate) and the key \(tls.key): "
                    + "do they belong together?"
            )
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

    private static func load(_ host: ServerLoop) -> Int { host.connections.load(ordering: .relaxed) }

    private func makeVhost(on loop: EventLoop, index: Int) {
        var info = lws_context_creation_info()
        info.port = clws_no_listen_server()
        info.protocols = makeProtocols()
        info.vhost_name = UnsafePointer(strdup("server\(index)"))
        info.options = clws_context_options()
        // HTTP/2 would go past our parser.
        info.alpn = UnsafePointer(strdup("http/1.1"))
        if let tls = configuration.tls {
            info.options |= clws_tls_options()
            info.ssl_cert_filepath = UnsafePointer(strdup(tls.certificate))
            info.ssl_private_key_filepath = UnsafePointer(strdup(tls.key))
        }
        guard let vhost = lws_create_vhost(loop.context, &info) else { return }
        hosts.append(ServerLoop(loop: loop, server: self, vhost: vhost))
    }

    private func acceptLoop(_ fd: Int32) {
        while true {
            var name = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let connection = withUnsafeMutablePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.accept(fd, $0, &size) }
            }
            if connection < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                if errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM {
                    usleep(50_000)  // descriptors are exhausted: let some close
                    continue
                }
                return
            }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            // An answer's pieces must not wait until the peer has acknowledged the ones before (40 ms).
            var noDelay: Int32 = 1
            setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
            var unsent = Self.unsentLimit
            setsockopt(
                connection, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &unsent, socklen_t(MemoryLayout<Int32>.size))
            // A loop that stands still would keep the connection waiting with it.
            let turning = hosts.filter { !$0.loop.isStuck }
            guard let host = (turning.isEmpty ? hosts : turning).min(by: { Self.load($0) < Self.load($1) }) else {
                return
            }
            host.connections.add(1, ordering: .relaxed)
            let address = SocketAddress(address: name.sin_addr.s_addr, port: UInt16(bigEndian: name.sin_port))
            host.loop.post { host.adopt(connection, from: address) }
        }
    }

    /// Bytes that the body of a request for this path may have.
    func bodyLimit(of path: String) -> Int { configuration.largerBodies[path] ?? configuration.maximumBody }
    func refusal(of request: HTTPRequest) -> Int { upgradeCheck(request) }
    func accept(_ socket: WebSocket) -> Bool { socketHandler(socket) }
}
