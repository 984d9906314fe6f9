internal import Calls
internal import Net
internal import Store

/// `WS /api/events?after=ID`: every event, first those missed, then live; none twice, none left out.
enum EventSocket {
    static let path = "/api/events"
    /// Events read from the store at a time.
    private static let page = 500

    /// Nothing, or the id of an event: `after=17`, as whole numbers are written.
    static func accepts(_ query: [(name: String, value: String)]) -> Bool {
        guard let first = query.first else { return true }
        return query.count == 1 && first.name == "after" && id(first.value) != nil
    }

    private static func id(_ text: String) -> Int64? {
        guard text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(text)
    }

    static func serve(_ socket: WebSocket, store: CompanyStore, isAllowed: @escaping @Sendable () -> Bool) {
        let loop = socket.loop
        let after = socket.handshake.query.first { $0.name == "after" }.flatMap { id($0.value) }
        let box = Confined(socket, to: loop)
        let live = store.watch()  // before the replay, so that nothing falls between the two
        socket.onOpen = {
            let task = Task {
                // An id that no event has yet is of another database: it hides none of what comes.
                var last = min(after ?? 0, (try? await store.latestEventID()) ?? .max)
                if after != nil {
                    while let missed = try? await store.events(after: last, limit: page), !missed.isEmpty {
                        for event in missed { if await !send(event, to: box, on: loop) { return } }
                        last = missed.last?.id ?? last
                    }
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
