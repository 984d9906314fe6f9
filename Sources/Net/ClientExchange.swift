internal import Foundation
internal import Synchronization

/// One request and its response: the client's thread on one side, the task that waits for it on the other.
///
/// The response waits here for its reader, up to `bufferLimit` bytes; then curl is told to stop reading the connection.
///
/// `@unchecked Sendable` is safe: `state` is guarded by its mutex, `transfer` is touched on the client's thread alone.
final class ClientExchange: @unchecked Sendable {
    /// Bytes that wait for the reader.
    static let bufferLimit = 256 << 10

    struct Head: Sendable {
        var status: Int
        var headers: [String: String]
    }

    private struct State {
        var head: Head?
        var pieces: [[UInt8]] = []
        var buffered = 0
        var isPaused = false
        var end: Result<Void, any Error>?
        var waiter: CheckedContinuation<Void, Never>?
    }

    let request: HTTPClientRequest
    private let thread: CurlThread
    private let state = Mutex(State())
    /// Of the client's thread.
    var transfer: CurlTransfer?

    init(_ request: HTTPClientRequest, thread: CurlThread) {
        self.request = request
        self.thread = thread
    }

    // MARK: The reader

    func waitForHead() async throws -> Head {
        while true {
            let (head, end) = state.withLock { ($0.head, $0.end) }
            if let head { return head }
            if let end {
                try end.get()
                throw NetError(.protocolViolation, "the response has no head")
            }
            try await news { $0.head != nil || $0.end != nil }
        }
    }

    /// The next piece of the body; nil at its end.
    func next() async throws -> [UInt8]? {
        while true {
            let (piece, end, resumes) = state.withLock { state -> ([UInt8]?, Result<Void, any Error>?, Bool) in
                guard !state.pieces.isEmpty else { return (nil, state.end, false) }
                let piece = state.pieces.removeFirst()
                state.buffered -= piece.count
                // Resumed when there is room for much, or it would be paused again at once.
                guard state.isPaused, state.buffered <= Self.bufferLimit / 2 else { return (piece, nil, false) }
                state.isPaused = false
                return (piece, nil, true)
            }
            if resumes { thread.resume(self) }
            if let piece { return piece }
            if let end {
                try end.get()
                return nil
            }
            try await news { !$0.pieces.isEmpty || $0.end != nil }
        }
    }

    private func news(_ isThere: @Sendable (borrowing State) -> Bool) async throws {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isNow = state.withLock { state in
                    if isThere(state) { return true }
                    state.waiter = continuation
                    return false
                }
                if isNow { continuation.resume() }
            }
        } onCancel: {
            cancel()
        }
        try Task.checkCancellation()
    }

    /// Aborts the transfer, if it has not ended; the reader does not wait for that.
    func cancel() {
        if end(.failure(CancellationError())) { thread.abort(self) }
    }

    // MARK: The client's thread

    func received(_ head: Head) { change { $0.head = head } }

    /// - Returns: false: the reader is behind, and the piece must come again later.
    func received(_ piece: UnsafeRawBufferPointer) -> Bool {
        let isTaken = state.withLock { state -> Bool in
            guard state.buffered < Self.bufferLimit else {
                state.isPaused = true
                return false
            }
            state.pieces.append(Array(piece))
            state.buffered += piece.count
            return true
        }
        if isTaken { wake() }
        return isTaken
    }

    /// The reader is behind, so the server's silence is not its fault.
    var isPaused: Bool { state.withLock { $0.isPaused } }
    var hasHead: Bool { state.withLock { $0.head != nil } }

    /// - Returns: false: it had ended before.
    @discardableResult
    func end(_ result: Result<Void, any Error>) -> Bool {
        let isFirst = state.withLock { state -> Bool in
            guard state.end == nil else { return false }
            state.end = result
            // A cancelled reader gets nothing more; an error follows the data that was received.
            if case .failure(let error) = result, error is CancellationError { state.pieces = [] }
            return true
        }
        wake()
        return isFirst
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        wake()
    }

    private func wake() {
        let waiter = state.withLock { state in
            let waiter = state.waiter
            state.waiter = nil
            return waiter
        }
        waiter?.resume()
    }
}
