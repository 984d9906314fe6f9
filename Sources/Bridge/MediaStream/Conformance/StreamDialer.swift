internal import Net

/// Opens the connections of a check: real ones, or in memory.
public protocol StreamDialer: AnyObject {
    /// Calls back once, on the loop.
    func dial(_ attempt: StreamAttempt, _ done: @escaping (DialOutcome) -> Void)
}

/// What an upgrade asks for, beside the URL.
public struct StreamAttempt: Sendable {
    public var headers: [(name: String, value: String)] = []
    public var query: [(name: String, value: String)] = []
    public var subprotocols: [String] = []
    public init() {}
}

public enum DialOutcome {
    /// - Parameter pings: those that were sent so far, and those that were answered.
    case open(any MessageSocket, subprotocol: String?, pings: () -> (sent: Int, answered: Int))
    /// With this HTTP status.
    case refused(status: Int)
    /// There was an answer, but not that of a WebSocket's server.
    case broken(String)
    /// There was none.
    case failed(String)
}

/// A socket whose messages are seen by a third party, both ways, before they are acted upon. Confined to its loop.
final class ObservedSocket: MessageSocket {
    private let socket: any MessageSocket
    private let observe: (UnsafeBufferPointer<UInt8>, WebSocket.Kind, WireMessage.Sender) -> Void
    var onMessage: ((UnsafeBufferPointer<UInt8>, WebSocket.Kind) -> Void)?
    var onClose: ((Int, String) -> Void)?

    /// For the carrier's end.
    init(
        _ socket: any MessageSocket,
        _ observe: @escaping (UnsafeBufferPointer<UInt8>, WebSocket.Kind, WireMessage.Sender) -> Void
    ) {
        self.socket = socket
        self.observe = observe
        socket.onMessage = { [weak self] bytes, kind in
            guard let self else { return }
            self.observe(bytes, kind, .application)
            self.onMessage?(bytes, kind)
        }
        socket.onClose = { [weak self] code, reason in self?.onClose?(code, reason) }
    }

    var loop: EventLoop { socket.loop }
    var configuration: WebSocket.Configuration {
        get { socket.configuration }
        set { socket.configuration = newValue }
    }

    func send(_ kind: WebSocket.Kind, capacity: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Int) -> Bool {
        socket.send(kind, capacity: capacity) { target in
            let count = fill(target)
            if count >= 0 { observe(UnsafeBufferPointer(rebasing: target[..<count]), kind, .carrier) }
            return count
        }
    }

    func close(code: UInt16) { socket.close(code: code) }
}
