internal import GRDB
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
    private let database: DatabasePool
    private let state = Mutex(State())

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
        guard !group.isEmpty else { return }
        database.asyncWrite { db in
            for job in group { try job.run(db) }
        } completion: { [self] _, result in
            var failure: (any Error)?
            if case .failure(let error) = result { failure = error }
            for job in group { job.finish(failure) }
            runNext()
        }
    }
}
