internal import Crypto
internal import CryptoExtras
public import Foundation
internal import GRDB

/// Somebody who logs in by name and password.
public struct User: Sendable, Equatable {
    public var name: String
    public var role: String
    public var createdAt: Date
    public var createdBy: String
}

/// Passwords as they are stored: scrypt (RFC 7914), with a salt of their own.
struct PasswordHash: Sendable, Equatable, Codable {
    static let lengthRange = 12...200
    private static let saltLength = 16
    private static let hashLength = 32
    /// N, r and p: 32 MiB and some 80 ms.
    private static let cost = (rounds: 1 << 15, blockSize: 8, parallelism: 1)
    private static let roundsLimit = 1 << 20

    private var rounds: Int
    private var salt: Data
    private var hash: Data

    init(_ password: String) throws {
        salt = SymmetricKey(size: .init(bitCount: Self.saltLength * 8)).withUnsafeBytes { Data($0) }
        rounds = Self.cost.rounds
        hash = try Self.derive(password, salt, rounds)
    }

    func matches(_ password: String) -> Bool {
        guard (2...Self.roundsLimit).contains(rounds), let given = try? Self.derive(password, salt, rounds), given.count == hash.count else {
            return false
        }
        // In a time that depends on the length alone.
        return zip(given, hash).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func derive(_ password: String, _ salt: Data, _ rounds: Int) throws -> Data {
        // Different ways to write the same letter are the same password.
        let text = Data(password.precomposedStringWithCanonicalMapping.utf8)
        return try KDF.Scrypt.deriveKey(
            from: text, salt: salt, outputByteCount: hashLength, rounds: rounds, blockSize: cost.blockSize, parallelism: cost.parallelism
        ).withUnsafeBytes { Data($0) }
    }
}

extension CallStore {
    public static let userLimit = 1_000
    private static let passwords = DispatchQueue(label: "passwords", qos: .utility)

    /// Hashing takes its time: on a queue of its own, one after the other.
    private func hashing<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Self.passwords.async { continuation.resume(with: Result(catching: body)) }
        }
    }

    /// Makes a user, or gives one a new password and role.
    /// - Throws: `StoreError.conflict` for a password that is too short or too long.
    public func saveUser(_ name: String, password: String, role: String, by who: String, at now: Date) async throws(StoreError) {
        guard PasswordHash.lengthRange.contains(password.count) else {
            throw StoreError(
                .conflict, "a password must have \(PasswordHash.lengthRange.lowerBound) to \(PasswordHash.lengthRange.upperBound) characters")
        }
        let hash: String
        do {
            hash = try await hashing { String(decoding: try JSONEncoder().encode(PasswordHash(password)), as: UTF8.self) }
        } catch { throw Self.translate(error) }
        try await change { db in
            guard try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM users WHERE name <> ?", arguments: [name]) ?? 0 < Self.userLimit else {
                throw StoreError(.conflict, "there are \(Self.userLimit) users already")
            }
            try db.run(
                """
                INSERT INTO users (name, role, password, created_at, created_by) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (name) DO UPDATE SET role = excluded.role, password = excluded.password
                """, arguments: [name, role, hash, now.timeIntervalSince1970, who])
        }
    }

    public func removeUser(_ name: String) async throws(StoreError) {
        try await change { db in
            try db.run("DELETE FROM users WHERE name = ?", arguments: [name])
            if db.changesCount == 0 { throw StoreError(.notFound, "there is no user \(name)") }
        }
    }

    public func users() async throws(StoreError) -> [User] {
        try await look { db in
            try Row.fetchAll(db, sql: "SELECT * FROM users ORDER BY name").map {
                User(name: $0["name"], role: $0["role"], createdAt: Date(timeIntervalSince1970: $0["created_at"]), createdBy: $0["created_by"])
            }
        }
    }

    /// nil: there is no such user, or the password is another one; both take as long.
    public func user(_ name: String, password: String) async throws(StoreError) -> User? {
        let row = try await look { db in
            try Row.fetchOne(db, sql: "SELECT * FROM users WHERE name = ?", arguments: [name]).map {
                (
                    user: User(
                        name: $0["name"], role: $0["role"], createdAt: Date(timeIntervalSince1970: $0["created_at"]), createdBy: $0["created_by"]),
                    hash: $0["password"] as String
                )
            }
        }
        do {
            return try await hashing {
                guard let row, let hash = try? JSONDecoder().decode(PasswordHash.self, from: Data(row.hash.utf8)) else {
                    _ = try PasswordHash(password)
                    return nil
                }
                return hash.matches(password) ? row.user : nil
            }
        } catch { throw Self.translate(error) }
    }
}
