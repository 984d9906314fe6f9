public import Net

/// What a media stream needs of a WebSocket, so that one in memory can take its place. Confined to its loop.
public protocol MessageSocket: AnyObject {
    var loop: EventLoop { get }
    var configuration: WebSocket.Configuration { get set }
    var onMessage: ((UnsafeBufferPointer<UInt8>, WebSocket.Kind) -> Void)? { get set }
    var onClose: ((_ code: Int, _ reason: String) -> Void)? { get set }
    /// Lets `fill` write at most `capacity` bytes and sends what it returns; a negative count sends nothing. False:
    /// closed, or over the queue's limit.
    func send(_ kind: WebSocket.Kind, capacity: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Int) -> Bool
    func close(code: UInt16)
}

extension WebSocket: MessageSocket {}
