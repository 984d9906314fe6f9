import Foundation
import Synchronization
import Testing

@testable import Net

/// A real server and a real client on loopback.
@Suite struct WebSocketTests {
    @Test func aSocketOnAnUnknownPathGetsAStatus() async throws {
        let server = try EchoServer()
        defer { server.stop() }
        let answer = await server.exchange(
            Self.upgrade.replacing("/echo", with: "/nope"))
        #expect(answer.contains(" 404 "))
    }

    @Test func messagesOfManySizesComeBack() async throws {
        let server = try EchoServer()
        let (loop, url, address) = try server.client()
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
        server.stop()
    }

    @Test func aMessageOverTheLimitClosesWith1009() async throws {
        let server = try EchoServer()
        let (loop, url, address) = try server.client()
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
        server.stop()
    }

    private static let upgrade =
        "GET /echo HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

    @Test func aPeerThatAnswersNoPingIsGivenUp() async throws {
        let (closed, report) = AsyncStream<(Int, String)>.makeStream()
        let server = try EchoServer { socket in
            socket.configuration.pingEveryMs = 40
            socket.configuration.pongTimeoutMs = 60
            socket.onClose = { report.yield(($0, $1)) }
        }
        // A peer that upgrades and then only reads: what it gets is a ping frame (0x89) and the end.
        let answer = await server.exchange(Self.upgrade)
        #expect(answer.contains(" 101 "))
        let reason = await closed.first { _ in true }
        #expect(reason?.0 == 1_006 && reason?.1 == "no answer to a ping")
        server.stop()
    }

    @Test func aPeerThatAnswersPingsOrSendsIsKept() async throws {
        let pings = Mutex(0)
        let server = try EchoServer { socket in
            socket.configuration.pingEveryMs = 20
            socket.configuration.pongTimeoutMs = 60
            socket.onClose = { _, _ in pings.withLock { $0 = -1 } }
        }
        let (loop, url, address) = try server.client()
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
        server.stop()
    }

    /// The reader stops; the kernel's buffers fill, then the queue, then `send` refuses. When the reader goes on, all
    /// that was accepted arrives, in order, and neither side has closed because of pings without an answer.
    @Test func aSlowReaderMakesTheSenderWait() async throws {
        let got = Mutex<[Int]>([])
        let reader = Mutex<Confined<WebSocket>?>(nil)
        let server = try EchoServer { socket in
            socket.configuration.pingEveryMs = 40
            socket.configuration.pongTimeoutMs = 40
            socket.onMessage = { bytes, _ in got.withLock { $0.append(Int(bytes[0]) << 8 | Int(bytes[1])) } }
            let box = Confined(socket, to: socket.loop)
            socket.onOpen = {
                box.value.pauseReading()
                reader.withLock { $0 = box }
            }
        }
        let (loop, url, address) = try server.client()
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
        server.stop()
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
}

extension Slice where Base == UnsafeMutableBufferPointer<UInt8> {
    fileprivate func update(repeating value: UInt8) { for index in indices { base[index] = value } }
}
