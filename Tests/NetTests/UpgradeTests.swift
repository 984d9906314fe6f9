import Foundation
import Synchronization
import Testing

@testable import Net

/// The client's side of the opening handshake against servers that answer what they like.
@Suite struct UpgradeTests {
    @Test func theSubprotocolsThatWeOfferAreSent() async throws {
        let server = try UpgradeServer(choosing: "b.test")
        defer { server.stop() }
        #expect(try await server.connect(offering: ["a.test", "b.test"]) == .open)
        #expect(server.offered == "a.test, b.test")
    }

    @Test func withoutAnOfferNoneIsSent() async throws {
        let server = try UpgradeServer(choosing: nil)
        defer { server.stop() }
        #expect(try await server.connect(offering: []) == .open)
        #expect(server.offered == nil)
    }

    @Test func aServerMayLeaveTheSubprotocolOut() async throws {
        let server = try UpgradeServer(choosing: nil)
        defer { server.stop() }
        #expect(try await server.connect(offering: ["a.test"]) == .open)
    }

    /// RFC 6455 §4.1: then the client must fail the connection.
    @Test(arguments: [["a.test"], [], ["a.testing", "testa.test"]])
    func anAnswerWithASubprotocolThatWasNotOfferedIsRefused(offered: [String]) async throws {
        let server = try UpgradeServer(choosing: "a.tes")
        defer { server.stop() }
        let outcome = try await server.connect(offering: offered)
        #expect(outcome == .closed(1_006, status: nil))
    }

    /// As many as a call's own stream may have.
    @Test func eightKilobytesOfHeadersAreSent() async throws {
        let server = try UpgradeServer(choosing: nil)
        defer { server.stop() }
        let headers = (0..<4).map { ("x-\($0)", String(repeating: "v", count: 2_040)) }
        #expect(try await server.connect(offering: [], headers: headers) == .open)
        for (name, value) in headers { #expect(server.header(name) == value) }
    }

    @Test func aRedirectionIsNotFollowed() async throws {
        let server = try UpgradeServer(choosing: nil, answer: "302 Found\r\nLocation: http://127.0.0.1:9/")
        defer { server.stop() }
        #expect(try await server.connect(offering: []) == .closed(1_006, status: 302))
    }
}

/// Answers one upgrade on a thread of its own.
private final class UpgradeServer: Sendable {
    enum Outcome: Equatable { case open, closed(Int, status: Int?) }

    private let loop: EventLoop
    private let descriptor: Int32
    private let port: UInt16
    private let request = Request()

    private final class Request: Sendable { let text = Mutex("") }

    init(choosing subprotocol: String?, answer: String? = nil) throws {
        loop = try EventLoop(name: "upgrade")
        loop.start()
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        descriptor = listener
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(listener, $0, size)
                _ = listen(listener, 1)
                _ = getsockname(listener, $0, &size)
            }
        }
        port = UInt16(bigEndian: name.sin_port)
        Thread.detachNewThread { [request] in
            let accepted = accept(listener, nil, nil)
            guard accepted >= 0 else { return }
            var bytes: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4_096)
            while !String(decoding: bytes, as: UTF8.self).contains("\r\n\r\n") {
                let count = read(accepted, &chunk, chunk.count)
                guard count > 0 else { break }
                bytes += chunk[..<count]
            }
            let text = String(decoding: bytes, as: UTF8.self)
            request.text.withLock { $0 = text }
            let reply =
                answer.map { "HTTP/1.1 \($0)\r\nContent-Length: 0\r\n\r\n" } ?? Self.answer(to: text, subprotocol)
            _ = reply.withCString { write(accepted, $0, strlen($0)) }
            // Until the client has closed.
            while read(accepted, &chunk, chunk.count) > 0 {}
            close(accepted)
        }
    }

    private static func answer(to request: String, _ subprotocol: String?) -> String {
        let key = header("sec-websocket-key", of: request) ?? ""
        let parsed = HTTPRequest(
            method: "GET", path: "/", query: [],
            headers: [
                "upgrade": "websocket", "connection": "upgrade", "sec-websocket-version": "13",
                "sec-websocket-key": key,
            ], body: [], peer: "")
        guard let handshake = try? WebSocketHandshake(parsed, isVersion10: false, subprotocols: []) else { return "" }
        var lines = ["HTTP/1.1 101 Switching Protocols"] + handshake.response.headers.map { "\($0.name): \($0.value)" }
        if let subprotocol { lines.append("sec-websocket-protocol: \(subprotocol)") }
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    private static func header(_ name: String, of request: String) -> String? {
        for line in request.components(separatedBy: "\r\n") where line.lowercased().hasPrefix(name + ":") {
            return line.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)
        }
        return nil
    }

    /// Of the request; nil: it has none of this name.
    func header(_ name: String) -> String? { Self.header(name, of: request.text.withLock { $0 }) }
    /// What the client offered; nil: nothing.
    var offered: String? { header("sec-websocket-protocol") }

    func connect(offering subprotocols: [String], headers: [(String, String)] = []) async throws -> Outcome {
        let url = try #require(WebSocketURL("ws://127.0.0.1:\(port)/x"))
        let address = try #require(SocketAddress("127.0.0.1", port: port))
        return await withCheckedContinuation { continuation in
            loop.post { [loop] in
                let socket = loop.connect(url, address: address, headers: headers, subprotocols: subprotocols)
                socket.onOpen = { [unowned socket] in
                    socket.onClose = nil
                    socket.close()
                    continuation.resume(returning: .open)
                }
                socket.onClose = { [unowned socket] code, _ in
                    continuation.resume(returning: .closed(code, status: socket.refusedStatus))
                }
            }
        }
    }

    func stop() {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
        loop.stop()
    }
}
