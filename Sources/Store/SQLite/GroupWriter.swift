internal import GRDB
internal import Net
internal import Problems
internal import Synchronization

/// Writes that come at once share one transaction, so that they share its `fdatasync` too.
///
/// Each has a savepoint of its own: one that fails takes nothing of the others with it.
final class GroupWriter: Sendable {
    /// Writes of one transaction.
    private static let groupLimit = 256

    private struct Job: Sendable {
        var run: @Sendable (Database) throws -> Void
        /// nil: it is on disk.
        var finish: @Sendable ((any Error)?) -> Void
    }
    private struct State {
        var waiting: [Job] = []
        var isRunning = false
    }
    /// What it is at, for the watchdog.
    private enum Activity: UInt8 {
        case nothing, waiting, writing, syncing
        var name: String {
            switch self {
            case .nothing: "nothing"
            case .waiting: "waiting for the database, which a checkpoint or another process holds"
            case .writing: "a write"
            case .syncing: "putting writes on disk"
            }
        }
    }
    private let database: DatabasePool
    private let state = Mutex(State())
    private let turns = Atomic<UInt64>(0)
    private let activity = Atomic<UInt8>(0)

    init(_ database: DatabasePool) { self.database = database }

    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        let result = Mutex<Result<Value, any Error>?>(nil)
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let job = Job(
                run: { db in
                    // Kept back until the whole group is on disk.
                    do {
                        var value: Value?
                        try db.inSavepoint {
                            value = try body(db)
                            return .commit
                        }
                        if let value { result.withLock { $0 = .success(value) } }
                    } catch {
                        result.withLock { $0 = .failure(error) }
                        // A full disk ends the whole transaction, and what came after would stand alone.
                        if !db.isInsideTransaction { throw error }
                    }
                },
                finish: { error in if let error { continuation.resume(throwing: error) } else { continuation.resume() }
                })
            let starts = state.withLock { state in
                state.waiting.append(job)
                defer { state.isRunning = true }
                return !state.isRunning
            }
            if starts { runNext() }
        }
        guard let result = result.withLock({ $0 }) else {
            throw StoreError(.unavailable, .databaseSilent)
        }
        return try result.get()
    }

    private func runNext() {
        let group = state.withLock { state -> [Job] in
            let group = Array(state.waiting.prefix(Self.groupLimit))
            state.waiting.removeFirst(group.count)
            if group.isEmpty { state.isRunning = false }
            return group
        }
        guard !group.isEmpty else { return turned(.nothing) }
        turned(.waiting)
        database.asyncWrite { [self] db in
            for job in group {
                turned(.writing)
                try job.run(db)
            }
            turned(.syncing)
        } completion: { [self] _, result in
            var failure: (any Error)?
            if case .failure(let error) = result { failure = error }
            for job in group { job.finish(failure) }
            runNext()
        }
    }

    private func turned(_ next: Activity) {
        turns.add(1, ordering: .relaxed)
        activity.store(next.rawValue, ordering: .relaxed)
    }
}

/// It turns with each step of its work. While it has none, a look of the watchdog is a turn.
extension GroupWriter: WatchedThread {
    var name: String { "database" }
    var turnCount: UInt64 { turns.load(ordering: .relaxed) }
    var doing: String { (Activity(rawValue: activity.load(ordering: .relaxed)) ?? .nothing).name }
    /// See `LoopWatchdog`.
    var holdsCalls: Bool { false }
    func nudge() { if !state.withLock({ $0.isRunning }) { turns.add(1, ordering: .relaxed) } }
    func found(isStuck: Bool) {}
}
