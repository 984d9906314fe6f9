import Foundation
import Synchronization
import Testing

@testable import Net

/// A real server and real clients on loopback; ConnectionTableTests has the rules.
@Suite struct UnprovenConnectionTests {
    /// A WebSocket of a client: whether it opened, what came, how it ended.
    private enum Happening: Equatable {
        case open(Int), message(Int), closed(Int, code: Int)
    }

    /// Opens a WebSocket; its server's end comes by `EchoServer.onSocket`.
    private static func connect(
        _ number: Int, to server: EchoServer, path: String, _ report: AsyncStream<Happening>.Continuation
    ) throws {
        let (loop, _, address) = try server.client()
        let url = try #require(WebSocketURL("ws://127.0.0.1:\(server.http.port)\(path)"))
        loop.post {
            let socket = loop.connect(url, address: address)
            socket.onOpen = { report.yield(.open(number)) }
            socket.onMessage = { [unowned socket] _, _ in
                report.yield(.message(number))
                socket.close()
            }
            socket.onClose = { code, _ in report.yield(.closed(number, code: code)) }
        }
    }

    private static func limits(loose: Int = 100, perSource: Int = 100) -> ConnectionTable.Limits {
        ConnectionTable.Limits(loose: loose, loosePerSource: perSource, graceMs: 500)
    }

    @Test func theOldestWebSocketOfAStrangerGivesWayAndOneThatProvedItselfStays() async throws {
        let (happenings, report) = AsyncStream<Happening>.makeStream()
        let (servers, accepted) = AsyncStream<Confined<WebSocket>>.makeStream()
        let server = try EchoServer(limits: Self.limits(perSource: 2)) { accepted.yield(Confined($0, to: $0.loop)) }
        defer { server.stop() }
        var next = happenings.makeAsyncIterator(), ends = servers.makeAsyncIterator()
        // The first is proven by its first message, as a media stream by its `start`.
        try Self.connect(0, to: server, path: "/echo", report)
        #expect(await next.next() == .open(0))
        let end = await ends.next()
        let first = try #require(end)
        server.loop.post { first.value.prove() }
        for number in 1...2 {
            try Self.connect(number, to: server, path: "/echo", report)
            #expect(await next.next() == .open(number))
        }
        try Self.connect(3, to: server, path: "/echo", report)
        #expect(await next.next() == .open(3))
        #expect(await next.next() == .closed(1, code: 1_006))
        server.loop.post { first.value.send(text: "still here") }
        #expect(await next.next() == .message(0))
    }

    @Test func anUpgradeWithAValidKeyIsProven() async throws {
        let (happenings, report) = AsyncStream<Happening>.makeStream()
        let (servers, accepted) = AsyncStream<Confined<WebSocket>>.makeStream()
        let server = try EchoServer(
            limits: Self.limits(loose: 0), onSocket: { accepted.yield(Confined($0, to: $0.loop)) },
            proves: { $0.queryValue("key") == "right" })
        defer { server.stop() }
        var next = happenings.makeAsyncIterator(), ends = servers.makeAsyncIterator()
        try Self.connect(0, to: server, path: "/echo?key=right", report)
        #expect(await next.next() == .open(0))
        let end = await ends.next()
        let proven = try #require(end)
        try Self.connect(1, to: server, path: "/echo?key=wrong", report)
        #expect(await next.next() == .open(1))
        #expect(await next.next() == .closed(1, code: 1_006))
        server.loop.post { proven.value.send(text: "still here") }
        #expect(await next.next() == .message(0))
    }

    @Test func anAnswerHasATimeOfItsSize() {
        let pace = HTTPServer.Pace()
        #expect(pace.limitMs(bytes: 0) == 30_000)
        #expect(pace.limitMs(bytes: 409_600) == 130_000)
        // An hour's recording in two channels, over a line of 64 kbit/s: four hours.
        #expect(pace.limitMs(bytes: 115_200_000) > 4 * 3_600_000)
        #expect(pace.limitMs(bytes: .max) > pace.limitMs(bytes: Int.max - (1 << 40)))
    }

    /// The client takes what its window holds, and nothing after.
    @Test func anAnswerThatIsNotTakenInTimeIsGivenUp() async throws {
        let (ends, end) = AsyncStream<UInt64>.makeStream()
        let loop = try EventLoop(name: "slow")
        loop.start()
        var configuration = HTTPServer.Configuration()
        configuration.port = 0
        configuration.pace = .init(baseMs: 200, slowestRate: 1 << 30)
        let server = HTTPServer(
            configuration, loops: [loop],
            handler: { _ in
                HTTPResponse(status: 200, body: .part(of: LongSource(end), range: 0..<LongSource.length))
            })
        try server.start()
        let client = try #require(ClientSocket(port: server.port))
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        var iterator = ends.makeAsyncIterator()
        let taken = await iterator.next()
        // Without a limit for the whole, it would be the 30 s in which no byte was taken.
        #expect(taken.map { $0 < 20_000 } == true)
        client.close()
        server.stop()
        loop.stop()
    }
}

/// Many zeros; tells for how many milliseconds it was held, by its loop's clock.
private final class LongSource: ByteSource {
    static let length = 256 << 20
    let count = LongSource.length
    private let end: AsyncStream<UInt64>.Continuation
    private let begun = Atomic<UInt64>(0)
    init(_ end: AsyncStream<UInt64>.Continuation) { self.end = end }
    deinit {
        let first = begun.load(ordering: .relaxed), now = EventLoop.nowMs()
        end.yield(now - min(now, first))
    }
    func read(_ range: Range<Int>) -> [UInt8] {
        // A busy machine may take long to begin.
        _ = begun.compareExchange(expected: 0, desired: EventLoop.nowMs(), ordering: .relaxed)
        return [UInt8](repeating: 0, count: range.count)
    }
}
