import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Net

@Suite struct HTTPClientTests {
    private static func answer(_ body: String, status: String = "200 OK", headers: String = "") -> String {
        "HTTP/1.1 \(status)\r\ncontent-length: \(body.utf8.count)\r\n\(headers)\r\n\(body)"
    }

    private func failure(_ client: HTTPClient, _ request: HTTPClientRequest) async throws -> NetError? {
        do {
            _ = try await client.fetch(request)
            return nil
        } catch let error as NetError { return error }
    }

    @Test func aFormIsPostedAndTheAnswerRead() async throws {
        let seen = Mutex("")
        let server = ScriptedServer { connection, _ in
            let head = connection.receiveHead()
            let body = connection.receive(22)
            seen.withLock { $0 = head + body }
            connection.send(Self.answer("created", status: "201 Created", headers: "X-Thing: a\r\n"))
        }
        defer { server.stop() }
        var request = HTTPClientRequest.form(server.url + "/calls?x=1", [("To", "+82 10"), ("a", "ü")])
        request.authenticate(user: "AC1", password: "secret")
        let reply = try await HTTPClient().fetch(request)
        #expect(
            reply.status == 201 && reply.headers["x-thing"] == "a"
                && String(decoding: reply.body, as: UTF8.self) == "created")
        let text = seen.withLock { $0 }
        #expect(text.hasPrefix("POST /calls?x=1 HTTP/1.1\r\n"))
        #expect(
            text.contains("authorization: Basic QUMxOnNlY3JldA==\r\n")
                && text.contains("content-type: application/x-www-form-urlencoded\r\n"))
        #expect(text.hasSuffix("\r\n\r\nTo=%2B82%2010&a=%C3%BC"))
        #expect(!text.lowercased().contains("expect:"))
    }

    @Test func eventsComeAsTheyAreSentHoweverTheyAreCut() async throws {
        let server = ScriptedServer { connection, _ in
            _ = connection.receiveHead()
            connection.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
            for piece in [
                "da", "ta: {\"a\":1}\r", "\n\r\n: ping\n", "event: done\ndata: x\ndata: y\n\n", "data: never complete",
            ] {
                connection.send(piece)
            }
        }
        defer { server.stop() }
        var events: [ServerSentEvent] = []
        for try await event in try await HTTPClient().send(HTTPClientRequest("GET", server.url)).events {
            events.append(event)
        }
        #expect(events == [.init(data: #"{"a":1}"#), .init(name: "done", data: "x\ny")])
    }

    @Test func aSlowReaderStopsTheServerAndLosesNothing() async throws {
        let total = 40 << 20
        let sent = Mutex(0)
        let server = ScriptedServer { connection, _ in
            _ = connection.receiveHead()
            connection.send("HTTP/1.1 200 OK\r\ncontent-length: \(total)\r\n\r\n")
            let block = [UInt8](repeating: 7, count: 1 << 20)
            while sent.withLock({ $0 }) < total, connection.send(block) { sent.withLock { $0 += block.count } }
        }
        defer { server.stop() }
        let response = try await HTTPClient().send(HTTPClientRequest("GET", server.url))
        var last = -1
        while true {  // until the server can send no more
            let now = sent.withLock { $0 }
            if now == last { break }
            last = now
            try await Task.sleep(for: .milliseconds(200))
        }
        #expect(last < total / 2, "the server could send \(last) bytes that were not read")
        var received = 0
        for try await piece in response.body { received += piece.count }
        #expect(received == total)
    }

    /// Begins an answer, and tells whether the connection was closed then.
    private func serverWithHalfAnAnswer() -> (ScriptedServer, closed: AsyncStream<Bool>) {
        let closed = AsyncStream<Bool>.makeStream()
        let server = ScriptedServer { connection, _ in
            _ = connection.receiveHead()
            connection.send("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nsome")
            closed.continuation.yield(connection.isClosed())
        }
        return (server, closed.stream)
    }

    @Test func cancellingReleasesTheReaderAndClosesTheConnection() async throws {
        let (server, closed) = serverWithHalfAnAnswer()
        defer { server.stop() }
        let client = HTTPClient()
        let task = Task {
            var text = ""
            for try await piece in try await client.send(HTTPClientRequest("GET", server.url)).body {
                text += String(decoding: piece, as: UTF8.self)
                if text == "some" { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(await closed.first { _ in true } == true)
    }

    @Test func anUnreadBodyIsAborted() async throws {
        let (server, closed) = serverWithHalfAnAnswer()
        defer { server.stop() }
        let client = HTTPClient()
        #expect(try await client.send(HTTPClientRequest("GET", server.url)).status == 200)
        #expect(await closed.first { _ in true } == true)
    }

    @Test func aConnectionIsUsedAgain() async throws {
        let server = ScriptedServer { connection, _ in
            while connection.receiveHead().hasPrefix("GET") { connection.send(Self.answer("ok")) }
        }
        defer { server.stop() }
        let client = HTTPClient()
        for _ in 0..<5 { #expect(try await client.fetch(HTTPClientRequest("GET", server.url)).isSuccess) }
        #expect(server.connections == 1)
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort", NetError.Code.closed), ("", .closed),
        ("nonsense\r\n\r\n", .protocolViolation),
        ("HTTP/1.1 200 OK\r\nx: \(String(repeating: "y", count: 70_000))\r\n\r\n", .tooBig),
        ("HTTP/1.1 200 OK\r\ncontent-length: 2000000\r\n\r\n\(String(repeating: "z", count: 2_000_000))", .tooBig),
    ])
    func malformedResponsesAreErrors(bytes: String, code: NetError.Code) async throws {
        let server = ScriptedServer { connection, _ in
            _ = connection.receiveHead()
            connection.send(bytes)
        }
        defer { server.stop() }
        var request = HTTPClientRequest("POST", server.url)
        request.isRepeatable = false
        let error = try await failure(HTTPClient(), request)
        #expect(error?.code == code, "\(error?.message ?? "")")
    }

    @Test(arguments: [false, true])
    func silenceIsTimedOut(afterHead: Bool) async throws {
        let server = ScriptedServer { connection, _ in
            _ = connection.receiveHead()
            if afterHead { connection.send("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nx") }
            _ = connection.isClosed()
        }
        defer { server.stop() }
        var request = HTTPClientRequest("POST", server.url)
        request.responseTimeoutMs = afterHead ? 5_000 : 50
        request.stallTimeoutMs = 50
        let error = try await failure(HTTPClient(), request)
        #expect(error?.code == .timedOut)
    }

    @Test func repeatableRequestsAreRetriedAfterTheTimeTheServerAsksFor() async throws {
        let server = ScriptedServer { connection, number in
            _ = connection.receiveHead()
            connection.send(
                number == 1
                    ? Self.answer(
                        "", status: "503 Service Unavailable", headers: "retry-after: 7\r\nconnection: close\r\n")
                    : number == 2 ? "" : Self.answer("at last"))
        }
        defer { server.stop() }
        let waits = Mutex<[Double]>([])
        let client = HTTPClient(sleep: { wait in waits.withLock { $0.append(wait) } })
        let reply = try await client.fetch(HTTPClientRequest("GET", server.url))
        #expect(String(decoding: reply.body, as: UTF8.self) == "at last")
        let seen = waits.withLock { $0 }
        #expect(seen.count == 2 && seen[0] == 7_000 && (0...500).contains(seen[1]), "\(seen)")
        let post = try await client.fetch(HTTPClientRequest("POST", server.url))
        #expect(post.status == 200 && server.connections == 4)
    }

    @Test func otherRequestsAreSentOnce() async throws {
        let server = ScriptedServer { connection, _ in
            _ = connection.receiveHead()
            connection.send(Self.answer("", status: "503 Service Unavailable", headers: "connection: close\r\n"))
        }
        defer { server.stop() }
        let reply = try await HTTPClient(sleep: { _ in }).fetch(HTTPClientRequest("POST", server.url))
        #expect(reply.status == 503 && server.connections == 1)
    }

    @Test func redirectsAreFollowedOnlyWhereAllowed() async throws {
        let target = ScriptedServer { connection, _ in
            _ = connection.receiveHead()
            connection.send(Self.answer("the end"))
        }
        let server = ScriptedServer { [url = target.url] connection, _ in
            _ = connection.receiveHead()
            connection.send(Self.answer("moved", status: "302 Found", headers: "location: \(url)/\r\n"))
        }
        defer {
            server.stop()
            target.stop()
        }
        var request = HTTPClientRequest("GET", server.url)
        let client = HTTPClient()
        #expect(try await client.fetch(request).status == 302)
        request.redirectLimit = 1
        let reply = try await client.fetch(request)
        #expect(reply.status == 200 && String(decoding: reply.body, as: UTF8.self) == "the end")
    }

    @Test func ourOwnNetworkIsClosedToUsersURLs() async throws {
        let server = ScriptedServer { connection, _ in
            while connection.receiveHead().hasPrefix("GET") { connection.send(Self.answer("secret")) }
        }
        defer { server.stop() }
        let client = HTTPClient()
        var request = HTTPClientRequest("GET", server.url)
        // Neither by a new connection, nor by one that is open already, nor by a name, nor by another spelling.
        #expect(try await client.fetch(request).isSuccess)
        request.allowsPrivateAddresses = false
        request.isRepeatable = false
        for url in [
            server.url, "http://localhost:\(server.port)", "http://2130706433:\(server.port)",
            "http://[::ffff:127.0.0.1]:\(server.port)",
        ] {
            request.url = url
            let error = try await failure(client, request)
            #expect(error?.code == .refused || error?.code == .cannotConnect, "\(url): \(error?.message ?? "")")
        }
        #expect(server.connections == 1)
    }

    @Test func badRequestsAreRefusedBeforeTheyAreSent() async throws {
        for request in [
            HTTPClientRequest("GET", "ftp://127.0.0.1/"), HTTPClientRequest("GET", "file:///etc/passwd"),
            HTTPClientRequest("GET", "http://a b/"),
            HTTPClientRequest("G T", "http://127.0.0.1:1/"),
            HTTPClientRequest("GET", "http://127.0.0.1:1/", headers: [("x", "a\r\ny: b")]),
        ] {
            let error = try await failure(HTTPClient(), request)
            #expect(error?.code == .protocolViolation)
        }
    }

    @Test func aStoppedClientSaysSo() async throws {
        let server = ScriptedServer { connection, _ in _ = connection.isClosed() }
        defer { server.stop() }
        let client = HTTPClient()
        var request = HTTPClientRequest("POST", server.url)
        request.responseTimeoutMs = 5_000
        let task = Task { [request] in try await client.fetch(request) }
        while server.connections == 0 { await Task.yield() }
        client.stop()
        let error = await #expect(throws: NetError.self) { try await task.value }
        #expect(error?.code == .closed)
    }
}
