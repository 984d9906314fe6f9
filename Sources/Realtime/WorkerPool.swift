internal import DequeModule
internal import Foundation

/// Threads for work that would block a loop: recognition, synthesis. Bounded in threads and in waiting jobs.
///
/// `@unchecked Sendable` is safe: `condition` guards `jobs` and `isStopped`.
public final class WorkerPool: @unchecked Sendable {
    /// Jobs that may wait; more are refused, so that an overload shows instead of growing.
    public static let queueLimit = 1_024

    /// How much the workers give way to the event loops (nice value).
    private static let niceness: Int32 = 10

    private let condition = NSCondition()
    private var jobs: Deque<() -> Void> = []
    private var isStopped = false

    /// - Parameter threads: usually the number of cores.
    public init(name: String, threads: Int) {
        for index in 0..<max(1, threads) {
            let thread = Thread { [self] in
                Thread.current.name = "\(name)-\(index)"
                // On Linux this concerns the calling thread alone: a recogniser may wait, a loop's tick may not.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness)
                work()
            }
            thread.stackSize = 4 << 20
            thread.start()
        }
    }

    private func work() {
        while true {
            condition.lock()
            while jobs.isEmpty, !isStopped { condition.wait() }
            guard !jobs.isEmpty else {
                condition.unlock()
                return
            }
            let job = jobs.removeFirst()
            condition.unlock()
            job()
        }
    }

    /// Runs `body` on a thread of the pool.
    /// - Throws: `SpeechError` when the queue is full, or what `body` throws.
    public func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            condition.lock()
            guard jobs.count < Self.queueLimit, !isStopped else {
                condition.unlock()
                continuation.resume(
                    throwing: SpeechError("the speech engines are overloaded: \(Self.queueLimit) jobs wait"))
                return
            }
            jobs.append { continuation.resume(with: Swift.Result { try body() }) }
            condition.signal()
            condition.unlock()
        }
    }

    public func stop() {
        condition.lock()
        isStopped = true
        condition.broadcast()
        condition.unlock()
    }
}
