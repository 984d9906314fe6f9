internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import Problems

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
        guard (2...Self.roundsLimit).contains(rounds), let given = try? Self.derive(password, salt, rounds),
            given.count == hash.count
        else {
            return false
        }
        // In a time that depends on the length alone.
        return zip(given, hash).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func derive(_ password: String, _ salt: Data, _ rounds: Int) throws -> Data {
        // Different ways to write the same letter are the same password.
        let text = Data(password.precomposedStringWithCanonicalMapping.utf8)
        return try KDF.Scrypt.deriveKey(
            from: text, salt: salt, outputByteCount: hashLength, rounds: rounds, blockSize: cost.blockSize,
            parallelism: cost.parallelism
        ).withUnsafeBytes { Data($0) }
    }

    /// - Throws: `StoreError.conflict` for one that is too short or too long.
    static func check(_ password: String) throws(StoreError) {
        guard lengthRange.contains(password.count) else {
            throw StoreError(
                .conflict, .passwordLength,
                ["least": .number(lengthRange.lowerBound), "most": .number(lengthRange.upperBound)])
        }
    }

    private static let queue = DispatchQueue(label: "passwords", qos: .utility)

    /// Hashing takes its time: on a queue of its own, one after the other.
    static func hashing<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result(catching: body)) }
        }
    }
}
