import Foundation
import JSON
import Net
import Realtime
import TestSupport
import Testing

@testable import Tools

/// Time limits, retries and addresses of tools, in real time.
@Suite(.serialized) struct HTTPToolTimeTests {
    private func timed(_ document: ToolDocument) async -> (result: ToolResult, ms: Double) {
        let begun = ContinuousClock.now
        let result = await HTTPToolTests.run(document).result
        let passed = begun.duration(to: .now).components
        return (result, Double(passed.seconds) * 1_000 + Double(passed.attoseconds) / 1e15)
    }

    /// A head that never comes, a body that never ends, a byte now and then.
    @Test(arguments: ["hang", "half", "drip"]) func aSlowServerIsTimedOut(kind: String) async throws {
        let server = ScriptedServer { connection, _ in
            _ = connection.receiveHead()
            if kind != "hang" {
                connection.send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n[")
            }
            for _ in 0..<60 where kind == "drip" {
                guard connection.send(" ") else { return }
                usleep(50_000)
            }
            _ = connection.isClosed()
        }
        defer { server.stop() }
        let (result, ms) = await timed(
            try HTTPToolTests.document(server.url, ["timeout_ms": 700, "retries": 3, "idempotent": true]))
        // The machine of the tests may be busy; the exact limit and the attempts are measured end to end.
        #expect(result.status == "timeout" && ms >= 690, "\(ms)")
    }

    private func statuses(_ statuses: [String], _ change: [String: JSONValue]) async throws -> ToolResult {
        let server = ScriptedServer { connection, number in
            _ = connection.receiveHead()
            connection.send(
                HTTPToolTests.answer("{}", status: statuses[min(number - 1, statuses.count - 1)]))
        }
        defer { server.stop() }
        return await HTTPToolTests.run(
            try HTTPToolTests.document(
                server.url, change.merging(["request": ["method": "PUT", "url": .string(server.url)]]) { a, _ in a }
            )
        ).result
    }

    @Test func whatMayBeRepeatedIsTriedAgain() async throws {
        let result = try await statuses(["503 A", "429 B", "200 OK"], ["retries": 2])
        #expect(result.status == "ok" && result.attempts == 3)
        let failed = try await statuses(["503 A", "502 B", "504 C", "200 OK"], ["retries": 2])
        #expect(failed.status == "http_504" && failed.attempts == 3)
        let final = try await statuses(["500 A", "200 OK"], ["retries": 2])
        #expect(final.status == "http_500" && final.attempts == 1)
        let none = try await statuses(["503 A", "200 OK"], [:])
        #expect(none.status == "http_503" && none.attempts == 1)
    }

    @Test func aLostConnectionIsTriedAgain() async throws {
        let server = ScriptedServer { connection, number in
            _ = connection.receiveHead()
            if number > 1 { connection.send(HTTPToolTests.answer("{}")) }
        }
        defer { server.stop() }
        let request: JSONValue = ["method": "PUT", "url": .string(server.url)]
        let again = await HTTPToolTests.run(
            try HTTPToolTests.document(server.url, ["request": request, "retries": 1]))
        #expect(again.result.status == "ok" && again.result.attempts == 2)
    }

    @Test func aRedirectionIsNotFollowed() async throws {
        let inside = ScriptedServer { connection, _ in connection.send(HTTPToolTests.answer("{}")) }
        defer { inside.stop() }
        let server = ScriptedServer { connection, _ in
            _ = connection.receiveHead()
            connection.send("HTTP/1.1 302 Found\r\nlocation: \(inside.url)/x\r\ncontent-length: 0\r\n\r\n")
        }
        defer { server.stop() }
        let result = await HTTPToolTests.run(try HTTPToolTests.document(server.url)).result
        #expect(result.status == "http_302" && inside.connections == 0)
        #expect(!result.output.contains("127.0.0.1"))
    }

    /// Names and spellings that end in our own network, once the connection is made.
    @Test(arguments: [
        "https://2130706433:PORT/", "https://0x7f000001:PORT/", "https://0177.0.0.1:PORT/", "https://127.1:PORT/",
        "https://localhost:PORT/", "https://localhost.:PORT/", "https://0:PORT/",
    ])
    func noSpellingOfLoopbackIsReached(url: String) async throws {
        let server = ScriptedServer { _, _ in }
        defer { server.stop() }
        let address = url.replacing("PORT", with: String(server.port))
        let result = await HTTPToolTests.run(try HTTPToolTests.document(address)).result
        #expect(["refused", "not_available"].contains(result.status) && server.connections == 0)
        #expect(!result.output.contains("127.0.0.1") && !result.output.contains(String(server.port)))
    }

    /// A tool that was saved while the server was bound to loopback.
    @Test func aBoundServerReachesNoLoopback() async throws {
        let server = ScriptedServer { _, _ in }
        defer { server.stop() }
        let result = await HTTPToolTests.run(
            try HTTPToolTests.document(server.url), addresses: ToolAddresses(isBoundToLoopback: false)
        ).result
        #expect(result.status == "refused" && server.connections == 0)
    }
}
