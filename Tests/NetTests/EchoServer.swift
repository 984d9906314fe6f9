import Foundation
import Testing

@testable import Net

/// An HTTP server on a free port of loopback, on an event loop of its own. It answers each request with the parts of
/// the request that it understood, serves a file at `/file`, and echoes WebSocket messages at `/echo`.
struct EchoServer {
    let loop: EventLoop
    let http: HTTPServer

    /// - Parameters:
    ///   - maximumBody: the longest accepted body, in bytes.
    ///   - limits: of its connections.
    ///   - onSocket: what to do with an accepted WebSocket besides echoing its messages.
    ///   - proves: the requests that authenticate their connection.
    init(
        maximumBody: Int = 1_000, limits: ConnectionTable.Limits = .init(),
        onSocket: @escaping @Sendable (WebSocket) -> Void = { _ in },
        proves: @escaping HTTPServer.Proof = { _ in false }
    ) throws {
        loop = try EventLoop(name: "server")
        loop.start()
        var configuration = HTTPServer.Configuration()
        configuration.port = 0
        configuration.maximumBody = maximumBody
        configuration.connections = limits
        http = HTTPServer(
            configuration, loops: [loop],
            handler: { request in
                if request.path == "/file" {
                    return HTTPResponse.file(path: "/etc/passwd", contentType: "text/plain", request: request)
                        ?? HTTPResponse(status: 404)
                }
                return HTTPResponse(
                    status: 200, contentType: "text/plain",
                    Array(
                        [
                            request.method, request.path, request.queryValue("q") ?? "-", "\(request.body.count)",
                            request.headers["authorization"] ?? "-",
                        ].joined(separator: " ").utf8))
            },
            proves: proves,
            upgradeCheck: { $0.path == "/echo" ? 0 : 404 },
            socketHandler: { socket in
                socket.configuration.maximumMessage = 100_000
                socket.onMessage = { bytes, kind in
                    let copy = Array(bytes)
                    socket.send(kind, capacity: copy.count) { $0.update(fromContentsOf: copy) }
                }
                onSocket(socket)
                return true
            })
        try http.start()
    }

    func stop() {
        http.stop()
        loop.stop()
    }

    /// The loop, URL and address for a WebSocket client of this server.
    func client() throws -> (EventLoop, WebSocketURL, SocketAddress) {
        (
            loop, try #require(WebSocketURL("ws://127.0.0.1:\(http.port)/echo")),
            try #require(SocketAddress("127.0.0.1", port: http.port))
        )
    }

    /// Sends raw bytes over TCP and returns everything the server sends until it closes the connection.
    /// The socket blocks, so it runs on a thread of its own.
    func exchange(_ text: String) async -> String {
        await withCheckedContinuation { [port = http.port] continuation in
            Thread.detachNewThread { continuation.resume(returning: Self.send(text, to: port)) }
        }
    }

    private static func send(_ text: String, to port: UInt16) -> String {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(fd) }
        // The handler is a task, and tasks of a whole test run share two threads with tests that compute, for more than
        // a minute where the machine has other work.
        var limit = timeval(tv_sec: 300, tv_usec: 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard
            withUnsafePointer(
                to: &name, { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(fd, $0, size) } }) == 0
        else { return "" }
        _ = text.withCString { write(fd, $0, strlen($0)) }
        var result: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(fd, &chunk, chunk.count)
            guard count > 0 else { break }
            result += chunk[..<count]
        }
        return String(decoding: result, as: UTF8.self)
    }
}
