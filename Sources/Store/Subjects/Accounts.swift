public import Foundation
internal import Problems

/// A user that logs in with name and password.
public struct User: Sendable, Equatable {
    public var name: String
    public var role: String
    public var createdAt: Date
    public var createdBy: String
    /// Whose user this is: a name is unique in the installation.
    public var company: CompanyID

    init(_ row: Row) throws {
        company = try row["company"]
        name = try row["name"]
        role = try row["role"]
        createdAt = try row["created_at"]
        createdBy = try row["created_by"]
    }
}

/// An API key, without the key.
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
    /// Whose calls, numbers and people it opens.
    public var company: CompanyID
    public init(
        id: String = StoredKey.newID(), hash: String, name: String, role: String, createdAt: Date, createdBy: String,
        expiresAt: Date? = nil, company: CompanyID = .default
    ) {
        self.company = company
        self.id = id
        self.hash = hash
        self.name = name
        self.role = role
        self.createdAt = createdAt
        self.createdBy = createdBy
        self.expiresAt = expiresAt
    }
    public static func newID() -> String { "key-" + ShortID.random() }
}

/// A dashboard's login. It outlives a restart of the server, so that an open page goes on.
public struct StoredSession: Sendable, Equatable {
    /// SHA-256 of the cookie's token; the token itself is nowhere.
    public var hash: String
    public var name: String
    /// The hash of the API key behind it; empty for a login by password.
    public var keyID: String
    public var role: String
    public var expiresAt: Date
    /// Of the key or user.
    public var company: CompanyID
    public init(
        hash: String, name: String, keyID: String, role: String, expiresAt: Date, company: CompanyID = .default
    ) {
        self.company = company
        self.hash = hash
        self.name = name
        self.keyID = keyID
        self.role = role
        self.expiresAt = expiresAt
    }
}

/// People, keys and logins: a key or login is looked for before it is known whose it is.
public struct Accounts: Sendable {
    /// Of one company.
    public static let userLimit = 1_000
    public static let keyLimit = 1_000

    let storage: Storage

    // MARK: Keys

    /// Newest first, revoked ones too.
    public func keys(_ company: CompanyID) async throws(StoreError) -> [StoredKey] {
        try await storage.read { work in
            try work.transaction.rows(
                "SELECT * FROM api_keys WHERE company = ? ORDER BY created_at DESC, id", company
            ).map(Self.key)
        }
    }

    /// Those of all companies, for who admits them.
    public func keysOfAll() async throws(StoreError) -> [StoredKey] {
        try await storage.read { work in
            try work.transaction.rows("SELECT * FROM api_keys ORDER BY created_at DESC, id").map(Self.key)
        }
    }

    private static func key(_ row: Row) throws -> StoredKey {
        var key = StoredKey(
            id: try row["id"], hash: try row["hash"], name: try row["name"], role: try row["role"],
            createdAt: try row["created_at"], createdBy: try row["created_by"], expiresAt: try row["expires_at"],
            company: try row["company"])
        key.revokedAt = try row["revoked_at"]
        return key
    }

    /// A key that is known already is left as it is.
    public func insert(_ key: StoredKey) async throws(StoreError) {
        try await storage.write { work in
            let count = try work.transaction.count(
                "SELECT COUNT(*) FROM api_keys WHERE company = ? AND revoked_at IS NULL", key.company)
            guard count < Self.keyLimit else {
                throw StoreError(.conflict, .tooManyKeys, ["limit": .number(Self.keyLimit)])
            }
            try work.transaction.run(
                """
                INSERT INTO api_keys (id, hash, name, role, created_at, created_by, expires_at, company)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
                """, key.id, key.hash, key.name, key.role, key.createdAt, key.createdBy, key.expiresAt, key.company)
        }
    }

    public func revokeKey(_ company: CompanyID, _ id: String, at now: Date) async throws(StoreError) {
        try await storage.write { work in
            let changed = try work.transaction.run(
                "UPDATE api_keys SET revoked_at = ? WHERE company = ? AND id = ? AND revoked_at IS NULL", now, company,
                id)
            if changed == 0 { throw StoreError(.notFound, .noKeyNamed, ["id": .text(id)]) }
        }
    }

    // MARK: Logins

    /// Those of all companies that are not over.
    public func sessions(at now: Date) async throws(StoreError) -> [StoredSession] {
        try await storage.read { work in
            try work.transaction.rows("SELECT * FROM sessions WHERE expires_at > ?", now).map { row in
                StoredSession(
                    hash: try row["hash"], name: try row["name"], keyID: try row["key_id"], role: try row["role"],
                    expiresAt: try row["expires_at"], company: try row["company"])
            }
        }
    }

    /// Keeps a login, and forgets those that are over.
    public func insert(_ session: StoredSession, at now: Date) async throws(StoreError) {
        try await storage.write { work in
            try work.transaction.run("DELETE FROM sessions WHERE expires_at <= ?", now)
            try work.transaction.run(
                """
                INSERT INTO sessions (hash, name, key_id, role, expires_at, company) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (hash) DO UPDATE SET name = excluded.name, key_id = excluded.key_id, role = excluded.role,
                    expires_at = excluded.expires_at, company = excluded.company
                """, session.hash, session.name, session.keyID, session.role, session.expiresAt, session.company)
        }
    }

    public func removeSession(_ hash: String) async throws(StoreError) {
        try await storage.write { _ = try $0.transaction.run("DELETE FROM sessions WHERE hash = ?", hash) }
    }

    // MARK: Users

    /// Makes a user, or gives one a new password and role.
    /// - Throws: `StoreError.conflict` for a password that is too short or too long, and for a name that a user of
    ///   another company has.
    public func saveUser(
        _ company: CompanyID, _ name: String, password: String, role: String, by who: String, at now: Date
    ) async throws(StoreError) {
        try PasswordHash.check(password)
        let hash: String
        do {
            hash = try await PasswordHash.hashing {
                String(decoding: try JSONEncoder().encode(PasswordHash(password)), as: UTF8.self)
            }
        } catch { throw storage.translate(error) }
        try await storage.write { work in
            guard
                try !work.transaction.exists("SELECT 1 FROM users WHERE name = ? AND company <> ?", name, company)
            else { throw StoreError(.conflict, .userNameTaken, ["name": .text(name)]) }
            let others = try work.transaction.count(
                "SELECT COUNT(*) FROM users WHERE company = ? AND name <> ?", company, name)
            guard others < Self.userLimit else {
                throw StoreError(.conflict, .tooManyUsers, ["limit": .number(Self.userLimit)])
            }
            try work.transaction.run(
                """
                INSERT INTO users (name, role, password, created_at, created_by, company) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (name) DO UPDATE SET role = excluded.role, password = excluded.password
                """, name, role, hash, now, who, company)
        }
    }

    public func removeUser(_ company: CompanyID, _ name: String) async throws(StoreError) {
        try await storage.write { work in
            if try work.transaction.run("DELETE FROM users WHERE company = ? AND name = ?", company, name) == 0 {
                throw StoreError(.notFound, .noUserNamed, ["name": .text(name)])
            }
        }
    }

    /// Those of all companies, for who admits them.
    public func usersOfAll() async throws(StoreError) -> [User] {
        try await storage.read { try $0.transaction.rows("SELECT * FROM users ORDER BY name").map { try User($0) } }
    }

    /// nil: there is no such user, or the password is another one; both take as long.
    public func user(_ name: String, password: String) async throws(StoreError) -> User? {
        let found = try await storage.read { work -> (user: User, hash: String)? in
            try work.transaction.row("SELECT * FROM users WHERE name = ?", name).map {
                (try User($0), try $0["password"])
            }
        }
        do {
            return try await PasswordHash.hashing {
                guard let found, let hash = try? JSONDecoder().decode(PasswordHash.self, from: Data(found.hash.utf8))
                else {
                    _ = try PasswordHash(password)
                    return nil
                }
                return hash.matches(password) ? found.user : nil
            }
        } catch { throw storage.translate(error) }
    }
}
