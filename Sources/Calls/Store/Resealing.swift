internal import Foundation
internal import GRDB

extension CallStore {
    /// Rows sealed anew in one transaction, so that a running server is not kept from writing.
    private static let resealGroup = 200

    /// A column with sealed rows.
    struct SealedColumn: Sendable {
        var table: String
        var column: String
        /// The primary key.
        var keys: [String]
        /// SQL that gives the row's name, as `Vault` knows it.
        var row: String
    }

    static let sealedColumns = [
        SealedColumn(table: "calls", column: "record", keys: ["outbound_id"], row: "'calls/' || outbound_id"),
        SealedColumn(table: "calls", column: "webhook", keys: ["outbound_id"], row: "'webhook/' || outbound_id"),
        SealedColumn(
            table: "transcript", column: "entry", keys: ["outbound_id", "position"], row: "'transcript/' || outbound_id || '/' || position"),
        SealedColumn(table: "events", column: "payload", keys: ["id"], row: "'events/' || outbound_id || '/' || name"),
        SealedColumn(table: "deliveries", column: "message", keys: ["id"], row: "'deliveries/' || outbound_id || '/' || event"),
        SealedColumn(table: "do_not_call", column: "entry", keys: ["key"], row: "'do_not_call/' || key"),
        SealedColumn(table: "caller_numbers", column: "entry", keys: ["key"], row: "'caller_numbers/' || key"),
        SealedColumn(table: "templates", column: "entry", keys: ["id"], row: "'templates/' || id"),
        SealedColumn(table: "sip_traces", column: "entry", keys: ["outbound_id"], row: "'sip_traces/' || outbound_id"),
        SealedColumn(table: "operators", column: "entry", keys: ["id"], row: "'operators/' || id"),
        SealedColumn(table: "meta", column: "value", keys: ["name"], row: "'meta/' || name"),
    ]

    /// Seals with today's key what was sealed with a former one, or not at all. Returns how many rows that were, and how many could not be opened
    /// and were left as they are.
    public func reseal() async throws(StoreError) -> (sealed: Int, failed: Int) {
        guard vault.seals else { throw StoreError(.conflict, "security.encryption_key is not set") }
        var count = (sealed: 0, failed: 0)
        for column in Self.sealedColumns {
            let outdated = try await look { [vault] db -> [[DatabaseValue]] in
                let rows = try Row.fetchCursor(
                    db,
                    sql: """
                        SELECT substr(\(column.column), 1, 5) AS head, \(column.keys.joined(separator: ", ")) FROM \(column.table)
                        WHERE \(column.column) IS NOT NULL
                        """)
                var found: [[DatabaseValue]] = []
                while let row = try rows.next() { if vault.isOutdated(row["head"]) { found.append(row.databaseValues.dropFirst().map { $0 }) } }
                return found
            }
            let match = column.keys.map { "\($0) = ?" }.joined(separator: " AND ")
            for start in stride(from: 0, to: outdated.count, by: Self.resealGroup) {
                let group = outdated[start..<min(start + Self.resealGroup, outdated.count)]
                let done = try await change { [vault] db in
                    var done = (sealed: 0, failed: 0)
                    for keys in group {
                        let row = try Row.fetchOne(
                            db, sql: "SELECT \(column.row) AS name, \(column.column) AS sealed FROM \(column.table) WHERE \(match)",
                            arguments: StatementArguments(keys))
                        // Gone, or written by a running server meanwhile.
                        guard let row, let sealed: Data = row["sealed"], vault.isOutdated(sealed) else { continue }
                        let name: String = row["name"]
                        guard let text = try? vault.open(sealed, row: name) else {
                            done.failed += 1
                            continue
                        }
                        try db.run(
                            "UPDATE \(column.table) SET \(column.column) = ? WHERE \(match)",
                            arguments: StatementArguments([try vault.seal(text, row: name).databaseValue] + keys))
                        done.sealed += 1
                    }
                    return done
                }
                count = (count.sealed + done.sealed, count.failed + done.failed)
            }
        }
        guard try await emptyLog() else {
            throw StoreError(
                .unavailable, "another process reads the database: what was sealed with the former key may still be in its log; try again")
        }
        return count
    }
}
