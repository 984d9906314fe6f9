internal import Foundation
internal import GRDB

extension Migrations {
    /// `sip:` addresses on the do-not-call list that stand for a number are listed under it, as the plan of
    /// numbers says since this step.
    static func rekeyDoNotCall(_ db: Database, _ vault: Vault, _ reading: Reading) throws {
        let numbers = NumberIndex(secret: try Storage.indexSecret(SQLiteTransaction(db), vault))
        var moved: [(from: String, to: String, text: String)] = []
        let rows = try GRDB.Row.fetchCursor(db, sql: "SELECT key, entry FROM do_not_call")
        while let row = try rows.next() {
            let old: String = row["key"]
            let text = try vault.open(row["entry"], row: "do_not_call/\(old)")
            let key = numbers.hash(
                reading.number(try JSONDecoder().decode(DoNotCallEntry.self, from: Data(text.utf8)).number))
            if key != old { moved.append((old, key, text)) }
        }
        for (old, key, text) in moved {
            // Listed already under its number: one entry is enough.
            try db.execute(
                sql: "UPDATE OR REPLACE do_not_call SET key = ?, entry = ? WHERE key = ?",
                arguments: [key, try vault.encrypt(text, row: "do_not_call/\(key)"), old])
        }
    }
}
