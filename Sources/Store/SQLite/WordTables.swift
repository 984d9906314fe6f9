internal import GRDB

/// FTS5 deletes by adding: the words of a deleted row stay in its segments until these are merged (sqlite.org/fts5.html
/// §6.7; its own `secure-delete` needs SQLite 3.42). So after each erasure all segments are merged into one, in steps.
enum WordTables {
    static let all = ["call_words", "knowledge_index"]
    /// Pages merged in one transaction: calls in progress want to store what happens (20 ms at most with 100 000
    /// calls).
    private static let mergePages = 64
    /// Steps of one run: 1.6 GB of index.
    static let mergeLimit = 6_400

    /// - Returns: there is nothing left to merge.
    static func merge(_ table: String, step: Int, _ db: Database) throws -> Bool {
        // The first step takes all segments together, those that follow go on with them.
        let pages = step == 0 ? -mergePages : mergePages
        let before = db.totalChangesCount
        try db.execute(sql: "INSERT INTO \(table) (\(table), rank) VALUES ('merge', ?)", arguments: [pages])
        // The statement itself counts as one (sqlite.org/fts5.html §6.8).
        return step > 0 && db.totalChangesCount - before < 2
    }
}
