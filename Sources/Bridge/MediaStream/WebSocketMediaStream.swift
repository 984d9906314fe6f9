public import Net
public import Pipeline

/// A media stream over a WebSocket, in a carrier's dialect. Confined to its loop.
public final class WebSocketMediaStream: MediaStream {
    /// Bytes; the largest message of a dialect is `start` with its parameters.
    public static let maximumMessage = 64 << 10
    /// Bytes that may wait to be written: two seconds of media.
    public static let sendQueueLimit = 64 << 10
    /// Messages that cannot be understood before the stream is given up.
    static let errorLimit = 50

    public var onMessage: ((MediaStreamMessage) -> Void)?
    public var onClose: ((String) -> Void)?
    public let isRemote = true
    public private(set) var malformed = 0
    /// Messages that found the queue full.
    public private(set) var refused = 0

    private let socket: WebSocket
    private let dialect: any MediaStreamDialect
    private var decoded: [MediaStreamMessage] = []

    public init(_ socket: WebSocket, dialect: any MediaStreamDialect) {
        self.socket = socket
        self.dialect = dialect
        socket.configuration.maximumMessage = Self.maximumMessage
        socket.configuration.sendQueueLimit = Self.sendQueueLimit
        socket.onMessage = { [unowned self] bytes, kind in self.received(bytes, kind) }
        socket.onClose = { [self] code, reason in
            let report = self.onClose
            self.onMessage = nil
            self.onClose = nil
            report?(reason.isEmpty ? "the stream's WebSocket closed with \(code)" : reason)
        }
    }

    private func received(_ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind) {
        do throws(MediaStreamError) {
            guard kind == .text else { throw MediaStreamError("binary message") }
            // Whoever gets a message may send one: the dialect is free again by then.
            var messages = decoded
            decoded = []
            defer {
                messages.removeAll(keepingCapacity: true)
                decoded = messages
            }
            try dialect.decode(bytes, into: &messages)
            for message in messages { onMessage?(message) }
        } catch {
            malformed += 1
            if malformed > Self.errorLimit { socket.close(code: 1003) }
        }
    }

    @discardableResult
    public func send(_ message: MediaStreamMessage) -> Bool {
        var wasSaid = true
        let sent = socket.send(.text, capacity: dialect.capacity(for: message)) { target in
            if let count = dialect.encode(message, into: target) { return count }
            wasSaid = false
            return -1
        }
        if !sent, wasSaid { refused += 1 }
        return sent
    }

    public var framesPerMessage: Int { dialect.framesPerMessage }

    public func send(_ frames: UnsafeBufferPointer<EncodedFrame>) -> Bool {
        let sent = socket.send(.text, capacity: dialect.capacity(forFrames: frames.count)) {
            dialect.encode(frames, into: $0)
        }
        if !sent { refused += 1 }
        return sent
    }

    public func close() { socket.close() }
}
