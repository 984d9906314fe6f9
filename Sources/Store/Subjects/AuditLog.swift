public import Foundation

/// An entry of the audit log. Contains no number, no text and no key.
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

/// The audit log, inside a transaction.
public struct AuditRows {
    /// Entries that are kept.
    private static let limit: Int64 = 1_000_000
    /// Old ones are looked for once in so many.
    private static let sweep: Int64 = 1_000
    /// Characters of a detail.
    private static let detailLimit = 500

    let transaction: any Transaction

    public func append(_ company: CompanyID, _ entry: AuditEntry) throws {
        let id: Int64? = try transaction.value(
            "INSERT INTO audit (company, at, actor, action, target, detail) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
            company, entry.at, entry.actor, entry.action, entry.target, String(entry.detail.prefix(Self.detailLimit)))
        if let id, id % Self.sweep == 0 { try transaction.run("DELETE FROM audit WHERE id <= ?", id - Self.limit) }
    }
}

/// The audit log of a company.
public struct AuditLog: Sendable {
    let storage: Storage
    let company: CompanyID

    public func append(_ entry: AuditEntry) async throws(StoreError) {
        try await storage.write { [company] in try $0.audit.append(company, entry) }
    }

    /// Newest first.
    public func page(action: String?, limit: Int, cursor: Int64?) async throws(StoreError) -> (
        items: [AuditEntry], nextCursor: Int64?
    ) {
        let before = cursor ?? .max
        return try await storage.read { [company] work in
            let rows =
                try action.map {
                    try work.transaction.rows(
                        "SELECT * FROM audit WHERE company = ? AND action = ? AND id < ? ORDER BY id DESC LIMIT ?",
                        company, $0, before, limit + 1)
                }
                ?? work.transaction.rows(
                    "SELECT * FROM audit WHERE company = ? AND id < ? ORDER BY id DESC LIMIT ?", company, before,
                    limit + 1)
            let items = try rows.prefix(limit).map { row in
                var entry = AuditEntry(
                    at: try row["at"], actor: try row["actor"], action: try row["action"], target: try row["target"],
                    detail: try row["detail"])
                entry.id = try row["id"]
                return entry
            }
            return (items, rows.count > limit ? try rows[limit - 1]["id"] : nil)
        }
    }
}
