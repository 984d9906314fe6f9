internal import CLibwebsockets
internal import Foundation
internal import Synchronization

/// A loop without a thread, whose time stands still until it is told to go on: a whole call runs in a unit test, in
/// virtual milliseconds. Sockets are not served. For one thread at a time: the one that calls `run` or `advance` counts
/// as the loop's until the call returns.
extension EventLoop {
    /// - Throws: `NetError.unavailable` if libwebsockets cannot make a context.
    public static func manual(name: String = "manual") throws(NetError) -> EventLoop {
        let loop = try EventLoop(name: name)
        // Any time but 0, which means "not begun".
        loop.manualMs = 1_000_000
        return loop
    }

    /// Runs what must not hold up the loop; nil: the shared threads. A manual loop does it itself, so that a test knows
    /// what is done when.
    public var background: (any TaskExecutor)? { manualMs == nil ? nil : self }

    /// Does something on the loop, and all that it posts there.
    public func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        precondition(manualMs != nil, "\(name) has a thread of its own")
        threadID.store(UInt(pthread_self()), ordering: .releasing)
        defer { threadID.store(0, ordering: .releasing) }
        let result = try body()
        drainAll()
        return result
    }

    /// Lets so many milliseconds pass, a phase of the tick (4 ms) at a time.
    public func advance(ms: Int) {
        run {
            let end = (manualMs ?? 0) + UInt64(max(0, ms))
            while let now = manualMs, now < end {
                manualMs = min(end, now + Self.phaseMs)
                tick()
                drainAll()
            }
        }
    }

    func stopManually() {
        run {
            if let context { lws_context_destroy(context) }
            context = nil
        }
    }
}
