public import Bridge
public import Net

/// Servers for media streams that are a script: each stream that we open waits until it is let in, or refused.
///
/// `@unchecked Sendable`: touched by the thread that drives the manual loop alone.
public final class ScriptedStreams: StreamConnector, @unchecked Sendable {
    public final class Asked {
        public let upgrade: StreamUpgrade
        private let loop: EventLoop
        private let completion: (Result<any MessageSocket, StreamUpgradeFailure>) -> Void
        private var socket: WebSocketPair.End?
        /// Our end takes no more to be sent.
        public var isFull: Bool {
            get { socket?.isFull == true }
            set { socket?.isFull = newValue }
        }

        fileprivate init(
            _ upgrade: StreamUpgrade, _ loop: EventLoop,
            _ completion: @escaping (Result<any MessageSocket, StreamUpgradeFailure>) -> Void
        ) {
            self.upgrade = upgrade
            self.loop = loop
            self.completion = completion
        }

        /// The upgrade succeeds.
        /// - Parameter prepare: gets the server's end before anything has come there.
        public func accept(_ prepare: (WebSocketPair.End) -> Void) {
            loop.run {
                let sockets = WebSocketPair(on: loop)
                prepare(sockets.application)
                socket = sockets.carrier
                completion(.success(sockets.carrier))
            }
        }

        public func refuse(_ failure: StreamUpgradeFailure) { loop.run { completion(.failure(failure)) } }
    }

    /// In order.
    public private(set) var asked: [Asked] = []

    public init() {}

    public func connect(
        _ upgrade: StreamUpgrade, on loop: EventLoop,
        _ completion: @escaping (Result<any MessageSocket, StreamUpgradeFailure>) -> Void
    ) { asked.append(Asked(upgrade, loop, completion)) }
}
