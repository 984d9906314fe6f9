import Bridge
import Net

/// A WebSocket proxy that reads along. The server behind is asked first, and the carrier is told what that says to the
/// upgrade.
final class StreamTap: Sendable {
    /// Streams at once.
    static let streamLimit = 64
    /// Milliseconds in which a carrier must take the connection that was opened for it.
    static let joinLimitMs: UInt64 = 5_000
    /// Milliseconds for the streams to close at the end.
    static let endLimitMs: UInt64 = 2_000
    /// HTTP statuses for a server that cannot be reached, and for too many streams.
    private static let badGateway = 502
    private static let unavailable = 503
    /// Of the connection, not of the request (RFC 9110 §7.6.1), or written anew by the client.
    private static let own: Set<String> = [
        "connection", "upgrade", "host", "keep-alive", "te", "trailer", "transfer-encoding", "content-length", "origin",
        "proxy-authenticate", "proxy-authorization", "proxy-connection", "sec-websocket-key", "sec-websocket-version",
        "sec-websocket-extensions", "sec-websocket-protocol", "sec-websocket-accept",
    ]

    private let dialect: any MediaStreamDialect.Type
    private let loop: EventLoop
    private let streams: Confined<Streams>
    private let dialer: Confined<NetworkDialer>
    private let showsContent: Bool
    private let write: @Sendable (String) -> Void

    /// Of the loop.
    private final class Streams {
        var live: [Int: TappedStream] = [:]
        var opening = 0
        var count = 0
        var isEnding = false
    }

    init(
        _ dialect: any MediaStreamDialect.Type, forward: WebSocketURL, showsContent: Bool, on loop: EventLoop,
        _ write: @escaping @Sendable (String) -> Void
    ) {
        self.dialect = dialect
        self.loop = loop
        self.showsContent = showsContent
        self.write = write
        streams = Confined(Streams(), to: loop)
        dialer = Confined(NetworkDialer(forward, on: loop), to: loop)
    }

    func decide(_ request: HTTPRequest) async -> HTTPServer.UpgradeDecision {
        await withCheckedContinuation { continuation in
            loop.post { [self] in dial(request) { continuation.resume(returning: $0) } }
        }
    }

    /// What the carrier's request asks of the server behind.
    static func attempt(_ request: HTTPRequest) -> StreamAttempt {
        var attempt = StreamAttempt()
        let hops = Set(
            (request.headers["connection"] ?? "").lowercased().split(separator: ",")
                .map { String($0.filter { $0 != " " }) })
        attempt.headers = request.headers.filter { !own.contains($0.key) && !hops.contains($0.key) }
            .sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        attempt.query = request.query
        attempt.subprotocols = (request.headers["sec-websocket-protocol"] ?? "").split(separator: ",")
            .map { String($0.filter { $0 != " " }) }.filter { !$0.isEmpty }
        return attempt
    }

    private func dial(_ request: HTTPRequest, _ done: @escaping (HTTPServer.UpgradeDecision) -> Void) {
        let streams = streams.value
        guard streams.live.count + streams.opening < Self.streamLimit, !streams.isEnding else {
            return done(.refuse(Self.unavailable))
        }
        streams.opening += 1
        dialer.value.dial(Self.attempt(request)) { [self] outcome in
            streams.opening -= 1
            switch outcome {
            case .open(let socket, let subprotocol, _): done(opened(socket, subprotocol))
            case .refused(let status):
                write("the server refused a stream with HTTP \(status)")
                done(.refuse(status))
            case .broken(let reason), .failed(let reason):
                write("the server could not be reached: \(reason)")
                done(.refuse(Self.badGateway))
            }
        }
    }

    /// The server's end waits for the carrier's.
    private func opened(_ socket: any MessageSocket, _ subprotocol: String?) -> HTTPServer.UpgradeDecision {
        guard let server = socket as? WebSocket else { return .refuse(Self.badGateway) }
        let streams = streams.value
        streams.count += 1
        let number = streams.count
        let stream = TappedStream(
            number, server, log: TapLog(dialect, showsContent: showsContent), limitMs: Self.joinLimitMs, write)
        streams.live[number] = stream
        stream.onEnd = { streams.live[number] = nil }
        let box = Confined(stream, to: loop)
        return .accept(subprotocol: subprotocol) { box.value.join($0) }
    }

    /// Closes what is open, and waits a moment for that.
    func end() async {
        loop.post { [self] in
            streams.value.isEnding = true
            for stream in streams.value.live.values.sorted(by: { $0.number < $1.number }) { stream.end() }
        }
        let deadline = EventLoop.nowMs() + Self.endLimitMs
        while EventLoop.nowMs() < deadline {
            let isOver = await withCheckedContinuation { continuation in
                loop.post { [self] in continuation.resume(returning: streams.value.live.isEmpty) }
            }
            if isOver { return }
            try? await Task.sleep(for: .milliseconds(20))
        }
    }
}

/// One stream through the tap. Confined to its loop.
final class TappedStream {
    /// Bytes that may wait for one end before the other is no longer read.
    static let waitingLimit = 256 << 10
    /// Bytes of a message, and that may wait before the stream is given up.
    static let messageLimit = 4 << 20
    static let queueLimit = 8 << 20
    /// Try Again Later (IANA's registry of close codes), and what stands for a connection that was lost.
    private static let overloaded: UInt16 = 1_013
    private static let lost: UInt16 = 1_011
    static let goingAway: UInt16 = 1_001

    let number: Int
    var onEnd: (() -> Void)?
    private let server: WebSocket
    private var carrier: WebSocket?
    private var log: TapLog
    private let write: @Sendable (String) -> Void
    private let openedAt: UInt64
    private var ticker: EventLoop.Ticker?
    private var isOver = false

    init(
        _ number: Int, _ server: WebSocket, log: TapLog, limitMs: UInt64, _ write: @escaping @Sendable (String) -> Void
    ) {
        self.number = number
        self.server = server
        self.log = log
        self.write = write
        openedAt = server.loop.timeMs
        Self.configure(server)
        server.pauseReading()
        server.onClose = { [self] code, reason in closed(code, reason, byServer: true) }
        let deadline = openedAt + limitMs
        ticker = server.loop.addTicker(every: .tenth) { [unowned self] now in
            guard now >= deadline else { return }
            self.ticker?.cancel()
            if self.carrier == nil { self.server.close(code: 1_001) }
        }
    }

    private static func configure(_ socket: WebSocket) {
        socket.configuration.maximumMessage = messageLimit
        socket.configuration.sendQueueLimit = queueLimit
    }

    /// The carrier's end has come. False: the server's is gone already.
    func join(_ carrier: WebSocket) -> Bool {
        guard !isOver else { return false }
        ticker?.cancel()
        Self.configure(carrier)
        self.carrier = carrier
        carrier.onMessage = { [unowned self] in self.pass($0, $1, .carrier) }
        carrier.onClose = { [self] code, reason in closed(code, reason, byServer: false) }
        carrier.onDrained = { [unowned self] in self.server.resumeReading() }
        server.onMessage = { [unowned self] in self.pass($0, $1, .application) }
        server.onDrained = { [weak carrier] in carrier?.resumeReading() }
        say("open")
        server.resumeReading()
        return true
    }

    private func say(_ text: String) { write("\(number)  \(text)") }

    private func pass(_ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, _ sender: WireMessage.Sender) {
        guard let carrier, !isOver else { return }
        for line in log.lines(bytes, kind, from: sender, atMs: server.loop.timeMs - min(server.loop.timeMs, openedAt)) {
            say(line)
        }
        let (from, to) = sender == .carrier ? (carrier, server) : (server, carrier)
        guard to.send(kind, capacity: bytes.count, { $0.update(fromContentsOf: bytes) }) else {
            return end("one end takes no more", Self.overloaded)
        }
        if to.queuedBytes > Self.waitingLimit { from.pauseReading() }
    }

    private func closed(_ code: Int, _ reason: String, byServer: Bool) {
        let text = reason.isEmpty ? "" : " (\(reason.count) characters of reason)"
        let end = byServer ? "server" : "carrier"
        finish("the \(end) closed with \(code)\(text)") {
            (byServer ? carrier : server)?.close(code: Self.passed(code))
        }
    }

    /// Closes both ends.
    func end(_ why: String = "the tap ends", _ code: UInt16 = TappedStream.goingAway) {
        finish(why) {
            carrier?.close(code: code)
            server.close(code: code)
        }
    }

    private func finish(_ why: String, _ close: () -> Void) {
        guard !isOver else { return }
        isOver = true
        ticker?.cancel()
        say(why)
        for line in log.summary { say(line) }
        close()
        onEnd?()
        onEnd = nil
    }

    /// A code that may stand in a close frame (RFC 6455 §7.4.1).
    static func passed(_ code: Int) -> UInt16 {
        switch code {
        case 1_000...1_003, 1_007...1_014, 3_000...4_999: UInt16(code)
        case 1_005: 1_000
        default: lost
        }
    }
}
