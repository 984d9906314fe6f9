import Testing

@testable import Net

/// An upgrade that is decided after something else was asked, and the subprotocols that both ends agree on.
@Suite struct DeferredUpgradeTests {
    private struct Outcome: Equatable {
        var status: Int?
        var subprotocol: String?
        var text: String?
    }

    /// Connects with these subprotocols; a socket that is let in is greeted.
    private func connect(
        _ subprotocols: [String], _ decide: @escaping HTTPServer.DeferredUpgrade
    ) async throws -> Outcome {
        let loop = try EventLoop(name: "deferred")
        loop.start()
        defer { loop.stop() }
        var configuration = HTTPServer.Configuration()
        configuration.port = 0
        let http = HTTPServer(
            configuration, loops: [loop], handler: { _ in HTTPResponse(status: 404) }, deferredUpgrade: decide)
        try http.start()
        defer { http.stop() }
        let url = try #require(WebSocketURL("ws://127.0.0.1:\(http.port)/any?a=1"))
        let address = try #require(SocketAddress("127.0.0.1", port: http.port))
        return await withCheckedContinuation { continuation in
            loop.post {
                let socket = loop.connect(url, address: address, subprotocols: subprotocols)
                var text: String?
                socket.onOpen = { [unowned socket] in socket.send(text: "hello") }
                socket.onMessage = { [unowned socket] bytes, _ in
                    text = String(decoding: bytes, as: UTF8.self)
                    socket.close()
                }
                socket.onClose = { [unowned socket] _, _ in
                    continuation.resume(
                        returning: Outcome(
                            status: socket.refusedStatus, subprotocol: socket.subprotocol, text: text))
                }
            }
        }
    }

    @Test func itIsAcceptedWithTheSubprotocolThatWasChosen() async throws {
        let outcome = try await connect(["one", "two"]) { request in
            try? await Task.sleep(for: .milliseconds(1))
            let offered = request.headers["sec-websocket-protocol"] ?? "-"
            return .accept(subprotocol: "two") { socket in
                socket.onMessage = { [unowned socket] bytes, _ in
                    socket.send(text: "\(String(decoding: bytes, as: UTF8.self)) \(request.path) \(offered)")
                }
                return true
            }
        }
        #expect(outcome == Outcome(subprotocol: "two", text: "hello /any one, two"))
    }

    @Test func itIsRefusedWithTheStatusThatWasChosen() async throws {
        #expect(try await connect([]) { _ in .refuse(502) } == Outcome(status: 502))
        let outcome = try await connect([]) { _ in .accept(subprotocol: nil) { _ in false } }
        #expect(outcome == Outcome(status: 403))
    }
}
