internal import Net

/// Checks from time to time whether the principal that opened a socket may still have it. Confined to the socket's
/// loop.
enum SocketWatch {
    /// Milliseconds between two looks.
    private static let everyMs: UInt64 = 2_000

    /// Closes the socket with 1008 once `isAllowed` says no; to be cancelled when the socket closes.
    /// - Parameter tick: called ten times a second, for what else goes by time.
    static func begin(
        _ socket: WebSocket, isAllowed: @escaping @Sendable () -> Bool, tick: @escaping (UInt64) -> Void = { _ in }
    ) -> EventLoop.Ticker {
        var nextLook = socket.loop.timeMs + everyMs
        return socket.loop.addTicker(every: .tenth) { now in
            if now >= nextLook {
                nextLook = now + everyMs
                guard isAllowed() else { return socket.close(code: 1008) }
            }
            tick(now)
        }
    }
}
