public import Net

/// What a media stream to another server asks for when it is opened.
public struct StreamUpgrade: Sendable {
    public var url: WebSocketURL
    public var headers: [(String, String)]
    public var subprotocols: [String]
    /// The server may be in our own network.
    public var allowsPrivateAddresses: Bool

    public init(
        _ url: WebSocketURL, headers: [(String, String)] = [], subprotocols: [String] = [],
        allowsPrivateAddresses: Bool
    ) {
        self.url = url
        self.headers = headers
        self.subprotocols = subprotocols
        self.allowsPrivateAddresses = allowsPrivateAddresses
    }
}

/// Why a media stream was not opened.
public enum StreamUpgradeFailure: Error, Sendable, Equatable {
    case notResolved
    case privateAddress
    /// HTTP status.
    case refused(status: Int)
    /// No connection, no TLS, or no valid upgrade.
    case notReached
}

/// Opens the WebSockets of media streams to other servers, so that one in memory can take their place.
public protocol StreamConnector: Sendable {
    /// Resolves the name, connects and upgrades. `completion` is called once, on the loop; a server that never answers
    /// may take 20 s. On the loop only.
    func connect(
        _ upgrade: StreamUpgrade, on loop: EventLoop,
        _ completion: @escaping (Result<any MessageSocket, StreamUpgradeFailure>) -> Void)
}

/// Real connections.
public struct SystemStreams: StreamConnector {
    private let resolver = HostResolver()

    public init() {}

    public func connect(
        _ upgrade: StreamUpgrade, on loop: EventLoop,
        _ completion: @escaping (Result<any MessageSocket, StreamUpgradeFailure>) -> Void
    ) {
        resolver.resolve(upgrade.url.host, port: upgrade.url.port, on: loop) { resolved in
            guard case .success(let address) = resolved else { return completion(.failure(.notResolved)) }
            // The socket goes to this address: the name is not resolved a second time.
            guard upgrade.allowsPrivateAddresses || address.isPublic else {
                return completion(.failure(.privateAddress))
            }
            let socket = loop.connect(
                upgrade.url, address: address, headers: upgrade.headers, subprotocols: upgrade.subprotocols)
            // Its connection keeps the socket alive.
            socket.onClose = { [unowned socket] _, _ in
                completion(.failure(socket.refusedStatus.map { .refused(status: $0) } ?? .notReached))
            }
            socket.onOpen = { [unowned socket] in
                socket.onClose = nil
                completion(.success(socket))
            }
        }
    }
}
