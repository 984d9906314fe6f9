/// The words of SQLite: FTS5, hints, its own tables.
struct SQLiteDialect: Dialect {
    let unindexed: SQL = "+"
    let hintByState: SQL = " INDEXED BY calls_by_state"
    /// The table of sequences knows the id also when the event is gone. Schema 4 has made the table under another name.
    let latestEvent: SQL =
        "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name IN ('events', 'new_events')"

    /// As `call_words` is declared.
    let indexedBeginning = 5

    func words(joined: Bool, byState: Bool) -> WordSource {
        let calls: SQL =
            byState ? "call_words CROSS JOIN calls INDEXED BY calls_by_state" : "call_words CROSS JOIN calls"
        return WordSource(
            tables: joined ? calls + " ON calls.position = call_words.rowid" : "call_words",
            position: "call_words.rowid", condition: "call_words MATCH ?")
    }

    func wordQuery(_ words: [String], isCut: Bool) -> String {
        // Letters and digits only, and quoted: nothing of it is FTS5's own syntax.
        words.map { "\"\($0)\"" }.joined(separator: " AND ") + (isCut ? "*" : "")
    }

    func index(call position: Int64, words: [String], _ transaction: any Transaction) throws {
        try transaction.run(
            "INSERT INTO call_words (rowid, tokens) VALUES (?, ?)", position, words.joined(separator: " "))
    }

    func index(chunk id: Int64, words: [String], _ transaction: any Transaction) throws {
        try transaction.run(
            "INSERT INTO knowledge_index (rowid, tokens) VALUES (?, ?)", id, words.joined(separator: " "))
    }

    func chunks(
        _ columns: SQL, _ company: CompanyID, withAnyOf words: [String], in sets: [String]?, limit: Int,
        _ transaction: any Transaction
    ) throws -> [Row] {
        let query = words.map { "\"\($0)\"" }.joined(separator: " OR ")
        return try transaction.rows(
            """
            SELECT \(columns) FROM knowledge_index i
            JOIN knowledge_chunks c ON c.id = i.rowid JOIN knowledge k ON k.id = c.knowledge_id
            WHERE knowledge_index MATCH ? AND k.company = ? \(KnowledgeItems.isIn(sets))
            ORDER BY bm25(knowledge_index), c.id LIMIT ?
            """, arguments: [query, company] + (sets ?? []) + [limit])
    }

    func bytes(_ transaction: any Transaction) throws -> Int {
        let pages = try transaction.count("PRAGMA page_count"), size = try transaction.count("PRAGMA page_size")
        let (bytes, isTooMuch) = pages.multipliedReportingOverflow(by: size)
        return isTooMuch ? .max : bytes
    }
}
