internal import Calls
internal import Net

/// `WS /api/levels`: twice a second how loud the connected calls are, `{"levels": {ID: [far end, AI]}}`, 0 to 100 each.
enum LevelSocket {
    static let path = "/api/levels"
    private static let everyMs: UInt64 = 500
    /// Milliseconds between two looks whether the watcher's key is still good.
    private static let checkMs: UInt64 = 2_000

    static func serve(_ socket: WebSocket, levels: LiveLevels, isAllowed: @escaping @Sendable () -> Bool) {
        let loop = socket.loop
        var nextAt = loop.timeMs, nextCheck = loop.timeMs + checkMs
        var wasEmpty = false
        let ticker = loop.addTicker(every: .tenth) { [unowned socket] now in
            if now >= nextCheck {
                nextCheck = now + checkMs
                if !isAllowed() { return socket.close(code: 1008) }
            }
            guard now >= nextAt else { return }
            nextAt = now + everyMs
            let current = levels.current
            if current.isEmpty, wasEmpty { return }
            wasEmpty = current.isEmpty
            // Ids are of our own making, and plain. Who takes nothing more misses a few.
            _ = socket.send(text: "{\"levels\":{" + current.map { "\"\($0.id)\":[\($0.far),\($0.own)]" }.joined(separator: ",") + "}}")
        }
        socket.onClose = { _, _ in ticker.cancel() }
    }
}
