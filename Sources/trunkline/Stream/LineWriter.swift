import Dispatch
import Foundation
import Synchronization

/// Prints lines on a queue of its own: a reader who is slow, or gone, holds up none of those who write. What waits is
/// bounded; what has no room is left out and counted.
final class LineWriter: Sendable {
    /// Bytes that may wait.
    static let limit = 1 << 20

    private struct State {
        var waiting: [String] = []
        var bytes = 0
        var omitted = 0
        var isWriting = false
        var isBroken = false
    }
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "lines")
    private let write: @Sendable (String) -> Bool

    /// - Parameter write: false: nobody will ever read; by default to standard output.
    init(_ write: @escaping @Sendable (String) -> Bool = LineWriter.standardOutput) { self.write = write }

    /// A line without its end.
    func add(_ line: String) {
        let begins = state.withLock { state -> Bool in
            guard !state.isBroken, state.bytes + line.utf8.count < Self.limit else {
                state.omitted += 1
                return false
            }
            state.waiting.append(line)
            state.bytes += line.utf8.count + 1
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { queue.async { self.drain() } }
    }

    private func drain() {
        while let text = next() {
            guard write(text) else { return state.withLock { ($0.isBroken, $0.waiting) = (true, []) } }
        }
    }

    /// All that waits, and how much was left out behind it; nil: nothing.
    private func next() -> String? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isWriting = false
                return nil
            }
            if state.omitted > 0 { state.waiting.append("(\(state.omitted) lines left out: they are not read)") }
            defer { (state.waiting, state.bytes, state.omitted) = ([], 0, 0) }
            return state.waiting.joined(separator: "\n") + "\n"
        }
    }

    /// Waits until all is written, for so long at most.
    func finish(within limit: DispatchTimeInterval) {
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        _ = done.wait(timeout: .now() + limit)
    }

    @Sendable static func standardOutput(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) } else if count == 0 || errno != EINTR { return false }
        }
        return true
    }
}
