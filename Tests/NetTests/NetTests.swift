import Foundation
import Synchronization
import Testing

@testable import Net

@Suite struct RouterTests {
    private let router: Router = {
        var router = Router()
        let nothing: Router.Handler = { _ in HTTPResponse(status: 200) }
        for (method, path) in [("GET", "/a"), ("POST", "/a/{id}"), ("GET", "/a/{id}/b"), ("GET", "/files/{path...}")] {
            router.add(method, path, nothing)
        }
        return router
    }()
    private func parameters(_ method: String, _ path: String) -> [String: String]? {
        if case .found(_, let parameters) = router.match(method: method, path: path) { parameters } else { nil }
    }
    @Test func parametersAreTaken() {
        #expect(parameters("GET", "/a/") == [:])
        #expect(parameters("POST", "/a/7") == ["id": "7"])
        #expect(parameters("HEAD", "/a/x/b") == ["id": "x"])
        #expect(parameters("GET", "/files/x/y.js") == ["path": "x/y.js"])
        #expect(parameters("GET", "/b") == nil && parameters("GET", "/a/1/2/3") == nil)
    }
    @Test func anotherMethodIsNamed() {
        guard case .wrongMethod(let allowed) = router.match(method: "DELETE", path: "/a/7") else {
            Issue.record("no 405")
            return
        }
        #expect(allowed == ["POST"])
    }
}

@Suite struct ByteRangeTests {
    @Test(
        arguments: [
            ("bytes=0-4", ByteRange.part(0..<5)), ("bytes=5-", .part(5..<10)), ("bytes=-3", .part(7..<10)),
            ("bytes=0-99", .part(0..<10)),
            ("bytes=10-", .unsatisfiable), ("bytes=-0", .unsatisfiable), ("bytes=4-2", nil), ("bytes=a-b", nil),
            ("lines=1-2", nil),
            ("bytes=0-1,3-4", nil),
        ] as [(String, ByteRange?)])
    func parses(header: String, range: ByteRange?) { #expect(ByteRange(header, size: 10) == range) }
}

@Suite struct EventLoopTests {
    private actor Confined {
        let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        var count = 0
        init(_ loop: EventLoop) { self.loop = loop }
        func add() -> Bool {
            count += 1
            return loop.isCurrent
        }
        func addTwice() async -> Bool {
            let first = add()
            await Task.yield()
            return first && add()
        }
    }

    @Test func anActorOfTheLoopRunsOnItsThread() async throws {
        let loop = try EventLoop(name: "test")
        loop.start()
        let actor = Confined(loop)
        #expect(await actor.addTwice())
        await withTaskGroup(of: Void.self) { group in for _ in 0..<100 { group.addTask { _ = await actor.add() } } }
        #expect(await actor.count == 102)
        loop.stop()
    }

    /// Whoever was cancelled may be gone: called once more it would end the process.
    @Test func whoIsCancelledInATickIsNotCalledInThatTick() async throws {
        let loop = try EventLoop(name: "test")
        loop.start()
        let calls: [Int] = await withCheckedContinuation { continuation in
            loop.post {
                var calls: [Int] = []
                var tickers: [EventLoop.Ticker] = []
                for number in 0..<3 {
                    tickers.append(
                        loop.addTicker(every: .tenth) { _ in
                            calls.append(number)
                            for other in tickers.dropFirst(number + 1).prefix(1) { other.cancel() }
                            guard number == 2 else { return }
                            for ticker in tickers { ticker.cancel() }
                            continuation.resume(returning: calls)
                        })
                }
            }
        }
        #expect(calls == [0, 2])
        loop.stop()
    }

    @Test func functionsRunInOrderAndTheTickerTicks() async throws {
        let loop = try EventLoop(name: "test")
        loop.start()
        let seen = Mutex<[Int]>([])
        for value in 0..<100 { loop.post { seen.withLock { $0.append(value) } } }
        let ticks = await withCheckedContinuation { continuation in
            loop.post {
                var count = 0
                var ticker: EventLoop.Ticker?
                let start = EventLoop.nowMs()
                ticker = loop.addTicker { now in
                    count += 1
                    if count == 5 {
                        ticker?.cancel()
                        continuation.resume(returning: now - start)
                    }
                }
            }
        }
        #expect(seen.withLock { $0 } == Array(0..<100))
        #expect(ticks >= 80)
        loop.stop()
    }
}

/// A real server and a real client on loopback.
@Suite struct HTTPAndWebSocketTests {
    private struct Running {
        var loop: EventLoop
        var server: HTTPServer
        func stop() {
            server.stop()
            loop.stop()
        }
    }

    /// - Parameter onSocket: what the server does with a socket it accepted, beside echoing on it.
    private func start(maximumBody: Int = 1_000, onSocket: @escaping @Sendable (WebSocket) -> Void = { _ in }) throws
        -> Running
    {
        let loop = try EventLoop(name: "server")
        loop.start()
        var configuration = HTTPServer.Configuration()
        configuration.port = 0
        configuration.maximumBody = maximumBody
        let server = HTTPServer(
            configuration, loops: [loop],
            handler: { request in
                if request.path == "/file" {
                    return HTTPResponse.file(path: "/etc/passwd", contentType: "text/plain", request: request)
                        ?? HTTPResponse(status: 404)
                }
                return HTTPResponse(
                    status: 200, contentType: "text/plain",
                    Array(
                        "\(request.method) \(request.path) \(request.queryValue("q") ?? "-") \(request.body.count) \(request.headers["authorization"] ?? "-")"
                            .utf8))
            },
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
        try server.start()
        return Running(loop: loop, server: server)
    }

    /// Raw HTTP over a socket: what the server really says. On a thread of its own, since it blocks.
    private func raw(_ port: UInt16, _ text: String) async -> String {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: Self.exchange(port, text)) }
        }
    }

    private static func exchange(_ port: UInt16, _ text: String) -> String {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(fd) }
        // The handler is a task, and tasks of a whole test run share two threads with tests that compute.
        var limit = timeval(tv_sec: 60, tv_usec: 0)
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

    @Test func requestsWithQueryHeaderAndBody() async throws {
        let running = try start()
        defer { running.stop() }
        let answer = await raw(
            running.server.port,
            "POST /a%20b?q=x%2By HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer k\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
        )
        #expect(answer.hasPrefix("HTTP/1.1 200") && answer.hasSuffix("POST /a b x+y 3 Bearer k"))
    }

    @Test func aBodyThatIsTooLargeIsRefusedAndAChunkedOneIsRead() async throws {
        let running = try start()
        defer { running.stop() }
        #expect(
            await raw(running.server.port, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n").contains(
                " 413 "))
        let chunked =
            "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        #expect(await raw(running.server.port, chunked).hasSuffix("POST /c - 3 -"))
    }

    /// What hung an event loop for ever: a request with a body behind another one.
    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        let running = try start()
        defer { running.stop() }
        let answer = await raw(
            running.server.port,
            "GET /x HTTP/1.1\r\nHost: h\r\n\r\nPOST /y HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde"
                + "GET /z HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        let bodies = answer.components(separatedBy: "\r\n\r\n").dropFirst()
        #expect(
            bodies.map { $0.components(separatedBy: "HTTP/1.1")[0] } == [
                "GET /x - 0 -", "POST /y - 5 -", "GET /z - 0 -",
            ])
    }

    @Test func rangesOfAFile() async throws {
        let running = try start()
        defer { running.stop() }
        let answer = await raw(
            running.server.port, "GET /file HTTP/1.1\r\nHost: h\r\nRange: bytes=0-1\r\nConnection: close\r\n\r\n")
        #expect(answer.contains(" 206 ") && answer.lowercased().contains("content-range: bytes 0-1/"))
        #expect(answer.components(separatedBy: "\r\n\r\n").last?.count == 2)
    }

    @Test func aSocketOnAnUnknownPathGetsAStatus() async throws {
        let running = try start()
        defer { running.stop() }
        let answer = await raw(
            running.server.port,
            "GET /nope HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        #expect(answer.contains(" 404 "))
    }

    @Test func messagesOfManySizesComeBack() async throws {
        let running = try start()
        let url = try #require(WebSocketURL("ws://127.0.0.1:\(running.server.port)/echo"))
        let address = try #require(SocketAddress("127.0.0.1", port: running.server.port))
        let loop = running.loop
        let sizes = [0, 1, 125, 126, 20_000, 70_000]
        let received: [Int] = await withCheckedContinuation { continuation in
            loop.post {
                let socket = loop.connect(url, address: address)
                var got: [Int] = []
                socket.onOpen = {
                    for size in sizes {
                        socket.send(.binary, capacity: size) { buffer in
                            buffer.prefix(size).update(repeating: 7); return size
                        }
                    }
                }
                socket.onMessage = { bytes, kind in
                    got.append(kind == .binary ? bytes.count : -1)
                    if got.count == sizes.count { socket.close() }
                }
                socket.onClose = { _, _ in continuation.resume(returning: got) }
            }
        }
        #expect(received == sizes)
        running.stop()
    }

    @Test func aMessageOverTheLimitClosesWith1009() async throws {
        let running = try start()
        let url = try #require(WebSocketURL("ws://127.0.0.1:\(running.server.port)/echo"))
        let address = try #require(SocketAddress("127.0.0.1", port: running.server.port))
        let loop = running.loop
        let code: Int = await withCheckedContinuation { continuation in
            loop.post {
                let socket = loop.connect(url, address: address)
                socket.onOpen = {
                    socket.send(.text, capacity: 150_000) { buffer in
                        buffer.prefix(150_000).update(repeating: 65); return 150_000
                    }
                }
                socket.onClose = { code, _ in continuation.resume(returning: code) }
            }
        }
        #expect(code == 1_009)
        running.stop()
    }

    private static let upgrade =
        "GET /echo HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

    @Test func aPeerThatAnswersNoPingIsGivenUp() async throws {
        let (closed, report) = AsyncStream<(Int, String)>.makeStream()
        let running = try start { socket in
            socket.configuration.pingEveryMs = 40
            socket.configuration.pongTimeoutMs = 60
            socket.onClose = { report.yield(($0, $1)) }
        }
        // A peer that upgrades and then only reads: what it gets is a ping frame (0x89) and the end.
        let answer = await raw(running.server.port, Self.upgrade)
        #expect(answer.contains(" 101 "))
        let reason = await closed.first { _ in true }
        #expect(reason?.0 == 1_006 && reason?.1 == "no answer to a ping")
        running.stop()
    }

    @Test func aPeerThatAnswersPingsOrSendsIsKept() async throws {
        let pings = Mutex(0)
        let running = try start { socket in
            socket.configuration.pingEveryMs = 20
            socket.configuration.pongTimeoutMs = 60
            socket.onClose = { _, _ in pings.withLock { $0 = -1 } }
        }
        let (loop, url, address) = try client(of: running)
        let echoes = await withCheckedContinuation { (continuation: CheckedContinuation<Int, Never>) in
            loop.post {
                let socket = loop.connect(url, address: address)
                var ticker: EventLoop.Ticker?
                var ticks = 0
                var echoes = 0
                socket.onMessage = { _, _ in echoes += 1 }
                ticker = loop.addTicker { _ in
                    ticks += 1
                    if ticks == 20 { socket.send(text: "still here") }
                    guard ticks == 25 else { return }
                    ticker?.cancel()
                    continuation.resume(returning: pings.withLock { $0 } == 0 ? echoes : -1)
                    socket.close()
                }
            }
        }
        #expect(echoes == 1, "half a second with a ping every 20 ms")
        running.stop()
    }

    private func client(of running: Running) throws -> (EventLoop, WebSocketURL, SocketAddress) {
        (
            running.loop, try #require(WebSocketURL("ws://127.0.0.1:\(running.server.port)/echo")),
            try #require(SocketAddress("127.0.0.1", port: running.server.port))
        )
    }

    /// The reader stops; the kernel's buffers fill, then the queue, then `send` refuses. When the reader goes on, all
    /// that was accepted arrives, in order, and nobody has been given up for not answering pings in between.
    @Test func aSlowReaderMakesTheSenderWait() async throws {
        let got = Mutex<[Int]>([])
        let reader = Mutex<Confined<WebSocket>?>(nil)
        let running = try start { socket in
            socket.configuration.pingEveryMs = 40
            socket.configuration.pongTimeoutMs = 40
            socket.onMessage = { bytes, _ in got.withLock { $0.append(Int(bytes[0]) << 8 | Int(bytes[1])) } }
            let box = Confined(socket, to: socket.loop)
            socket.onOpen = {
                box.value.pauseReading()
                reader.withLock { $0 = box }
            }
        }
        let (loop, url, address) = try client(of: running)
        let size = 60_000
        let outcome = await withCheckedContinuation {
            (continuation: CheckedContinuation<(accepted: Int, closedEarly: Bool), Never>) in
            loop.post {
                let socket = loop.connect(url, address: address)
                var accepted = 0
                var stalledTicks = 0
                var ticker: EventLoop.Ticker?
                socket.configuration.sendQueueLimit = 200_000
                socket.onDrained = { if stalledTicks > 10 { socket.close() } }
                socket.onClose = { code, _ in
                    ticker?.cancel()
                    continuation.resume(returning: (accepted, code != 1_000))
                }
                ticker = loop.addTicker { _ in
                    guard let paused = reader.withLock({ $0 }) else { return }
                    // Ten ticks without room for anything: longer than the reader's ping and its time-out together.
                    guard stalledTicks <= 10 else { return paused.value.resumeReading() }
                    let before = accepted
                    while accepted < 10_000 {
                        let sent = socket.send(.binary, capacity: size) { buffer in
                            buffer[0] = UInt8(truncatingIfNeeded: accepted >> 8)
                            buffer[1] = UInt8(truncatingIfNeeded: accepted)
                            return size
                        }
                        guard sent else { break }
                        accepted += 1
                    }
                    stalledTicks = accepted == before ? stalledTicks + 1 : 0
                }
            }
        }
        #expect(outcome.accepted > 3 && outcome.accepted < 10_000 && !outcome.closedEarly)
        // Half a minute at most: under the thread sanitizer three megabytes of masked frames take seconds.
        for _ in 0..<3_000 where got.withLock({ $0.count }) < outcome.accepted {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(got.withLock { $0 } == Array(0..<outcome.accepted))
        running.stop()
    }

    @Test(arguments: ["ws://a%2580b/", "ws://%25/", "ws://[fe80::1%25eth0]/", "ws://a b/", "ws:///x", "http://a/"])
    func aURLWhoseHostIsUnclearIsRefused(text: String) {
        #expect(WebSocketURL(text) == nil)
    }

    @Test func aRefusedConnectionIsReported() async throws {
        let loop = try EventLoop(name: "client")
        loop.start()
        let url = try #require(WebSocketURL("ws://127.0.0.1:9/x"))
        let address = try #require(SocketAddress("127.0.0.1", port: 9))
        let code: Int = await withCheckedContinuation { continuation in
            loop.post {
                loop.connect(url, address: address).onClose = { code, _ in continuation.resume(returning: code) }
            }
        }
        #expect(code == 1_006)
        loop.stop()
    }

    @Test func aTakenPortIsAnErrorThatSaysSo() async throws {
        let running = try start()
        defer { running.stop() }
        var configuration = HTTPServer.Configuration()
        configuration.port = running.server.port
        let second = HTTPServer(configuration, loops: [running.loop], handler: { _ in HTTPResponse(status: 200) })
        let error = #expect(throws: NetError.self) { try second.start() }
        #expect(error?.code == .addressInUse)
    }
}

extension Slice where Base == UnsafeMutableBufferPointer<UInt8> {
    fileprivate func update(repeating value: UInt8) { for index in indices { base[index] = value } }
}

@Suite struct JSONMembersTests {
    private func members(_ text: String) -> [String: String]? {
        var result: [String: String] = [:]
        let isObject = Array(text.utf8).withUnsafeBufferPointer { bytes in
            JSONMembers.forEach(in: bytes) { key, value in
                result[String(decoding: key, as: UTF8.self)] =
                    JSONMembers.text(value, in: bytes) ?? String(decoding: bytes[value.range], as: UTF8.self)
            }
        }
        return isObject ? result : nil
    }

    @Test(arguments: [
        (#"{}"#, [:]),
        (#" { "a" : "x" , "b":1.5e3,"c":null } "#, ["a": "x", "b": "1.5e3", "c": "null"]),
        (#"{"a":{"b":"}","c":[1,{"d":"\""}]},"e":"f"}"#, ["a": #"{"b":"}","c":[1,{"d":"\""}]}"#, "e": "f"]),
        (#"{"a":"one\ntwo \u00e9 \\"}"#, ["a": "one\ntwo é \\"]),
    ])
    func finds(text: String, expected: [String: String]) { #expect(members(text) == expected) }

    @Test(arguments: [
        "", "[]", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":\"x}", "{\"a\":{\"b\":1}", "{}x", "{\"a\" 1}",
        "{\"a\":\"\\\"}",
    ])
    func refuses(text: String) { #expect(members(text) == nil) }

    @Test func randomBytesNeverTrap() {
        let valid = Array(#"{"type":"x","delta":"AAAA","n":{"a":[1,"\""]}}"#.utf8)
        for _ in 0..<20_000 {
            var bytes = valid
            for _ in 0..<Int.random(in: 1...4) {
                bytes[Int.random(in: bytes.indices)] = UInt8.random(in: .min ... .max)
            }
            bytes.removeLast(Int.random(in: 0...3))
            _ = members(String(decoding: bytes, as: UTF8.self))
        }
    }
}

@Suite struct Base64Tests {
    @Test func everyLengthAsFoundationDoesIt() {
        for count in 0...200 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            let expected = Data(bytes).base64EncodedString()
            var text = [UInt8](repeating: 0, count: 3 + Base64.encodedLength(count))
            let end = text.withUnsafeMutableBufferPointer { target in
                bytes.withUnsafeBufferPointer { Base64.encode($0.span, into: target, at: 3) }
            }
            #expect(end == text.count && String(decoding: text[3...], as: UTF8.self) == expected)
            var decoded = [UInt8](repeating: 0, count: count + 3)
            let length = decoded.withUnsafeMutableBufferPointer { target in
                Array(expected.utf8).withUnsafeBufferPointer { Base64.decode($0, into: target) }
            }
            #expect(length == count && Array(decoded[..<count]) == bytes)
        }
    }
    @Test(arguments: ["A", "AB", "ABC", "ABCDE", "A===", "AB=C", "=AAA", "AA A", "AAA\u{e9}", "AAAA====", "AA==AAAA"])
    func whatIsNoBase64IsRefused(text: String) {
        var target = [UInt8](repeating: 0, count: 64)
        let length = target.withUnsafeMutableBufferPointer { target in
            Array(text.utf8).withUnsafeBufferPointer { Base64.decode($0, into: target) }
        }
        #expect(length == nil)
    }
    @Test func whatDoesNotFitIsRefused() {
        var target = [UInt8](repeating: 0, count: 2)
        let length = target.withUnsafeMutableBufferPointer { target in
            Array("AAAA".utf8).withUnsafeBufferPointer { Base64.decode($0, into: target) }
        }
        #expect(length == nil)
    }
}
