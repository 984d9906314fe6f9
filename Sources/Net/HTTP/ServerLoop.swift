internal import CLibwebsockets
internal import Foundation
internal import Synchronization

/// What a server keeps on one of its loops: a virtual host of libwebsockets, and the connections that it was given.
///
/// `@unchecked Sendable` is safe: `connections` is atomic, and everything else is touched on the loop only, which
/// `preconditionOnLoop` checks at each entry.
final class ServerLoop: @unchecked Sendable {
    let loop: EventLoop
    private let server: HTTPServer
    private let vhost: OpaquePointer
    /// Connections on this loop: counted up by the acceptor, down where they end.
    let connections = Atomic<Int>(0)
    var table: ConnectionTable
    private var live: [ConnectionTable.ID: HTTPConnection] = [:]
    private var lastID: ConnectionTable.ID = 0
    private var ticker: EventLoop.Ticker?
    /// Bytes of requests that are not complete and of WebSockets that are unproven, of all connections together; more,
    /// and those that have waited longest for their rest give way, unproven ones first.
    static let heldLimit = 64 << 20
    private var heldBytes = 0

    init(loop: EventLoop, server: HTTPServer, vhost: OpaquePointer) {
        self.loop = loop
        self.server = server
        self.vhost = vhost
        table = ConnectionTable(limits: server.configuration.connections)
        ticker = loop.addTicker(every: .tenth) { [self] now in
            for connection in live.values { connection.check(now) }
            close(table.trim(at: now))
        }
    }

    /// Takes over an accepted socket, which libwebsockets owns from then on.
    func adopt(_ descriptor: Int32, from address: SocketAddress) {
        loop.preconditionOnLoop()
        lastID &+= 1
        let id = lastID
        guard case .admitted(let closing) = table.add(id, source: address.address, at: EventLoop.nowMs()) else {
            Glibc.close(descriptor)
            connections.subtract(1, ordering: .relaxed)
            return
        }
        close(closing)
        let connection = HTTPConnection(id: id, address: address, host: self, server: server)
        live[id] = connection
        let held = Unmanaged.passRetained(connection)
        var info = lws_adopt_desc_t()
        info.vh = vhost
        info.type = lws_adoption_type(rawValue: LWS_ADOPT_SOCKET.rawValue | LWS_ADOPT_ALLOW_SSL.rawValue)
        info.fd.sockfd = descriptor
        info.opaque = held.toOpaque()
        let name = strdup(lwsProtocolName)
        info.vh_prot_name = UnsafePointer(name)
        defer { free(name) }
        guard let wsi = lws_adopt_descriptor_vhost_via_info(&info) else {
            // It has told the end already, unless it could not even begin.
            if live[id] != nil {
                held.release()
                ended(connection)
            }
            return
        }
        connection.adopted(wsi)
    }

    /// - Parameter bytes: that a connection keeps of a request that is not complete, or of an unproven WebSocket.
    func holds(_ bytes: Int, _ connection: HTTPConnection) {
        heldBytes += bytes - connection.heldBytes
        connection.heldBytes = bytes
        guard heldBytes > Self.heldLimit else { return }
        let others = live.values.filter { $0.heldBytes > 0 && $0 !== connection }
        func order(_ one: HTTPConnection) -> (Int, UInt64, UInt64) {
            (one.isProven ? 1 : 0, one.requestBegunMs, one.id)
        }
        for other in others.sorted(by: { order($0) < order($1) }) {
            guard heldBytes > Self.heldLimit else { return }
            heldBytes -= other.heldBytes
            other.heldBytes = 0
            other.kill()
        }
    }

    /// Connections that give way to others.
    private func close(_ ids: [ConnectionTable.ID]) { for id in ids { live[id]?.kill() } }

    func ended(_ connection: HTTPConnection) {
        connection.destroyed()
        heldBytes -= connection.heldBytes
        connection.heldBytes = 0
        guard live.removeValue(forKey: connection.id) != nil else { return }
        table.remove(connection.id)
        connections.subtract(1, ordering: .relaxed)
    }
}
