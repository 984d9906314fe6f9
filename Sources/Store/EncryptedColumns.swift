internal import Foundation
internal import Problems

/// A column with encrypted rows.
struct EncryptedColumn: Sendable {
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
        EncryptedColumn("calls", table: "calls", column: "record", keys: ["id"], row: "'calls/' || id"),
        EncryptedColumn("calls", table: "calls", column: "webhook", keys: ["id"], row: "'webhook/' || id"),
        EncryptedColumn(
            "transcript", table: "transcript", column: "entry", keys: ["call_id", "position"],
            row: "'transcript/' || call_id || '/' || position"),
        EncryptedColumn(
            "events", table: "events", column: "payload", keys: ["id"],
            row: "'events/' || call_id || '/' || name || '/' || id"),
        EncryptedColumn(
            "deliveries", table: "deliveries", column: "message", keys: ["id"],
            row: "'deliveries/' || call_id || '/' || event || '/' || id"),
        EncryptedColumn(
            "do_not_call", table: "do_not_call", column: "entry", keys: ["key"], row: "'do_not_call/' || key"),
        EncryptedColumn(
            "caller_numbers", table: "caller_numbers", column: "entry", keys: ["key"], row: "'caller_numbers/' || key"),
        EncryptedColumn("templates", table: "templates", column: "entry", keys: ["id"], row: "'templates/' || id"),
        EncryptedColumn(
            "sip_traces", table: "sip_traces", column: "entry", keys: ["call_id"], row: "'sip_traces/' || call_id"),
        EncryptedColumn("operators", table: "operators", column: "entry", keys: ["id"], row: "'operators/' || id"),
        EncryptedColumn(
            "agent_versions", table: "agent_versions", column: "document", keys: ["company", "slug", "version"],
            row: "'agents/' || company || '/' || slug || '/' || version"),
        EncryptedColumn("meta", table: "meta", column: "value", keys: ["name"], row: "'meta/' || name"),
    ]

    var match: SQL { keys.map { $0 + " = ?" }.joined(separator: " AND ") }
}

/// A row's key, of the column's type in the database.
private struct Key: Storable {
    let stored: Value
    init(stored: Value) { self.stored = stored }
}

extension Storage {
    /// Rows encrypted anew in one transaction, so that a running server is not kept from writing.
    private static let reencryptionGroup = 200

    /// Encrypts values with the current key that are encrypted with a former key or not at all. Returns the number of
    /// encrypted rows, and of rows that could not be decrypted and stay unchanged.
    public func reencrypt() async throws(StoreError) -> (encrypted: Int, failed: Int) {
        guard vault.encrypts else { throw StoreError(.conflict, .noEncryptionKey) }
        var count = (encrypted: 0, failed: 0)
        for column in EncryptedColumn.all {
            let outdated = try await outdated(column)
            for start in stride(from: 0, to: outdated.count, by: Self.reencryptionGroup) {
                let group = Array(outdated[start..<min(start + Self.reencryptionGroup, outdated.count)])
                let done = try await reencrypt(group, of: column)
                count = (count.encrypted + done.encrypted, count.failed + done.failed)
            }
        }
        guard try await emptyLog() else {
            throw StoreError(.unavailable, .formerKeyInLog)
        }
        return count
    }

    /// Keys of the rows that would be encrypted otherwise now.
    private func outdated(_ column: EncryptedColumn) async throws(StoreError) -> [[Value]] {
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

    private func reencrypt(_ group: [[Value]], of column: EncryptedColumn) async throws(StoreError) -> (
        encrypted: Int, failed: Int
    ) {
        try await write { work in
            let vault = work.context.vault
            var done = (encrypted: 0, failed: 0)
            for keys in group.map({ $0.map(Key.init) }) {
                let row = try work.transaction.rows(
                    """
                    SELECT \(column.row) AS name, \(column.column) AS encrypted FROM \(column.table)
                    WHERE \(column.match)
                    """, arguments: keys
                ).first
                // Gone, or written by a running server meanwhile.
                guard let row, let encrypted: Data = try row["encrypted"], vault.isOutdated(encrypted) else { continue }
                let name: String = try row["name"]
                guard let text = try? vault.open(encrypted, row: name) else {
                    done.failed += 1
                    continue
                }
                _ = try work.transaction.run(
                    "UPDATE \(column.table) SET \(column.column) = ? WHERE \(column.match)",
                    arguments: [try vault.encrypt(text, row: name)] + keys)
                done.encrypted += 1
            }
            return done
        }
    }
}
