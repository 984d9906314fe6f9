public import Foundation
internal import GRDB

extension CallStore {
    public static let keyLimit = 1_000

    public struct StoredKey: Sendable, Equatable {
        /// `key-` and 8 hex digits.
        public var id: String
        /// SHA-256 of the key; the key itself is nowhere.
        public var hash: String
        public var name: String
        public var role: String
        public var createdAt: Date
        public var createdBy: String
        public var expiresAt: Date?
        public var revokedAt: Date?
        public init(
            id: String = StoredKey.newID(), hash: String, name: String, role: String, createdAt: Date, createdBy: String, expiresAt: Date? = nil
        ) {
            self.id = id
            self.hash = hash
            self.name = name
            self.role = role
            self.createdAt = createdAt
            self.createdBy = createdBy
            self.expiresAt = expiresAt
        }
        public static func newID() -> String { "key-" + Call.hex(.random(in: .min ... .max)) }
    }

    /// Newest first, revoked ones too.
    public func keys() async throws(StoreError) -> [StoredKey] {
        try await look { db in
            try Row.fetchAll(db, sql: "SELECT * FROM api_keys ORDER BY created_at DESC, id").map { row in
                var key = StoredKey(
                    id: row["id"], hash: row["hash"], name: row["name"], role: row["role"], createdAt: Date(timeIntervalSince1970: row["created_at"]),
                    createdBy: row["created_by"], expiresAt: (row["expires_at"] as Double?).map { Date(timeIntervalSince1970: $0) })
                key.revokedAt = (row["revoked_at"] as Double?).map { Date(timeIntervalSince1970: $0) }
                return key
            }
        }
    }

    /// A key that is known already is left as it is.
    public func insert(_ key: StoredKey) async throws(StoreError) {
        try await change { db in
            guard try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM api_keys WHERE revoked_at IS NULL") ?? 0 < Self.keyLimit else {
                throw StoreError(.conflict, "there are \(Self.keyLimit) keys already")
            }
            try db.run(
                "INSERT OR IGNORE INTO api_keys (id, hash, name, role, created_at, created_by, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
                arguments: [
                    key.id, key.hash, key.name, key.role, key.createdAt.timeIntervalSince1970, key.createdBy, key.expiresAt?.timeIntervalSince1970,
                ])
        }
    }

    public func revokeKey(_ id: String, at now: Date) async throws(StoreError) {
        try await change { db in
            try db.run("UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", arguments: [now.timeIntervalSince1970, id])
            if db.changesCount == 0 { throw StoreError(.notFound, "there is no key \(id)") }
        }
    }
}
