internal import Foundation

/// Rows that cannot be opened: changed on the disk, put elsewhere, or encrypted with a key that is not known.
extension Storage {
    /// All rows of a list that can be opened: a damaged one does not keep the others from being seen.
    /// - Throws: the error of the first row if no row can be opened: the cause is then not a single damaged row.
    public static func opened<Rows: Collection, Value>(_ rows: Rows, _ open: (Rows.Element) throws -> Value) throws
        -> [Value]
    {
        var values: [Value] = []
        var failure: (any Error)?
        for row in rows {
            do { values.append(try open(row)) } catch { failure = failure ?? error }
        }
        if values.isEmpty, let failure { throw failure }
        return values
    }

    /// How many encrypted rows cannot be opened, in tables where there are some.
    public func damage() async throws(StoreError) -> [(table: String, rows: Int)] {
        var found: [(table: String, rows: Int)] = []
        for column in EncryptedColumn.all {
            let damaged = try await read { work in
                var damaged = 0
                try work.transaction.each(
                    """
                    SELECT \(column.row) AS name, \(column.column) AS encrypted FROM \(column.table)
                    WHERE \(column.column) IS NOT NULL
                    """
                ) { row in
                    if (try? work.context.vault.open(row["encrypted"], row: row["name"])) == nil { damaged += 1 }
                }
                return damaged
            }
            if damaged > 0 { found.append((column.name, damaged)) }
        }
        return found
    }
}
