internal import Foundation
internal import Problems

/// Events, inside a transaction.
public struct EventRows {
    /// Events kept for `after=`; older ones go.
    public static let historyLimit: Int64 = 20_000
    /// Old ones are looked for once in so many.
    private static let sweep: Int64 = 1_000

    let transaction: any Transaction
    let context: Context

    /// - Parameter company: of the event's call.
    /// - Returns: the event with its id.
    public func append(_ company: CompanyID, _ event: CallEvent) throws -> CallEvent {
        let id: Int64? = try transaction.value(
            """
            INSERT INTO events (company, name, at, call_id, direction, payload) VALUES (?, ?, ?, ?, ?, ?) RETURNING id
            """, company, event.name, event.at, event.callID, event.direction, Data())
        guard let id else { throw StoreError(.unavailable, .databaseGaveNoId) }
        try transaction.run(
            "UPDATE events SET payload = ? WHERE id = ?",
            try context.vault.encrypt(event.payload, row: Self.row(id, event.callID, event.name)), id)
        if id % Self.sweep == 0 {
            try transaction.run("DELETE FROM events WHERE id <= ?", id - Self.historyLimit)
        }
        var stored = event
        stored.id = id
        stored.company = company
        return stored
    }

    /// The id of the latest event; 0: there has been none.
    public func latest() throws -> Int64 { try transaction.value(context.dialect.latestEvent) ?? 0 }

    /// Events after an id, oldest first, at most `limit`; of one call where one is named.
    public func events(_ company: CompanyID, after id: Int64, of call: String?, limit: Int) throws -> [CallEvent] {
        let rows =
            try call.map {
                try transaction.rows(
                    "SELECT * FROM events WHERE id > ? AND call_id = ? AND company = ? ORDER BY id LIMIT ?", id, $0,
                    company, limit)
            }
            ?? transaction.rows(
                "SELECT * FROM events WHERE company = ? AND id > ? ORDER BY id LIMIT ?", company, id, limit)
        return try Storage.opened(rows) { row in
            let call: String = try row["call_id"], name: String = try row["name"]
            let id: Int64 = try row["id"]
            var event = CallEvent(
                id: id, name: name, at: try row["at"], callID: call, direction: try row["direction"],
                payload: try context.vault.open(row["payload"], row: Self.row(id, call, name)))
            event.company = try row["company"]
            return event
        }
    }

    /// What a payload is bound to, its id too: a call has several events of one name.
    static func row(_ id: Int64, _ call: String, _ name: String) -> String { "events/\(call)/\(name)/\(id)" }
}
