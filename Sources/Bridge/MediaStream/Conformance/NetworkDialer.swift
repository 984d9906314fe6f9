public import Net

/// Dials a server in the network. Confined to its loop.
public final class NetworkDialer: StreamDialer {
    /// Switching Protocols: an answer with this status that is no handshake has something wrong in it.
    private static let switching = 101
    /// Milliseconds for connection, TLS and upgrade.
    static let limitMs: UInt64 = 10_000

    private let url: WebSocketURL
    private let loop: EventLoop
    private let resolver = HostResolver()

    public init(_ url: WebSocketURL, on loop: EventLoop) {
        self.url = url
        self.loop = loop
    }

    public func dial(_ attempt: StreamAttempt, _ done: @escaping (DialOutcome) -> Void) {
        var target = url
        if !attempt.query.isEmpty {
            target.path += (target.path.contains("?") ? "&" : "?") + HTTPForm.encode(attempt.query)
        }
        resolver.resolve(url.host, port: url.port, on: loop) { [self] result in
            switch result {
            case .failure(let error): done(.failed(error.message))
            case .success(let address): connect(target, address, attempt, done)
            }
        }
    }

    private func connect(
        _ target: WebSocketURL, _ address: SocketAddress, _ attempt: StreamAttempt,
        _ done: @escaping (DialOutcome) -> Void
    ) {
        let socket = loop.connect(
            target, address: address, headers: attempt.headers.map { ($0.name, $0.value) },
            subprotocols: attempt.subprotocols)
        let deadline = loop.timeMs + Self.limitMs
        var ticker: EventLoop.Ticker?
        func answer(_ outcome: DialOutcome) {
            guard let pending = ticker else { return }
            pending.cancel()
            ticker = nil
            done(outcome)
        }
        // On a foreign loop libwebsockets has no time of its own.
        ticker = loop.addTicker(every: .tenth) { now in
            if now >= deadline { answer(.failed("no answer within \(Self.limitMs / 1_000) s")) }
        }
        // The receiver of the open socket sets both again.
        socket.onOpen = { [unowned socket] in
            guard ticker != nil else { return socket.close() }
            let pings = { [weak socket] in (sent: socket?.pings ?? 0, answered: socket?.pongs ?? 0) }
            answer(.open(socket, subprotocol: socket.subprotocol, pings: pings))
        }
        socket.onClose = { [unowned socket] _, reason in
            switch socket.refusedStatus {
            case nil: answer(.failed(reason.isEmpty ? "the connection was closed" : reason))
            case Self.switching: answer(.broken(reason))
            case let status?: answer(.refused(status: status))
            }
        }
    }
}
