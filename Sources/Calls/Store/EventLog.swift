internal import Foundation
internal import GRDB

extension CallStore {
    /// Events kept for `after=`; older ones go.
    public static let eventHistoryLimit: Int64 = 20_000

    /// - Parameter call: whose event it is, where its webhook is to be told; nil: it is looked up where it must be.
    func append(_ event: CallEvent, of call: Call?, _ db: Database) throws -> CallEvent {
        try db.run(
            "INSERT INTO events (name, at, outbound_id, payload) VALUES (?, ?, ?, ?)",
            arguments: [
                event.name, event.at.timeIntervalSince1970, event.outboundID,
                try vault.seal(event.payload, row: "events/\(event.outboundID)/\(event.name)"),
            ])
        var stored = event
        stored.id = db.lastInsertedRowID
        if stored.id % 1_000 == 0 { try db.run("DELETE FROM events WHERE id <= ?", arguments: [stored.id - Self.eventHistoryLimit]) }
        try enqueue(stored, of: call, db)
        return stored
    }

    private static func event(_ row: Row, _ vault: Vault) throws -> CallEvent {
        let call: String = row["outbound_id"], name: String = row["name"]
        return CallEvent(
            id: row["id"], name: name, at: Date(timeIntervalSince1970: row["at"]), outboundID: call,
            payload: try vault.open(row["payload"], row: "events/\(call)/\(name)"))
    }

    /// Of the latest event; 0: there has been none.
    public func latestEventID() async throws(StoreError) -> Int64 {
        try await look { db in try Int64.fetchOne(db, sql: "SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)") ?? 0 }
    }

    /// Events after an id, oldest first, at most `limit`; of one call where one is named.
    public func events(after id: Int64, of outboundID: String? = nil, limit: Int = 1_000) async throws(StoreError) -> [CallEvent] {
        try await look { [vault] db in
            let sql =
                outboundID == nil
                ? "SELECT * FROM events WHERE id > ? ORDER BY id LIMIT ?"
                : "SELECT * FROM events WHERE id > ? AND outbound_id = ? ORDER BY id LIMIT ?"
            let arguments: StatementArguments = outboundID.map { [id, $0, limit] } ?? [id, limit]
            return try Self.opened(try Row.fetchAll(db, sql: sql, arguments: arguments)) { try Self.event($0, vault) }
        }
    }
}
