public import Foundation
internal import GRDB

/// Who did what (SPEC §9). Holds no number, no text and no key.
public struct AuditEntry: Sendable, Equatable {
    public var id: Int64 = 0
    public var at: Date
    /// The name of a key or user, or `server`.
    public var actor: String
    /// `call.create`, `call.cancel`, `key.create`, `dial.blocked`, …
    public var action: String
    /// The id of what it was done to; may be empty.
    public var target: String
    public var detail: String
    public init(at: Date, actor: String, action: String, target: String = "", detail: String = "") {
        self.at = at
        self.actor = actor
        self.action = action
        self.target = target
        self.detail = detail
    }
}

extension CallStore {
    /// Entries that are kept.
    private static let auditLimit: Int64 = 1_000_000

    public func audit(_ entry: AuditEntry) async throws(StoreError) {
        try await change { [self] db in try append(entry, db) }
    }

    func append(_ entry: AuditEntry, _ db: Database) throws {
        try db.run(
            "INSERT INTO audit (at, actor, action, target, detail) VALUES (?, ?, ?, ?, ?)",
            arguments: [entry.at.timeIntervalSince1970, entry.actor, entry.action, entry.target, String(entry.detail.prefix(500))])
        let id = db.lastInsertedRowID
        if id % 1_000 == 0 { try db.run("DELETE FROM audit WHERE id <= ?", arguments: [id - Self.auditLimit]) }
    }

    /// Newest first.
    public func audit(action: String?, limit: Int, cursor: Int64?) async throws(StoreError) -> (items: [AuditEntry], nextCursor: Int64?) {
        let before = cursor ?? .max
        return try await look { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT * FROM audit WHERE id < ?\(action == nil ? "" : " AND action = ?") ORDER BY id DESC LIMIT ?",
                arguments: action.map { [before, $0, limit + 1] } ?? [before, limit + 1])
            let items = rows.prefix(limit).map { row in
                var entry = AuditEntry(
                    at: Date(timeIntervalSince1970: row["at"]), actor: row["actor"], action: row["action"], target: row["target"],
                    detail: row["detail"])
                entry.id = row["id"]
                return entry
            }
            return (items, rows.count > limit ? rows[limit - 1]["id"] as Int64 : nil)
        }
    }
}
