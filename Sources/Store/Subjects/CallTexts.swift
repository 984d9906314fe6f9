internal import Foundation

/// What was said in calls and what was sent for them, inside a transaction.
public struct CallTexts {
    let transaction: any Transaction
    let context: Context

    /// Stores an entry of a transcript; one that stands there is replaced.
    public func append(_ entry: some Encodable, at position: Int, to call: String) throws {
        try transaction.run(
            """
            INSERT INTO transcript (call_id, position, entry) VALUES (?, ?, ?)
            ON CONFLICT (call_id, position) DO UPDATE SET entry = excluded.entry
            """, call, position, try context.encrypt(entry, row: "transcript/\(call)/\(position)"))
    }

    public func transcript<Entry: Decodable>(of call: String) throws -> [Entry] {
        try transaction.rows("SELECT position, entry FROM transcript WHERE call_id = ? ORDER BY position", call).map {
            try context.open($0["entry"], row: "transcript/\(call)/\(try $0["position"] as Int)")
        }
    }

    public func clear(_ call: String) throws {
        try transaction.run("DELETE FROM transcript WHERE call_id = ?", call)
    }

    /// Adds SIP messages of a call. Does nothing where the call was erased meanwhile.
    /// - Parameter limit: of messages that are kept; the oldest go.
    public func appendTrace<Message: Codable>(_ messages: [Message], to call: String, limit: Int) throws {
        guard try transaction.exists("SELECT 1 FROM calls WHERE id = ?", call) else { return }
        let all = try trace(of: call) + messages
        try transaction.run(
            """
            INSERT INTO sip_traces (call_id, entry) VALUES (?, ?)
            ON CONFLICT (call_id) DO UPDATE SET entry = excluded.entry
            """, call, try context.encrypt(Array(all.suffix(limit)), row: "sip_traces/" + call))
    }

    /// Oldest first.
    public func trace<Message: Decodable>(of call: String) throws -> [Message] {
        let encrypted: Data? = try transaction.value("SELECT entry FROM sip_traces WHERE call_id = ?", call)
        return try encrypted.map { try context.open($0, row: "sip_traces/" + call) } ?? []
    }
}
