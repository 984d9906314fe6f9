internal import Foundation
internal import Net

/// The connection of a session with a speech model: opened, watched, and ended once, whatever the vendor's protocol.
/// Confined to its loop.
final class ModelSocket {
    /// Bytes of one server message; a second of PCM in base64 is 64 KB.
    static let messageLimit = 4 << 20
    /// Bytes waiting to be written: some seconds of sound.
    static let sendQueueLimit = 1 << 20
    /// Milliseconds from the connection attempt until the session must be configured.
    static let openLimitMs: UInt64 = 8_000
    /// Messages that cannot be understood until the session is given up.
    static let errorLimit = 50

    /// What a session does with its connection. Nothing is called any more once it is over.
    struct Handlers {
        var open: () -> Void
        var message: (UnsafeBufferPointer<UInt8>) -> Void
        /// Every tenth of a second, with the connection's age, ms.
        var tick: (UInt64) -> Void = { _ in }
        var ended: (_ reason: String, _ isFatal: Bool) -> Void
    }

    var handlers: Handlers?
    /// The session is configured: the time limit for it is off.
    var isReady = false
    private(set) var isOver = false

    private let loop: EventLoop
    private let openedAt: UInt64
    private let fatalCodes: Set<Int>
    private var socket: WebSocket?
    private var ticker: EventLoop.Ticker?
    /// Gets what would be sent, where there is no connection (tests).
    private let onSend: ((Data) -> Void)?
    private var malformed = 0
    private var decoded: [UInt8] = []

    /// - Parameters:
    ///   - fatalCodes: close codes that say that the same request would fail again.
    ///   - resolver: nil: no connection is made; what a server would say is handed to the session (Tests/Fuzz).
    ///   - onSend: gets what would be sent then.
    init(
        _ url: WebSocketURL, headers: [(String, String)], fatalCodes: Set<Int> = [], resolver: HostResolver?,
        loop: EventLoop, onSend: ((Data) -> Void)? = nil
    ) {
        self.loop = loop
        self.onSend = onSend
        self.fatalCodes = fatalCodes
        openedAt = loop.timeMs
        ticker = loop.addTicker(every: .tenth) { [unowned self] now in self.tick(now) }
        resolver?.resolve(url.host, port: url.port, on: loop) { [self] result in
            // A strong reference until then: an object that ever had a weak reference has slower reference counting
            // from then on.
            guard !isOver else { return }
            switch result {
            case .failure(let error): end(error.message, isFatal: false)
            case .success(let address): connect(url, address, headers)
            }
        }
    }

    private func connect(_ url: WebSocketURL, _ address: SocketAddress, _ headers: [(String, String)]) {
        var limits = WebSocket.Configuration()
        limits.maximumMessage = Self.messageLimit
        limits.sendQueueLimit = Self.sendQueueLimit
        let socket = loop.connect(url, address: address, headers: headers, configuration: limits)
        self.socket = socket
        // The socket gets no more callbacks once it is released: `unowned` costs less than `weak`.
        socket.onMessage = { [unowned self] bytes, _ in self.handlers?.message(bytes) }
        socket.onOpen = { [unowned self] in self.handlers?.open() }
        socket.onClose = { [unowned self, unowned socket] code, reason in
            let isRefused = socket.refusedStatus.map { (400...404).contains($0) } ?? self.fatalCodes.contains(code)
            self.end(Self.words(reason, code), isFatal: isRefused)
        }
    }

    private func tick(_ now: UInt64) {
        let age = now - min(now, openedAt)
        if !isReady, age > Self.openLimitMs {
            return end("no session within \(Self.openLimitMs / 1_000) s", isFatal: false)
        }
        handlers?.tick(age)
    }

    // MARK: Backpressure

    /// Bytes waiting to be written from which on sound should wait: 5 s of μ-law in base64.
    private static let congestionBytes = 64 << 10

    var isCongested: Bool { (socket?.queuedBytes ?? 0) > Self.congestionBytes }
    func pauseReading() { socket?.pauseReading() }
    func resumeReading() { socket?.resumeReading() }

    // MARK: Sending

    func send(_ object: [String: Any]) {
        guard let data = try? JSONSerialization.data(withJSONObject: object, options: [.withoutEscapingSlashes]) else {
            return
        }
        onSend?(data)
        socket?.send(.text, capacity: data.count) { data.copyBytes(to: $0) }
    }

    /// Sound in base64 between two fixed texts, written straight into the socket's buffer.
    func send(_ sound: UnsafeBufferPointer<UInt8>, between prefix: StaticString, and suffix: StaticString) {
        guard isReady, let socket else { return }
        let start = prefix.utf8CodeUnitCount
        let tail = suffix.utf8CodeUnitCount
        socket.send(.text, capacity: start + Base64.encodedLength(sound.count) + tail) { target in
            _ = UnsafeMutableBufferPointer(rebasing: target[..<start]).update(
                fromContentsOf: UnsafeBufferPointer(start: prefix.utf8Start, count: start))
            let end = Base64.encode(sound.span, into: target, at: start)
            _ = UnsafeMutableBufferPointer(rebasing: target[end..<(end + tail)]).update(
                fromContentsOf: UnsafeBufferPointer(start: suffix.utf8Start, count: tail))
            return end + tail
        }
    }

    // MARK: Receiving

    /// Decodes base64 sound and lends it; the bytes are only valid during the call.
    func decode(_ text: UnsafeBufferPointer<UInt8>, _ take: (UnsafeBufferPointer<UInt8>) -> Void) {
        let needed = text.count / 4 * 3 + 3
        if decoded.count < needed { decoded = [UInt8](repeating: 0, count: needed) }
        let isRead = decoded.withUnsafeMutableBufferPointer { buffer -> Bool in
            guard let count = Base64.decode(text, into: buffer) else { return false }
            take(UnsafeBufferPointer(rebasing: buffer[..<count]))
            return true
        }
        if !isRead { misunderstood() }
    }

    func misunderstood() {
        malformed += 1
        if malformed > Self.errorLimit {
            end("more than \(Self.errorLimit) messages could not be understood", isFatal: false)
        }
    }

    // MARK: The end

    /// Ends it at our own request, without an event.
    func close() {
        guard !isOver else { return }
        isOver = true
        release()
    }

    /// libwebsockets does not tell what is wrong with a certificate.
    private static func words(_ reason: String, _ code: Int) -> String {
        if reason.isEmpty { return "the connection closed with \(code)" }
        guard reason.lowercased().contains("ssl err") else { return reason }
        return
            "TLS failed: the certificate is expired, of an unknown authority or another name's, "
            + "or the version is below 1.2 (\(reason))"
    }

    func end(_ reason: String, isFatal: Bool) {
        guard !isOver else { return }
        isOver = true
        let handlers = handlers
        release()
        handlers?.ended(reason, isFatal)
    }

    deinit { release() }

    private func release() {
        handlers = nil
        ticker?.cancel()
        ticker = nil
        socket?.onMessage = nil
        socket?.onOpen = nil
        socket?.onClose = nil
        socket?.close()
        socket = nil
    }
}
