internal import CLibwebsockets
internal import Foundation

/// One WebSocket connection, either end. Confined to its loop.
///
/// Backpressure both ways: `send` refuses once `sendQueueLimit` bytes wait, and `pauseReading` stops the kernel's buffer
/// from being read, so that TCP slows the peer. Messages are delivered whole, however they were fragmented.
public final class WebSocket {
    public enum Kind: Sendable { case text, binary }

    public struct Configuration: Sendable {
        /// Larger messages close the connection with 1009.
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
    }

    public let loop: EventLoop
    public internal(set) var handshake: Handshake
    public var configuration: Configuration
    public var onOpen: (() -> Void)?
    public var onMessage: ((UnsafeBufferPointer<UInt8>, Kind) -> Void)?
    /// Close code as received, 1006 if there was none; called once.
    public var onClose: ((Int, String) -> Void)?
    /// The HTTP status with which the far end refused our upgrade.
    public internal(set) var refusedStatus: Int?
    /// All that waited has been handed to the kernel.
    public var onDrained: (() -> Void)?

    var wsi: OpaquePointer?
    var clientHeaders: [(String, String)] = []
    private var assembling: [UInt8] = []
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

    /// A buffer with libwebsockets' head room in front.
    private struct Slab {
        var memory: UnsafeMutablePointer<UInt8>
        var capacity: Int
        var count: Int
        var mode: lws_write_protocol
    }
    private static let headRoom = clws_pre()
    private static let poolLimit = 8

    init(loop: EventLoop, handshake: Handshake, configuration: Configuration = Configuration()) {
        self.loop = loop
        self.handshake = handshake
        self.configuration = configuration
    }

    deinit {
        for slab in queue[queueHead...] { slab.memory.deallocate() }
        for slab in pool { slab.memory.deallocate() }
    }

    public var isOpen: Bool { wsi != nil && !isClosing }

    // MARK: Sending

    /// Lets `fill` write at most `capacity` bytes and sends what it returns. False: closed, or over the queue's limit.
    @discardableResult
    public func send(_ kind: Kind, capacity: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Int) -> Bool {
        enqueue(kind == .text ? LWS_WRITE_TEXT : LWS_WRITE_BINARY, capacity: capacity, fill)
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

    private func enqueue(
        _ mode: lws_write_protocol, capacity: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Int
    ) -> Bool {
        loop.preconditionOnLoop()
        guard let wsi, !isClosing, queuedBytes <= configuration.sendQueueLimit else { return false }
        var slab: Slab
        if let last = pool.last, last.capacity >= capacity {
            slab = last
            pool.removeLast()
        } else {
            let size = max(capacity, 512)
            slab = Slab(memory: .allocate(capacity: size + Self.headRoom), capacity: size, count: 0, mode: mode)
        }
        slab.mode = mode
        slab.count = fill(UnsafeMutableBufferPointer(start: slab.memory + Self.headRoom, count: slab.capacity))
        guard slab.count >= 0 else {
            recycle(slab)
            return false
        }
        // Straight to the socket while nothing waits; one write, no wake-up.
        if queueHead == queue.count, lws_partial_buffered(wsi) == 0 {
            let written = lws_write(wsi, slab.memory + Self.headRoom, slab.count, mode)
            recycle(slab)
            return written >= 0
        }
        queuedBytes += slab.count
        queue.append(slab)
        if queue.count - queueHead == 1 { lws_callback_on_writable(wsi) }
        return true
    }

    private func recycle(_ slab: Slab) {
        if pool.count < Self.poolLimit { pool.append(slab) } else { slab.memory.deallocate() }
    }

    func writable() -> Int32 {
        guard let wsi else { return -1 }
        while queueHead < queue.count {
            let slab = queue[queueHead]
            let written = lws_write(wsi, slab.memory + Self.headRoom, slab.count, slab.mode)
            queueHead += 1
            queuedBytes -= slab.count
            recycle(slab)
            if written < 0 { return -1 }
            if lws_partial_buffered(wsi) != 0 { break }
        }
        if queueHead < queue.count {
            lws_callback_on_writable(wsi)
            return 0
        }
        queue.removeAll(keepingCapacity: true)
        queueHead = 0
        if isClosing {
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
        lws_callback_on_writable(wsi)
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
    }

    func received(_ bytes: UnsafeRawPointer?, _ count: Int) -> Int32 {
        guard let wsi else { return -1 }
        isAwaitingPong = false  // whoever sends is alive
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

    func ponged() { isAwaitingPong = false }

    private func keepAlive(_ now: UInt64) {
        // While we read nothing we cannot know whether the peer answers.
        guard let wsi, !isClosing, !isReadingPaused else { return }
        if isAwaitingPong {
            guard now > lastPing + configuration.pongTimeoutMs else { return }
            peerClose = (1006, "no answer to a ping")
            isAwaitingPong = false
            lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC)
            // On a foreign loop libwebsockets looks at its timers only after an event of its own.
            lws_cancel_service(lws_get_context(wsi))
        } else if now > lastPing + configuration.pingEveryMs {
            lastPing = now
            isAwaitingPong = true
            _ = enqueue(LWS_WRITE_PING, capacity: 1) { buffer in
                buffer[0] = 1
                return 1
            }
        }
    }

    func peerClosed(code: Int, reason: String) { peerClose = (code, reason) }

    func closed(_ fallback: String = "") {
        wsi = nil
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
        report?(code, reason)
    }
}
