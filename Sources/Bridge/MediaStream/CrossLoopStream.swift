public import Net
internal import Synchronization

/// A media stream of another event loop, as one of this loop: the socket of a person who joins a call may belong to any
/// loop.
///
/// Confined to the loop that it was handed to; each message makes one hop.
public final class CrossLoopStream: MediaStream {
    /// Messages on their way to the other loop before more are refused: a second of media.
    static let pendingLimit = 50

    public var onMessage: ((MediaStreamMessage) -> Void)?
    public var onClose: ((String) -> Void)?
    public let isRemote = true
    private let far: Confined<any MediaStream>
    private let farLoop: EventLoop
    private let pending = Pending()
    private var isClosed = false

    private final class Pending: Sendable { let count = Atomic<Int>(0) }

    private init(_ far: Confined<any MediaStream>, _ farLoop: EventLoop) {
        self.far = far
        self.farLoop = farLoop
    }

    /// Takes the stream over: its owner hears nothing of it any more. To be called on `loop`.
    public static func hand(_ stream: Confined<any MediaStream>, of farLoop: EventLoop, to loop: EventLoop)
        -> CrossLoopStream
    {
        loop.preconditionOnLoop()
        let near = CrossLoopStream(stream, farLoop)
        let me = Confined(near, to: loop)
        farLoop.post {
            stream.value.onMessage = { message in loop.post { me.value.onMessage?(message) } }
            stream.value.onClose = { reason in loop.post { me.value.closed(reason) } }
        }
        return near
    }

    private func closed(_ reason: String) {
        guard !isClosed else { return }
        isClosed = true
        let report = onClose
        onMessage = nil
        onClose = nil
        report?(reason)
    }

    public func send(_ message: MediaStreamMessage) -> Bool {
        guard !isClosed, pending.count.load(ordering: .relaxed) < Self.pendingLimit else { return false }
        pending.count.add(1, ordering: .relaxed)
        farLoop.post { [far, pending] in
            pending.count.subtract(1, ordering: .relaxed)
            far.value.send(message)
        }
        return true
    }

    public func close() {
        guard !isClosed else { return }
        isClosed = true
        onMessage = nil
        onClose = nil
        farLoop.post { [far] in far.value.close() }
    }
}
