public import Bridge
public import Net

/// Two ends of a WebSocket in memory: what one sends the other gets at the next turn of their loop. Confined to it.
public final class WebSocketPair {
    public let carrier: End
    public let application: End

    public init(on loop: EventLoop) {
        carrier = End(loop)
        application = End(loop)
        carrier.peer = application
        application.peer = carrier
    }

    public final class End: MessageSocket {
        public let loop: EventLoop
        public var configuration = WebSocket.Configuration()
        public var onMessage: ((UnsafeBufferPointer<UInt8>, WebSocket.Kind) -> Void)?
        public var onClose: ((Int, String) -> Void)?
        /// Every message that was sent, in order.
        public private(set) var sent: [(kind: WebSocket.Kind, bytes: [UInt8])] = []
        /// Texts among them.
        public var texts: [String] {
            sent.filter { $0.kind == .text }.map { String(decoding: $0.bytes, as: UTF8.self) }
        }
        /// Sizes of the binary ones.
        public var sizes: [Int] { sent.filter { $0.kind == .binary }.map(\.bytes.count) }
        /// Nothing more can be sent for now.
        public var isFull = false
        /// The code that this end closed with.
        public private(set) var closedWith: UInt16?
        private var isClosed = false
        fileprivate weak var peer: End?

        fileprivate init(_ loop: EventLoop) { self.loop = loop }

        public func send(
            _ kind: WebSocket.Kind, capacity: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Int
        ) -> Bool {
            guard !isClosed, !isFull else { return false }
            var bytes = [UInt8](repeating: 0, count: capacity)
            let count = bytes.withUnsafeMutableBufferPointer { fill($0) }
            guard count >= 0 else { return false }
            bytes.removeLast(capacity - count)
            sent.append((kind, bytes))
            deliver(bytes, kind)
            return true
        }

        /// Sends what no dialect of ours would say.
        public func send(text: String) { deliver(Array(text.utf8), .text) }
        public func send(binary: [UInt8]) { deliver(binary, .binary) }

        private func deliver(_ bytes: [UInt8], _ kind: WebSocket.Kind) {
            guard let peer else { return }
            let far = Confined(peer, to: loop)
            loop.post {
                bytes.withUnsafeBufferPointer { buffer -> Void in far.value.onMessage?(buffer, kind) }
            }
        }

        public func close(code: UInt16) {
            guard !isClosed else { return }
            closedWith = code
            ended(Int(code))
            guard let peer else { return }
            let far = Confined(peer, to: loop)
            loop.post { far.value.ended(Int(code)) }
        }

        private func ended(_ code: Int) {
            guard !isClosed else { return }
            isClosed = true
            let report = onClose
            onMessage = nil
            onClose = nil
            report?(code, "")
        }
    }
}
