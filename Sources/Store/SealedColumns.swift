internal import Foundation

/// A column with sealed rows.
struct SealedColumn: Sendable {
    var name: String
    var table: SQL
    var column: SQL
    /// The primary key.
    var keys: [SQL]
    /// Gives the row's name, as `Vault` knows it.
    var row: SQL

    init(_ name: String, table: SQL, column: SQL, keys: [SQL], row: SQL) {
        self.name = name
        self.table = table
        self.column = column
        self.keys = keys
        self.row = row
    }

    /// All of them: a test looks for one that is missing.
    static let all = [
        SealedColumn("calls", table: "calls", column: "record", keys: ["id"], row: "'calls/' || id"),
        SealedColumn("calls", table: "calls", column: "webhook", keys: ["id"], row: "'webhook/' || id"),
        SealedColumn(
            "transcript", table: "transcript", column: "entry", keys: ["call_id", "position"],
            row: "'transcript/' || call_id || '/' || position"),
        SealedColumn(
            "events", table: "events", column: "payload", keys: ["id"], row: "'events/' || call_id || '/' || name"),
        SealedColumn(
            "deliveries", table: "deliveries", column: "message", keys: ["id"],
            row: "'deliveries/' || call_id || '/' || event"),
        SealedColumn("do_not_call", table: "do_not_call", column: "entry", keys: ["key"], row: "'do_not_call/' || key"),
        SealedColumn(
            "caller_numbers", table: "caller_numbers", column: "entry", keys: ["key"], row: "'caller_numbers/' || key"),
        SealedColumn("templates", table: "templates", column: "entry", keys: ["id"], row: "'templates/' || id"),
        SealedColumn(
            "sip_traces", table: "sip_traces", column: "entry", keys: ["call_id"], row: "'sip_traces/' || call_id"),
        SealedColumn("operators", table: "operators", column: "entry", keys: ["id"], row: "'operators/' || id"),
        SealedColumn("meta", table: "meta", column: "value", keys: ["name"], row: "'meta/' || name"),
    ]

    var match: SQL { keys.map { $0 + " = ?" }.joined(separator: " AND ") }
}

/// A key whose type only the database knows.
private struct Key: Storable {
    let stored: Value
    init(stored: Value) { self.stored = stored }
}

extension Storage {
    /// Rows sealed anew in one transaction, so that a running server is not kept from writing.
    private static let resealGroup = 200

    /// Seals with today's key what was sealed with a former one, or not at all. Returns how many rows that were, and
    /// how many could not be opened and were left as they are.
    public func reseal() async throws(StoreError) -> (sealed: Int, failed: Int) {
        guard vault.seals else { throw StoreError(.conflict, "security.encryption_key is not set") }
        var count = (sealed: 0, failed: 0)
        for column in SealedColumn.all {
            let outdated = try await outdated(column)
            for start in stride(from: 0, to: outdated.count, by: Self.resealGroup) {
                let group = Array(outdated[start..<min(start + Self.resealGroup, outdated.count)])
                let done = try await reseal(group, of: column)
                count = (count.sealed + done.sealed, count.failed + done.failed)
            }
        }
        guard try await emptyLog() else {
            throw StoreError(
                .unavailable,
                """
                another process reads the database: what was sealed with the former key may still be in its log; \
                try again
                """)
        }
        return count
    }

    /// Keys of the rows that would be sealed otherwise now.
    private func outdated(_ column: SealedColumn) async throws(StoreError) -> [[Value]] {
        try await read { work in
            var found: [[Value]] = []
            try work.transaction.each(
                """
                SELECT substr(\(column.column), 1, \(Vault.headerSQL)) AS head, \(column.keys.joined(separator: ", "))
                FROM \(column.table) WHERE \(column.column) IS NOT NULL
                """
            ) { row in
                guard work.context.vault.isOutdated(try row["head"]) else { return }
                found.append(try column.keys.indices.map { (try row[$0 + 1] as Key).stored })
            }
            return found
        }
    }

    private func reseal(_ group: [[Value]], of column: SealedColumn) async throws(StoreError) -> (
        sealed: Int, failed: Int
    ) {
        try await write { work in
            let vault = work.context.vault
            var done = (sealed: 0, failed: 0)
            for keys in group.map({ $0.map(Key.init) }) {
                let row = try work.transaction.rows(
                    """
                    SELECT \(column.row) AS name, \(column.column) AS sealed FROM \(column.table)
                    WHERE \(column.match)
                    """, arguments: keys
                ).first
                // Gone, or written by a running server meanwhile.
                guard let row, let sealed: Data = try row["sealed"], vault.isOutdated(sealed) else { continue }
                let name: String = try row["name"]
                guard let text = try? vault.open(sealed, row: name) else {
                    done.failed += 1
                    continue
                }
                _ = try work.transaction.run(
                    "UPDATE \(column.table) SET \(column.column) = ? WHERE \(column.match)",
                    arguments: [try vault.seal(text, row: name)] + keys)
                done.sealed += 1
            }
            return done
        }
    }
}
