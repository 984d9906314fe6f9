internal import Calls
internal import Net
internal import Store

/// `WS /api/levels`: twice a second how loud the connected calls are, `{"levels": {ID: [far end, AI]}}`, 0 to 100 each.
enum LevelSocket {
    static let path = "/api/levels"
    private static let everyMs: UInt64 = 500

    static func serve(
        _ socket: WebSocket, levels: LiveLevels, of company: CompanyID, isAllowed: @escaping @Sendable () -> Bool
    ) {
        var nextAt = socket.loop.timeMs
        var wasEmpty = false
        let ticker = SocketWatch.begin(socket, isAllowed: isAllowed) { now in
            guard now >= nextAt else { return }
            nextAt = now + everyMs
            let current = levels.current(company)
            if current.isEmpty, wasEmpty { return }
            wasEmpty = current.isEmpty
            // Our ids need no escaping. A client that reads too slowly misses a few levels.
            _ = socket.send(
                text: "{\"levels\":{" + current.map { "\"\($0.id)\":[\($0.far),\($0.own)]" }.joined(separator: ",")
                    + "}}")
        }
        socket.onClose = { _, _ in ticker.cancel() }
    }
}
