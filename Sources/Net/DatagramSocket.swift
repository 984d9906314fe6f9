internal import CLibwebsockets
internal import Foundation

/// An IPv4 address and port.
public struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
    /// Network byte order.
    public let address: UInt32
    public let port: UInt16

    public init(address: UInt32, port: UInt16) {
        self.address = address
        self.port = port
    }

    /// Dotted-quad only: names are resolved elsewhere, never on a loop.
    public init?(_ host: String, port: UInt16) {
        var parsed = in_addr()
        guard inet_pton(AF_INET, host, &parsed) == 1 else { return nil }
        self.init(address: parsed.s_addr, port: port)
    }

    public var host: String {
        let a = UInt32(bigEndian: address)
        return "\(a >> 24).\((a >> 16) & 255).\((a >> 8) & 255).\(a & 255)"
    }
    public var description: String { "\(host):\(port)" }

    var sockaddr: sockaddr_in {
        var value = sockaddr_in()
        value.sin_family = sa_family_t(AF_INET)
        value.sin_port = port.bigEndian
        value.sin_addr.s_addr = address
        return value
    }

    /// Whether a host of a URL is this machine for certain: a name that only begins like a loopback address may lead
    /// anywhere.
    public static func isLoopback(_ host: String) -> Bool {
        ["localhost", "::1", "[::1]"].contains(host) || host.hasPrefix("127.") && SocketAddress(host, port: 0) != nil
    }

    /// Whether it lies on the public internet (RFC 6890).
    public var isPublic: Bool { PublicAddress.contains(UInt32(bigEndian: address)) }

    /// Whether a TCP (or UDP) socket can be bound here now.
    public func canBind(stream: Bool) -> Bool {
        let fd = socket(AF_INET, Int32((stream ? SOCK_STREAM : SOCK_DGRAM).rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard fd >= 0 else { return false }
        defer { close(fd) }
        var one: Int32 = 1
        if stream { setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size)) }
        var name = sockaddr
        return withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: Glibc.sockaddr.self, capacity: 1) {
                bind(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        } == 0
    }

    /// Resolves a host name to IPv4 on the calling thread; keep it off the loops.
    public static func resolve(_ host: String, port: UInt16) throws(NetError) -> SocketAddress {
        if let literal = SocketAddress(host, port: port) { return literal }
        var hints = addrinfo()
        hints.ai_family = AF_INET
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var result: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &result)
        defer { if let result { freeaddrinfo(result) } }
        guard code == 0, let found = result?.pointee.ai_addr else {
            throw NetError(
                .cannotResolve, "cannot resolve the host name \(host): \(String(cString: gai_strerror(code)))")
        }
        let value = UnsafeRawPointer(found).assumingMemoryBound(to: sockaddr_in.self).pointee
        return SocketAddress(address: value.sin_addr.s_addr, port: port)
    }
}

/// Where datagrams are sent from. Confined to its loop.
public protocol DatagramPort: AnyObject {
    /// False when it was not taken; voice is not retried.
    @discardableResult
    func send(_ bytes: UnsafeRawBufferPointer, to address: SocketAddress) -> Bool
    func close()
}

/// Opens ports for datagrams: the system's UDP sockets, or a network within a test.
public protocol DatagramNetwork: Sendable {
    /// On the loop only.
    /// - Throws: `NetError.addressInUse` when another socket has the address.
    func open(
        on loop: EventLoop, bind address: SocketAddress,
        onDatagram: @escaping (UnsafeRawBufferPointer, SocketAddress) -> Void
    ) throws(NetError) -> any DatagramPort
}

/// The system's UDP.
public struct SystemDatagrams: DatagramNetwork {
    public init() {}
    public func open(
        on loop: EventLoop, bind address: SocketAddress,
        onDatagram: @escaping (UnsafeRawBufferPointer, SocketAddress) -> Void
    ) throws(NetError) -> any DatagramPort { try DatagramSocket(loop: loop, bind: address, onDatagram: onDatagram) }
}

/// A UDP socket on an event loop. Confined to its loop, where it is also released.
public final class DatagramSocket: DatagramPort {
    /// Datagrams read in one go before other sockets get their turn.
    static let batchLimit = 64
    /// Bytes; larger datagrams are cut, which no RTP packet is.
    static let datagramLimit = 2_048

    public let loop: EventLoop
    public let local: SocketAddress
    private var descriptor: Int32
    private let watcher = UnsafeMutablePointer<ev_io>.allocate(capacity: 1)
    private let buffer = UnsafeMutableRawPointer.allocate(byteCount: DatagramSocket.datagramLimit, alignment: 8)
    private let onDatagram: (UnsafeRawBufferPointer, SocketAddress) -> Void

    /// Binds; port 0 lets the system choose. On the loop only.
    public init(
        loop: EventLoop, bind address: SocketAddress,
        onDatagram: @escaping (UnsafeRawBufferPointer, SocketAddress) -> Void
    ) throws(NetError) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.onDatagram = onDatagram
        let fd = socket(
            AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard fd >= 0 else {
            throw NetError(.unavailable, "cannot open a UDP socket: \(String(cString: strerror(errno)))")
        }
        var name = address.sockaddr
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(fd, $0, size) }
        }
        guard bound == 0 else {
            let code: NetError.Code = errno == EADDRINUSE ? .addressInUse : .cannotBind
            let message = "cannot bind UDP \(address): \(String(cString: strerror(errno)))"
            Glibc.close(fd)
            throw NetError(code, message)
        }
        var actual = sockaddr_in()
        var actualSize = size
        _ = withUnsafeMutablePointer(to: &actual) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(fd, $0, &actualSize) }
        }
        // Expedited Forwarding, as RFC 3246 and every PBX mark voice.
        var trafficClass: Int32 = 184
        setsockopt(fd, Int32(IPPROTO_IP), IP_TOS, &trafficClass, socklen_t(MemoryLayout<Int32>.size))
        local = SocketAddress(address: actual.sin_addr.s_addr, port: UInt16(bigEndian: actual.sin_port))
        descriptor = fd
        cev_io_start(
            loop.ev, watcher,
            { _, watcher, _ in
                guard let data = watcher?.pointee.data else { return }
                Unmanaged<DatagramSocket>.fromOpaque(data).takeUnretainedValue().readable()
            }, fd, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        if descriptor >= 0 {
            // It should have been closed: a watcher would be left behind that points here, and a port be taken for
            // ever.
            ev_io_stop(loop.ev, watcher)
            Glibc.close(descriptor)
        }
        watcher.deallocate()
        buffer.deallocate()
    }

    /// False when the system would not take it; voice is not retried.
    @discardableResult
    public func send(_ bytes: UnsafeRawBufferPointer, to address: SocketAddress) -> Bool {
        guard descriptor >= 0, let base = bytes.baseAddress else { return false }
        var name = address.sockaddr
        let sent = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(
                    descriptor, base, bytes.count, Int32(MSG_DONTWAIT), $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return sent == bytes.count
    }

    public func close() {
        loop.preconditionOnLoop()
        guard descriptor >= 0 else { return }
        ev_io_stop(loop.ev, watcher)
        Glibc.close(descriptor)
        descriptor = -1
    }

    private func readable() {
        loop.begins(.datagrams)
        for _ in 0..<Self.batchLimit {
            guard descriptor >= 0 else { return }
            var from = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let count = withUnsafeMutablePointer(to: &from) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(descriptor, buffer, Self.datagramLimit, Int32(MSG_DONTWAIT), $0, &size)
                }
            }
            guard count > 0 else { return }
            let source = SocketAddress(address: from.sin_addr.s_addr, port: UInt16(bigEndian: from.sin_port))
            onDatagram(UnsafeRawBufferPointer(start: buffer, count: count), source)
        }
    }
}
