internal import Calls
internal import Net

/// `WS /api/events?after=ID`: every event, first those missed, then live; none twice, none left out.
enum EventSocket {
    static let path = "/api/events"
    /// Events read from the store at a time.
    private static let page = 500

    static func serve(_ socket: WebSocket, store: CallStore, isAllowed: @escaping @Sendable () -> Bool) {
        let loop = socket.loop
        let after = socket.handshake.query.first { $0.name == "after" }.flatMap { Int64($0.value) }
        let box = Confined(socket, to: loop)
        let live = store.feed.watch()  // before the replay, so that nothing falls between the two
        socket.onOpen = {
            let task = Task {
                var last = after ?? .max
                if after != nil {
                    while let missed = try? await store.events(after: last, limit: page), !missed.isEmpty {
                        for event in missed { if await !send(event, to: box, on: loop) { return } }
                        last = missed.last?.id ?? last
                    }
                } else {
                    last = 0
                }
                for await event in live where event.id > last {
                    if await !send(event, to: box, on: loop) { return }
                }
                // Fell behind: the page comes back with `after`.
                loop.post { box.value.close(code: 1013) }
            }
            let ticker = SocketWatch.begin(box.value, isAllowed: isAllowed)
            box.value.onClose = { _, _ in
                task.cancel()
                ticker.cancel()
            }
        }
    }

    private static func send(_ event: CallEvent, to box: Confined<WebSocket>, on loop: EventLoop) async -> Bool {
        let text = event.envelope
        return await withCheckedContinuation { continuation in
            loop.post {
                let sent = box.value.send(text: text)
                if !sent { box.value.close(code: 1013) }
                continuation.resume(returning: sent)
            }
        }
    }
}
