internal import Net

/// A connection made before it is needed.
actor SpareConnection {
    private let connect: @Sendable () async throws -> WebSocketChannel
    private var next: Task<WebSocketChannel, any Error>?
    private var isClosed = false

    init(_ connect: @escaping @Sendable () async throws -> WebSocketChannel) { self.connect = connect }

    func prepare() {
        guard next == nil, !isClosed else { return }
        next = Task { [connect] in try await connect() }
    }

    func take() async throws -> WebSocketChannel {
        let prepared = next
        next = nil
        // One that was closed or refused meanwhile is made anew, once.
        if let prepared, let channel = try? await prepared.value, channel.isOpen { return channel }
        return try await connect()
    }

    /// One that can be used again.
    func giveBack(_ channel: WebSocketChannel) {
        guard next == nil, !isClosed else { return channel.close() }
        next = Task { channel }
    }

    func close() {
        isClosed = true
        let task = next
        next = nil
        task?.cancel()
        Task { (try? await task?.value)?.close() }
    }
}
