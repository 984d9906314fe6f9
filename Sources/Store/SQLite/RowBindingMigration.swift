internal import Foundation
internal import GRDB

extension Migrations {
    /// Events and deliveries are encrypted for their row's id too, so that two of one call and name cannot be swapped.
    /// What cannot be opened stays as it is: it cannot be opened afterwards either.
    static func bindToIDs(_ db: Database, _ vault: Vault) throws {
        // Without the right key nothing could be opened, and all would be lost.
        _ = try Storage.indexSecret(SQLiteTransaction(db), vault)
        try bind("events", name: "name", content: "payload", db, vault, row: EventRows.row)
        try bind("deliveries", name: "event", content: "message", db, vault, row: OutboxRows.row)
    }

    private static func bind(
        _ table: String, name: String, content: String, _ db: Database, _ vault: Vault,
        row newName: (Int64, String, String) -> String
    ) throws {
        let select = try db.makeStatement(
            sql: "SELECT call_id, \(name) AS name, \(content) AS content FROM \(table) WHERE id = ?")
        let update = try db.makeStatement(sql: "UPDATE \(table) SET \(content) = ? WHERE id = ?")
        for id in try Int64.fetchAll(db, sql: "SELECT id FROM \(table)") {
            guard let row = try GRDB.Row.fetchOne(select, arguments: [id]) else { continue }
            let call: String = row["call_id"], name: String = row["name"], content: Data = row["content"]
            guard let text = try? vault.open(content, row: "\(table)/\(call)/\(name)") else { continue }
            try update.execute(arguments: [try vault.encrypt(text, row: newName(id, call, name)), id])
        }
    }
}
