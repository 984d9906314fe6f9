public import Foundation
internal import GRDB

extension CallStore {
    /// A dashboard's login. It outlives a restart of the server, so that an open page goes on.
    public struct StoredSession: Sendable, Equatable {
        /// SHA-256 of the cookie's token; the token itself is nowhere.
        public var hash: String
        public var name: String
        /// Of the API key behind it; empty for who came by a password.
        public var keyID: String
        public var role: String
        public var expiresAt: Date
        public init(hash: String, name: String, keyID: String, role: String, expiresAt: Date) {
            self.hash = hash
            self.name = name
            self.keyID = keyID
            self.role = role
            self.expiresAt = expiresAt
        }
    }

    /// Those that are not over.
    public func sessions(at now: Date) async throws(StoreError) -> [StoredSession] {
        try await look { db in
            try Row.fetchAll(db, sql: "SELECT * FROM sessions WHERE expires_at > ?", arguments: [now.timeIntervalSince1970]).map { row in
                StoredSession(
                    hash: row["hash"], name: row["name"], keyID: row["key_id"], role: row["role"],
                    expiresAt: Date(timeIntervalSince1970: row["expires_at"]))
            }
        }
    }

    /// Keeps a login, and forgets those that are over.
    public func insert(_ session: StoredSession, at now: Date) async throws(StoreError) {
        try await change { db in
            try db.run("DELETE FROM sessions WHERE expires_at <= ?", arguments: [now.timeIntervalSince1970])
            try db.run(
                "INSERT OR REPLACE INTO sessions (hash, name, key_id, role, expires_at) VALUES (?, ?, ?, ?, ?)",
                arguments: [session.hash, session.name, session.keyID, session.role, session.expiresAt.timeIntervalSince1970])
        }
    }

    public func removeSession(_ hash: String) async throws(StoreError) {
        try await change { db in try db.run("DELETE FROM sessions WHERE hash = ?", arguments: [hash]) }
    }
}
