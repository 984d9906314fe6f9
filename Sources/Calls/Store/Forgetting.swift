internal import Foundation
internal import GRDB

/// FTS5 deletes by adding: the words of a deleted row stay in its segments until these are merged (sqlite.org/fts5.html §6.7;
/// its own `secure-delete` needs SQLite 3.42). So after each erasure all segments are merged into one, in steps.
extension CallStore {
    private static let wordTables = ["call_words", "knowledge_index"]
    /// Pages merged in one transaction: calls in progress want to store what happens (20 ms at most with 100 000 calls).
    private static let mergePages = 64
    /// Steps of one run: 1.6 GB of index.
    private static let mergeLimit = 6_400
    /// A row of `meta` that is there while something erased may still be in the files.
    private static let pendingName = "erasure"
    /// Milliseconds between two tries to empty the log, and how often that is tried: somebody else reads, a backup perhaps.
    private static let logRetryMs = 100
    private static let logTries = 30

    /// In the transaction that deletes: what has to follow is done after a crash too.
    static func noteErasure(_ db: Database, _ vault: Vault) throws {
        let mark = try vault.seal(UUID().uuidString, row: "meta/" + pendingName)
        try db.run("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", arguments: [pendingName, mark])
    }

    /// Has the files forget what was erased. Where somebody else reads the log for long, `finishErasure` goes on later.
    func forgetErased() async throws(StoreError) {
        do { try await forgetting.run { [self] in try await forget() } } catch { throw Self.translate(error) }
    }

    /// Goes on with what a crash, or a reader of the log, has left. To be called now and then.
    public func finishErasure() async throws(StoreError) {
        let isPending = try await look { db in
            try Bool.fetchOne(db, sql: "SELECT 1 FROM meta WHERE name = ?", arguments: [Self.pendingName]) ?? false
        }
        if isPending { try await forgetErased() }
    }

    private func forget() async throws(StoreError) {
        let mark = try await look { db in
            try Data.fetchOne(db, sql: "SELECT value FROM meta WHERE name = ?", arguments: [Self.pendingName])
        }
        for table in Self.wordTables {
            // The first step takes all segments together, those that follow go on with them.
            for step in 0..<Self.mergeLimit {
                let pages = step == 0 ? -Self.mergePages : Self.mergePages
                let changes = try await change { db in
                    let before = db.totalChangesCount
                    try db.execute(sql: "INSERT INTO \(table) (\(table), rank) VALUES ('merge', ?)", arguments: [pages])
                    return db.totalChangesCount - before
                }
                // The statement itself counts as one (sqlite.org/fts5.html §6.8).
                if step > 0, changes < 2 { break }
            }
        }
        guard try await emptyLog() else { return }
        // Unless more was erased meanwhile.
        try await change { db in try db.run("DELETE FROM meta WHERE name = ? AND value = ?", arguments: [Self.pendingName, mark]) }
    }

    /// Empties the write-ahead log. False: somebody else still reads it.
    func emptyLog() async throws(StoreError) -> Bool {
        for attempt in 0..<Self.logTries {
            if attempt > 0 { try? await Task.sleep(for: .milliseconds(Self.logRetryMs)) }
            if try await truncateLog() { return true }
        }
        return false
    }
}

/// Runs that must not overlap: whoever asks while one is under way waits for the next, which is shared by all who do.
actor SharedRuns {
    private var current: Task<Void, any Error>?
    private var next: Task<Void, any Error>?

    func run(_ work: @escaping @Sendable () async throws -> Void) async throws {
        if let next { return try await next.value }
        let before = current
        let task = Task {
            _ = await before?.result
            begin()
            try await work()
        }
        next = task
        try await task.value
    }

    private func begin() {
        current = next
        next = nil
    }
}
