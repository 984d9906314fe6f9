// Over 400 lines: client and server share one state machine of a connection.
internal import CLibwebsockets
internal import Foundation

/// One WebSocket connection, either end. Confined to its loop.
///
/// The client's end is libwebsockets' own. On the server's end frames are read and written here: libwebsockets takes
/// unmasked frames and loses close codes without an error.
///
/// Backpressure both ways: `send` refuses once `sendQueueLimit` bytes wait, and `pauseReading` stops the kernel's
/// buffer from being read, so that TCP slows the peer. Messages are delivered whole, however they were fragmented.
public final class WebSocket {
    public enum Kind: Sendable { case text, binary }
    enum Role { case client, server }

    /// Milliseconds for the far end to answer our close frame.
    static let closeLimitMs: UInt64 = 2_000
    /// Bytes of a subprotocol's name.
    static let subprotocolLimit = 256

    public struct Configuration: Sendable {
        /// Larger messages close the connection with 1009, bytes.
        public var maximumMessage = 1 << 20
        /// Bytes waiting to be written before `send` refuses.
        public var sendQueueLimit = 1 << 20
        /// Milliseconds between pings, and without an answer until the connection is given up.
        public var pingEveryMs: UInt64 = 20_000
        public var pongTimeoutMs: UInt64 = 10_000
        public init() {}
    }

    /// What the upgrade request said. Headers have lower-case names.
    public struct Handshake: Sendable {
        public var path: String
        public var query: [(name: String, value: String)]
        public var headers: [String: String]
        public var peer: String

        public init(
            path: String, query: [(name: String, value: String)], headers: [String: String], peer: String
        ) {
            self.path = path
            self.query = query
            self.headers = headers
            self.peer = peer
        }
    }

    public let loop: EventLoop
    public internal(set) var handshake: Handshake
    public var configuration: Configuration
    public var onOpen: (() -> Void)?
    public var onMessage: ((UnsafeBufferPointer<UInt8>, Kind) -> Void)?
    /// Close code as received; 1005 if the close frame had none, 1006 if there was no close frame. Called once.
    public var onClose: ((Int, String) -> Void)?
    /// The HTTP status with which the far end refused our upgrade.
    public internal(set) var refusedStatus: Int?
    /// The subprotocol that the far end of our upgrade chose; nil: none.
    public internal(set) var subprotocol: String?
    /// Pings that were sent, and pongs that came.
    public private(set) var pings = 0
    public private(set) var pongs = 0
    /// All that waited has been handed to the kernel.
    public var onDrained: (() -> Void)?

    let role: Role
    var wsi: OpaquePointer?
    var clientHeaders: [(String, String)] = []
    /// Client: `connect` has not returned. What fails meanwhile is reported afterwards: only then does `onClose` hear
    /// it.
    var isBeginning = false
    private(set) var failedAtOnce: String?
    /// Server: the close handshake is over, and the connection may end.
    var onFinished: (() -> Void)?
    /// Server: who opened it has authenticated.
    var onProof: (() -> Void)?
    /// Client: a message that comes in pieces.
    private var assembling: [UInt8] = []
    /// Server: what the bytes mean, and those that came while reading was paused.
    private var frames = WebSocketFrameParser()
    private var unread: [UInt8] = []
    private var isReading = false
    private var isFinished = false
    private var closeDeadlineMs: UInt64?
    private var queue: [Slab] = []
    private var queueHead = 0
    private var pool: [Slab] = []
    public private(set) var queuedBytes = 0
    private var isClosing = false
    private var closeCode: UInt16 = 1000
    private var peerClose: (Int, String)?
    private var didReportClose = false
    private var ticker: EventLoop.Ticker?
    private var lastPing: UInt64 = 0
    private var isAwaitingPong = false
    private var isReadingPaused = false

    /// RFC 6455 §11.8.
    private enum Opcode: UInt8 { case text = 1, binary = 2, close = 8, ping = 9, pong = 10 }

    /// A buffer with room in front for libwebsockets, or for the head of a frame of ours (10 bytes at most).
    private struct Slab {
        var memory: UnsafeMutablePointer<UInt8>
        var capacity: Int
        var count: Int
        var opcode: Opcode
    }
    private static let headRoom = clws_pre()
    private static let poolLimit = 8

    init(loop: EventLoop, handshake: Handshake, configuration: Configuration = Configuration(), role: Role) {
        self.role = role
        self.loop = loop
        self.handshake = handshake
        self.configuration = configuration
    }

    deinit {
        for slab in queue[queueHead...] { slab.memory.deallocate() }
        for slab in pool { slab.memory.deallocate() }
    }

    public var isOpen: Bool { wsi != nil && !isClosing }

    /// Server: its first message has shown that it may be here. Until then it gives way as a stranger's connection
    /// does, unless its upgrade had a valid key or login.
    public func prove() {
        loop.preconditionOnLoop()
        onProof?()
    }

    /// Bytes that are kept: of a message that is not complete, those that are not read yet, and those to be sent.
    var heldBytes: Int { frames.heldCount + unread.count + queuedBytes }

    // MARK: Sending

    /// Lets `fill` write at most `capacity` bytes and sends what it returns. False: closed, or over the queue's limit.
    @discardableResult
    public func send(_ kind: Kind, capacity: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Int) -> Bool {
        enqueue(kind == .text ? .text : .binary, capacity: capacity, fill)
    }

    @discardableResult
    public func send(text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            send(.text, capacity: bytes.count) { target in
                _ = target.update(fromContentsOf: bytes)
                return bytes.count
            }
        }
    }

    private func enqueue(_ opcode: Opcode, capacity: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Int) -> Bool {
        loop.preconditionOnLoop()
        guard let wsi, !isClosing || opcode == .close, queuedBytes <= configuration.sendQueueLimit || opcode == .close
        else { return false }
        var slab: Slab
        if let last = pool.last, last.capacity >= capacity {
            slab = last
            pool.removeLast()
        } else {
            let size = max(capacity, 512)
            slab = Slab(memory: .allocate(capacity: size + Self.headRoom), capacity: size, count: 0, opcode: opcode)
        }
        slab.opcode = opcode
        slab.count = fill(UnsafeMutableBufferPointer(start: slab.memory + Self.headRoom, count: slab.capacity))
        guard slab.count >= 0 else {
            recycle(slab)
            return false
        }
        // Straight to the socket while nothing waits; one write, no wake-up.
        if queueHead == queue.count, lws_partial_buffered(wsi) == 0 {
            defer { recycle(slab) }
            return write(slab, wsi)
        }
        queuedBytes += slab.count
        queue.append(slab)
        if queue.count - queueHead == 1 { lws_callback_on_writable(wsi) }
        return true
    }

    private func recycle(_ slab: Slab) {
        if pool.count < Self.poolLimit { pool.append(slab) } else { slab.memory.deallocate() }
    }

    private func write(_ slab: Slab, _ wsi: OpaquePointer) -> Bool {
        let payload = slab.memory + Self.headRoom
        guard role == .server else {
            let mode =
                slab.opcode == .text ? LWS_WRITE_TEXT : slab.opcode == .binary ? LWS_WRITE_BINARY : LWS_WRITE_PING
            return lws_write(wsi, payload, slab.count, mode) >= 0
        }
        // A final frame without a mask, as a server sends it (§5.2).
        let lengthBytes = slab.count < 126 ? 0 : slab.count < 65_536 ? 2 : 8
        let start = payload - 2 - lengthBytes
        start[0] = 0x80 | slab.opcode.rawValue
        start[1] = lengthBytes == 0 ? UInt8(slab.count) : lengthBytes == 2 ? 126 : 127
        for index in 0..<lengthBytes {
            start[2 + index] = UInt8(truncatingIfNeeded: slab.count >> (8 * (lengthBytes - 1 - index)))
        }
        return lws_write(wsi, start, slab.count + 2 + lengthBytes, clws_write_raw()) >= 0
    }

    func writable() -> Int32 {
        guard let wsi else { return -1 }
        while queueHead < queue.count {
            let slab = queue[queueHead]
            let isWritten = write(slab, wsi)
            queueHead += 1
            queuedBytes -= slab.count
            recycle(slab)
            if !isWritten { return -1 }
            if lws_partial_buffered(wsi) != 0 { break }
        }
        if queueHead < queue.count {
            lws_callback_on_writable(wsi)
            return 0
        }
        queue.removeAll(keepingCapacity: true)
        queueHead = 0
        if isClosing {
            guard role == .client else {
                finishIfDone()
                return 0
            }
            lws_close_reason(wsi, lws_close_status(rawValue: UInt32(closeCode)), nil, 0)
            return -1
        }
        onDrained?()
        return 0
    }

    /// Sends what waits, then a close frame (RFC 6455 §7.4).
    public func close(code: UInt16 = 1000) {
        loop.preconditionOnLoop()
        guard let wsi, !isClosing else { return }
        isClosing = true
        closeCode = code
        closeDeadlineMs = EventLoop.nowMs() + Self.closeLimitMs
        guard role == .server else {
            lws_callback_on_writable(wsi)
            return
        }
        sendClose(code)
        // The answer has to be read.
        if isReadingPaused { resumeReading() }
    }

    /// nil: a close frame without a code.
    private func sendClose(_ code: UInt16?) {
        _ = enqueue(.close, capacity: 2) { buffer in
            guard let code else { return 0 }
            buffer[0] = UInt8(code >> 8)
            buffer[1] = UInt8(code & 0xFF)
            return 2
        }
    }

    /// Both close frames are there, and ours is written: the server ends the connection first (§7.1.1).
    private func finishIfDone() {
        guard isFinished, queueHead == queue.count, let finish = onFinished else { return }
        onFinished = nil
        wsi = nil
        report()
        finish()
    }

    // MARK: Receiving

    /// Stops reading from the socket until `resumeReading`.
    public func pauseReading() {
        guard let wsi else { return }
        isReadingPaused = true
        lws_rx_flow_control(wsi, 0)
    }
    public func resumeReading() {
        guard let wsi else { return }
        isReadingPaused = false
        lastPing = EventLoop.nowMs()  // a pong may have waited for us
        lws_rx_flow_control(wsi, 1)
        guard !unread.isEmpty else { return }
        // What came with the message that paused us; not from within its handler.
        loop.post { [box = Confined(self, to: loop)] in box.value.readUnread() }
    }

    private func readUnread() {
        guard wsi != nil, !isReadingPaused, !isReading else { return }
        var bytes = unread
        unread = []
        bytes.withUnsafeMutableBytes { read($0) }
    }

    /// Server: bytes of frames, which are unmasked in place.
    func received(_ bytes: UnsafeMutableRawBufferPointer) -> Int32 {
        guard wsi != nil else { return -1 }
        isAwaitingPong = false  // any received frame shows that the peer is alive
        guard !isReadingPaused, !isReading, unread.isEmpty else {
            unread.append(contentsOf: bytes)
            return 0
        }
        read(bytes)
        return 0
    }

    private func read(_ bytes: UnsafeMutableRawBufferPointer) {
        isReading = true
        defer { isReading = false }
        frames.maximumMessage = configuration.maximumMessage
        var used = 0
        while used < bytes.count, !isFinished {
            guard !isReadingPaused else {
                unread = Array(bytes[used...]) + unread
                return
            }
            let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[used...])
            let step = frames.next(rest)
            used += step.consumed
            guard let event = step.event else { return }
            if let range = step.payload {
                let payload = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(rest)[range])
                take(event, payload.assumingMemoryBound(to: UInt8.self))
            } else {
                frames.takePayload().withUnsafeBufferPointer { take(event, $0) }
            }
        }
    }

    private func take(_ event: WebSocketFrameParser.Event, _ payload: UnsafeBufferPointer<UInt8>) {
        switch event {
        // Messages that arrive after our close are dropped.
        case .text: if !isClosing { onMessage?(payload, .text) }
        case .binary: if !isClosing { onMessage?(payload, .binary) }
        case .pong: ponged()
        case .ping:
            _ = enqueue(.pong, capacity: payload.count) { buffer in
                if let source = payload.baseAddress { buffer.baseAddress?.update(from: source, count: payload.count) }
                return payload.count
            }
        case .close(let code):
            let reason = payload.count > 2 ? String(decoding: payload.dropFirst(2), as: UTF8.self) : ""
            peerClose = (Int(code ?? 1005), reason)
            if !isClosing {
                isClosing = true
                sendClose(code)  // the code is echoed (§5.5.1)
            }
            finish()
        case .failure(let code):
            if !isClosing {
                isClosing = true
                closeCode = code
                sendClose(code)
            }
            finish()
        }
    }

    private func finish() {
        isFinished = true
        closeDeadlineMs = EventLoop.nowMs() + Self.closeLimitMs
        guard let wsi else { return }
        if queueHead == queue.count { finishIfDone() } else { lws_callback_on_writable(wsi) }
    }

    /// Client: a piece of a message.
    func received(_ bytes: UnsafeRawPointer?, _ count: Int) -> Int32 {
        guard let wsi else { return -1 }
        isAwaitingPong = false  // any received frame shows that the peer is alive
        let base = bytes?.assumingMemoryBound(to: UInt8.self)
        let remaining = Int(clamping: lws_remaining_packet_payload(wsi))
        let isLast = lws_is_final_fragment(wsi) != 0 && remaining == 0
        // The size stands in the frame's header: refuse before buffering.
        let (sum, overflow) = (assembling.count + count).addingReportingOverflow(remaining)
        if overflow || sum > configuration.maximumMessage {
            lws_close_reason(wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, nil, 0)
            return -1
        }
        let kind: Kind = lws_frame_is_binary(wsi) != 0 ? .binary : .text
        if isLast, assembling.isEmpty {
            onMessage?(UnsafeBufferPointer(start: base, count: count), kind)
            return 0
        }
        assembling.append(contentsOf: UnsafeBufferPointer(start: base, count: count))
        if isLast {
            let message = assembling
            assembling = []
            message.withUnsafeBufferPointer { onMessage?($0, kind) }
        }
        return 0
    }

    // MARK: Lifetime

    func opened(_ wsi: OpaquePointer) {
        self.wsi = wsi
        lastPing = EventLoop.nowMs()
        ticker = loop.addTicker(every: .tenth) { [unowned self] now in self.keepAlive(now) }
        onOpen?()
    }

    func ponged() {
        pongs += 1
        isAwaitingPong = false
    }

    private func keepAlive(_ now: UInt64) {
        guard let wsi else { return }
        if let closeDeadlineMs, now >= closeDeadlineMs {
            self.closeDeadlineMs = nil
            return end(wsi)
        }
        // While we read nothing we cannot know whether the peer answers.
        guard !isClosing, !isReadingPaused else { return }
        if isAwaitingPong {
            guard now > lastPing + configuration.pongTimeoutMs else { return }
            peerClose = (1006, "no answer to a ping")
            isAwaitingPong = false
            end(wsi)
        } else if now > lastPing + configuration.pingEveryMs {
            lastPing = now
            pings += 1
            isAwaitingPong = true
            _ = enqueue(.ping, capacity: 1) { buffer in
                buffer[0] = 1
                return 1
            }
        }
    }

    private func end(_ wsi: OpaquePointer) {
        lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC)
        // On a foreign loop libwebsockets looks at its timers only after an event of its own.
        lws_cancel_service(lws_get_context(wsi))
    }

    func peerClosed(code: Int, reason: String) { peerClose = (code, reason) }

    func closed(_ fallback: String = "") {
        wsi = nil
        onFinished = nil
        if isBeginning { failedAtOnce = fallback } else { report(fallback) }
    }

    private func report(_ fallback: String = "") {
        ticker?.cancel()
        ticker = nil
        guard !didReportClose else { return }
        didReportClose = true
        let (code, reason) = peerClose ?? (isClosing ? Int(closeCode) : 1006, fallback)
        let report = onClose
        onOpen = nil
        onMessage = nil
        onClose = nil
        onDrained = nil
        onProof = nil
        report?(code, reason)
    }
}
