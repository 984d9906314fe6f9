// Over 400 lines: one connection: its requests, its answers and its upgrade share a phase.
internal import CLibwebsockets
internal import Foundation

/// One connection of the server, from its first byte to its end. Confined to its loop.
///
///     waiting ─→ answering ─→ writing ─→ waiting …         a request at a time, in order (RFC 9112 §9.3)
///        │                       └─────→ lingering ─→ end  after a refusal, or where the client wanted no more
///        └────→ webSocket ─────────────→ lingering ─→ end
///
/// libwebsockets brings the bytes (`raw` role: socket, TLS, what could not be written yet); what they mean is decided
/// here. Requests that came early wait unread: `HTTPRequestParser` keeps up to `readAheadLimit` bytes, then the socket
/// is not read any more, so that TCP slows the client.
final class HTTPConnection {
    /// How long a client may take, ms.
    enum Deadline {
        /// From the connection to the first byte. A client that means it sends at once; its first packet may be lost
        /// twice (1 s and 2 s, RFC 6298). Browsers open connections that they may not need: those are closed without a
        /// word, and opened again when they are needed.
        static let firstByte: UInt64 = 4_000
        /// The same over TLS, whose handshake takes several flights, each of which may be lost.
        static let firstByteTLS: UInt64 = 10_000
        /// From a request's first byte to the end of its head.
        static let head: UInt64 = 10_000
        /// Between two pieces of a body, and for the whole of it.
        static let bodyPiece: UInt64 = 10_000
        static let body: UInt64 = 120_000
        /// Between an answer and the next request.
        static let idle: UInt64 = 60_000
        /// Without taking a byte of the answer.
        static let write: UInt64 = 30_000
        /// After the last answer, for the client to close, and after each piece that it still sends: a reset would take
        /// the answer with it.
        static let linger: UInt64 = 1_000
        /// For all of these pieces.
        static let lingerWhole: UInt64 = 10_000
    }
    /// Bytes of later requests that are read before the answer to this one is sent.
    static let readAheadLimit = 32_768
    /// Bytes that still come after a refusal and are thrown away; more ends the connection.
    static let lingerLimit = 8 << 20
    /// Bytes written at a time, and times in one turn of the loop.
    private static let chunk = 16_384
    private static let writesPerTurn = 4

    private enum Phase {
        case waiting
        case answering
        case writing(HTTPResponse, sent: Int)
        case lingering(left: Int, until: UInt64)
        case webSocket
        case closed
    }

    let id: ConnectionTable.ID
    let source: UInt32
    private let peer: String
    private let host: ServerLoop
    private let server: HTTPServer
    private var wsi: OpaquePointer?
    private var phase = Phase.waiting
    /// In `.webSocket`. Not with the phase: a look at that would copy it for each message.
    private var socket: WebSocket?
    private var parser = HTTPRequestParser()
    private var head: HTTPRequestHead?
    /// When the head or the body of the current request began to come.
    private var begunMs: UInt64?
    private var deadlineMs: UInt64?
    /// When the answer that is being written must have been taken.
    private var answerDeadlineMs: UInt64 = 0
    /// It has authenticated, as its `ConnectionTable` knows. Not asked of that: each message of a WebSocket asks.
    private(set) var isProven = false
    /// As `ServerLoop` counts it.
    var heldBytes = 0
    var requestBegunMs: UInt64 { begunMs ?? .max }
    private var isPersistent = true
    private var isHeadRequest = false
    private var isReadingPaused = false
    private var isHalfClosed = false
    private var task: Task<Void, Never>?

    init(id: ConnectionTable.ID, address: SocketAddress, host: ServerLoop, server: HTTPServer) {
        self.id = id
        source = address.address
        peer = address.host
        self.host = host
        self.server = server
        deadlineMs = EventLoop.nowMs() + (server.configuration.tls == nil ? Deadline.firstByte : Deadline.firstByteTLS)
    }

    // MARK: What libwebsockets tells

    func adopted(_ wsi: OpaquePointer) { self.wsi = wsi }

    func received(_ bytes: UnsafeMutableRawBufferPointer) -> Int32 {
        guard let wsi else { return -1 }
        host.loop.begins(.requests)
        if let socket {
            let result = socket.received(bytes)
            if !isProven { host.holds(keptBytes, self) }
            return result
        }
        switch phase {
        case .closed, .webSocket: return -1
        case .lingering(let left, let until):
            guard bytes.count <= left else { return -1 }
            phase = .lingering(left: left - bytes.count, until: until)
            deadlineMs = max(deadlineMs ?? 0, min(until, EventLoop.nowMs() + Deadline.linger))
            return 0
        case .answering, .writing:
            parser.append(UnsafeRawBufferPointer(bytes))
            host.holds(keptBytes, self)
            if parser.unreadCount >= Self.readAheadLimit, !isReadingPaused {
                isReadingPaused = true
                lws_rx_flow_control(wsi, 0)
            }
            return 0
        case .waiting:
            // After its handshake libwebsockets would give TLS a time of its own.
            if server.configuration.tls != nil { lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0) }
            parser.append(UnsafeRawBufferPointer(bytes))
            defer { host.holds(keptBytes, self) }
            return advance()
        }
    }

    /// Bytes that are kept of requests, or of the messages of a WebSocket that is unproven.
    private var keptBytes: Int {
        guard let socket else { return parser.heldCount }
        return isProven ? 0 : socket.heldBytes
    }

    func writable() -> Int32 {
        guard let wsi else { return -1 }
        host.loop.begins(.requests)
        if let socket { return socket.writable() }
        switch phase {
        case .writing: return pump(wsi)
        case .lingering: return lws_partial_buffered(wsi) == 0 ? halfClose(wsi) : 0
        case .waiting, .answering, .webSocket, .closed: return 0
        }
    }

    /// libwebsockets has given the connection up.
    func ended() { host.ended(self) }

    func destroyed() {
        wsi = nil
        task?.cancel()
        socket?.closed()
        socket = nil
        phase = .closed
    }

    /// Ten times a second.
    func check(_ now: UInt64) {
        guard let deadlineMs, now >= deadlineMs else { return }
        self.deadlineMs = nil
        if case .waiting = phase, parser.isInsideRequest || head != nil {
            settle(refuse(HTTPFailure(408, "the request did not come in time")))
        } else {
            kill()
        }
    }

    /// Ends the connection at once, from outside its own callbacks.
    /// - Parameter dropsUnsent: an answer that the client does not read is dropped. One that cannot go on is sent as
    ///   far as it goes.
    func kill(dropsUnsent: Bool = true) {
        guard let wsi else { return }
        if dropsUnsent, case .writing = phase { dropUnsent(wsi) }
        if case .webSocket = phase {} else { phase = .closed }
        // Not when libwebsockets comes to it, which a busy loop lets wait: connections that give way make room now.
        parser = HTTPRequestParser()
        head = nil
        task?.cancel()
        lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC)
        // On a foreign loop libwebsockets looks at its timers only after an event of its own.
        lws_cancel_service(lws_get_context(wsi))
    }

    /// The kernel would keep the rest for minutes for a client that does not take it: it is thrown away at the close,
    /// and the client sees a reset.
    private func dropUnsent(_ wsi: OpaquePointer) {
        var atOnce = Glibc.linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            lws_get_socket_fd(wsi), SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<Glibc.linger>.size))
    }

    private func settle(_ result: Int32) { if result < 0 { kill(dropsUnsent: false) } }

    // MARK: Requests

    /// Reads requests until one is to be answered or more bytes are needed.
    private func advance() -> Int32 {
        while case .waiting = phase {
            switch parser.next() {
            case .incomplete:
                resumeReading()
                wait()
                return 0
            case .head(let head): begin(head)
            case .body(let body):
                guard let head else { return -1 }
                self.head = nil
                let result = answer(head, body)
                guard result >= 0 else { return result }
            case .failure(let failure):
                guard failure.status != 0 else { return -1 }
                return refuse(failure)
            }
        }
        return 0
    }

    private func wait() {
        let now = EventLoop.nowMs()
        guard parser.isInsideRequest || head != nil else {
            begunMs = nil
            return
        }
        let begun = begunMs ?? now
        begunMs = begun
        deadlineMs = head == nil ? begun + Deadline.head : min(begun + Deadline.body, now + Deadline.bodyPiece)
    }

    private func begin(_ head: HTTPRequestHead) {
        self.head = head
        begunMs = nil
        // Before its body comes, which may be long.
        if !isProven, server.proves(head.request) { proved() }
        parser.bodyLimit = server.bodyLimit(of: head.request.path)
        isHeadRequest = head.request.method == "HEAD"
        let isRefused = if case .known(let length) = head.bodyLength { length > parser.bodyLimit } else { false }
        // A client that has begun to send its body does not wait for it.
        guard head.expectsContinue, !isRefused, parser.unreadCount == 0 else { return }
        _ = write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
    }

    private func answer(_ head: HTTPRequestHead, _ body: [UInt8]) -> Int32 {
        var request = head.request
        request.body = body
        request.peer = peer
        isPersistent = head.isPersistent
        begunMs = nil
        deadlineMs = nil
        host.table.begin(id, at: EventLoop.nowMs())
        // OPTIONS of the server as a whole (RFC 9110 §9.3.7).
        if request.path == "*" {
            return respond(HTTPResponse(status: 204, headers: [("allow", "GET, HEAD, POST, PUT, DELETE, OPTIONS")]))
        }
        if WebSocketHandshake.isWanted(by: request) { return upgrade(request, isVersion10: head.isVersion10) }
        phase = .answering
        let handler = server.handler
        let loop = host.loop
        let box = Confined(self, to: loop)
        task = Task {
            let response = await handler(request)
            loop.post { box.value.answered(response) }
        }
        return 0
    }

    private func answered(_ response: HTTPResponse) {
        guard case .answering = phase, wsi != nil else { return }
        task = nil
        settle(respond(response))
    }

    private func refuse(_ failure: HTTPFailure, headers: [(name: String, value: String)] = []) -> Int32 {
        isPersistent = false
        var response = failure.response
        response.headers += headers
        return respond(response)
    }

    // MARK: Responses

    private func respond(_ response: HTTPResponse) -> Int32 {
        guard let wsi else { return -1 }
        let now = EventLoop.nowMs()
        host.table.answer(id, at: now)
        answerDeadlineMs = now + server.configuration.pace.limitMs(bytes: response.length)
        var bytes = ResponseHead.bytes(response, closes: !isPersistent, at: Int(time(nil)))
        guard bytes.count <= ResponseHead.limit else { return -1 }
        var sent = 0
        if hasNoBody(response) {
            sent = response.length
        } else if case .bytes(let body) = response.body, body.count + bytes.count <= Self.chunk {
            // Head and body in one packet.
            bytes += body
            sent = body.count
        }
        guard write(bytes) else { return -1 }
        phase = .writing(response, sent: sent)
        return pump(wsi)
    }

    private func hasNoBody(_ response: HTTPResponse) -> Bool {
        isHeadRequest || response.status == 204 || response.status == 304 || response.length == 0
    }

    /// Writes on while the kernel takes it, a few pieces a turn.
    private func pump(_ wsi: OpaquePointer) -> Int32 {
        guard case .writing(let response, var sent) = phase else { return 0 }
        deadlineMs = min(answerDeadlineMs, EventLoop.nowMs() + Deadline.write)
        for _ in 0..<Self.writesPerTurn where sent < response.length {
            guard lws_partial_buffered(wsi) == 0 else { break }
            let count = min(Self.chunk, response.length - sent)
            guard let piece = piece(of: response, sent, count), write(piece) else { return -1 }
            sent += count
        }
        phase = .writing(response, sent: sent)
        guard sent < response.length else { return finished() }
        lws_callback_on_writable(wsi)
        return 0
    }

    private func piece(of response: HTTPResponse, _ from: Int, _ count: Int) -> [UInt8]? {
        switch response.body {
        case .bytes(let bytes): return Array(bytes[from..<from + count])
        case .part(let source, let range):
            let start = range.lowerBound + from
            guard let bytes = try? source.read(start..<start + count), bytes.count == count else { return nil }
            return bytes
        }
    }

    private func write(_ bytes: [UInt8]) -> Bool {
        guard let wsi else { return false }
        var bytes = bytes
        return bytes.withUnsafeMutableBytes {
            lws_write(wsi, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count, clws_write_raw()) >= 0
        }
    }

    private func finished() -> Int32 {
        guard isPersistent else { return linger() }
        phase = .waiting
        isHeadRequest = false
        deadlineMs = EventLoop.nowMs() + Deadline.idle
        host.table.wait(id, at: EventLoop.nowMs())
        defer { host.holds(keptBytes, self) }
        return advance()
    }

    // MARK: The end

    /// Nothing more is said; what the client still sends is thrown away until it closes too.
    private func linger() -> Int32 {
        guard let wsi else { return -1 }
        socket = nil
        phase = .lingering(left: Self.lingerLimit, until: EventLoop.nowMs() + Deadline.lingerWhole)
        deadlineMs = EventLoop.nowMs() + Deadline.linger
        resumeReading()
        guard lws_partial_buffered(wsi) == 0 else {
            deadlineMs = EventLoop.nowMs() + Deadline.write
            lws_callback_on_writable(wsi)
            return 0
        }
        return halfClose(wsi)
    }

    private func halfClose(_ wsi: OpaquePointer) -> Int32 {
        guard !isHalfClosed else { return 0 }
        isHalfClosed = true
        deadlineMs = EventLoop.nowMs() + Deadline.linger
        // TLS has an end of its own, which libwebsockets sends when it closes.
        if server.configuration.tls == nil { shutdown(lws_get_socket_fd(wsi), Int32(SHUT_WR)) }
        return 0
    }

    private func resumeReading() {
        guard isReadingPaused, let wsi else { return }
        isReadingPaused = false
        lws_rx_flow_control(wsi, 1)
    }

    // MARK: WebSocket

    /// A request had a valid key or login, or a WebSocket's first message was accepted.
    private func proved() {
        guard !isProven else { return }
        isProven = true
        host.table.prove(id)
        host.holds(keptBytes, self)
    }

    private func upgrade(_ request: HTTPRequest, isVersion10: Bool) -> Int32 {
        let handshake: WebSocketHandshake
        do throws(HTTPFailure) {
            handshake = try WebSocketHandshake(
                request, isVersion10: isVersion10, subprotocols: server.configuration.subprotocols)
        } catch {
            return refuse(
                error, headers: error.status == 426 ? [("upgrade", "websocket"), ("sec-websocket-version", "13")] : [])
        }
        if let decide = server.deferredUpgrade { return ask(decide, request) }
        let status = server.refusal(of: request)
        guard status == 0 else { return refuse(upgrade: status) }
        return open(request, handshake.response, server.accept)
    }

    private func refuse(upgrade status: Int) -> Int32 {
        refuse(HTTPFailure(status, "no WebSocket can be opened here, or not with these credentials"))
    }

    /// As a request is answered: meanwhile what the client sends waits.
    private func ask(_ decide: @escaping HTTPServer.DeferredUpgrade, _ request: HTTPRequest) -> Int32 {
        phase = .answering
        let loop = host.loop
        let box = Confined(self, to: loop)
        task = Task {
            let decision = await decide(request)
            loop.post { box.value.decided(decision, request) }
        }
        return 0
    }

    private func decided(_ decision: HTTPServer.UpgradeDecision, _ request: HTTPRequest) {
        guard case .answering = phase, wsi != nil else { return }
        task = nil
        switch decision {
        case .refuse(let status): settle(refuse(upgrade: status))
        case .accept(let subprotocol, let handler):
            let handshake = try? WebSocketHandshake(
                request, isVersion10: false, subprotocols: Set([subprotocol].compactMap { $0 }))
            guard let handshake else { return settle(-1) }
            resumeReading()
            settle(open(request, handshake.response, handler))
        }
    }

    private func open(_ request: HTTPRequest, _ response: HTTPResponse, _ accept: (WebSocket) -> Bool) -> Int32 {
        guard let wsi else { return -1 }
        let socket = WebSocket(
            loop: host.loop,
            handshake: .init(path: request.path, query: request.query, headers: request.headers, peer: request.peer),
            role: .server)
        socket.onProof = { [weak self] in self?.proved() }
        guard accept(socket) else { return refuse(HTTPFailure(403, "this WebSocket was not let in")) }
        guard write(ResponseHead.bytes(response, closes: false, at: 0)) else { return -1 }
        phase = .webSocket
        let now = EventLoop.nowMs()
        host.table.answer(id, at: now)
        begunMs = now
        self.socket = socket
        let unread = parser.takeUnread()
        socket.onFinished = { [unowned self] in self.settle(self.linger()) }
        socket.opened(wsi)
        guard !unread.isEmpty else { return 0 }
        var bytes = unread
        return bytes.withUnsafeMutableBytes { received($0) }
    }
}
