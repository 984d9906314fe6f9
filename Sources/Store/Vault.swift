internal import Crypto
public import Foundation
internal import Problems

/// Encrypts personal data: numbers, answers, transcripts, events. AES-256-GCM, bound to the row it
/// stands in.
///
///     01 │ key's id, 4 │ nonce, 12 │ ciphertext │ tag, 16        encrypted
///     7B …                                                     as it is (JSON, begins with "{"): there was no key
public struct Vault: Sendable {
    private static let version: UInt8 = 1
    private static let headerLength = 5
    /// The same, for statements that read the head alone.
    static let headerSQL: SQL = "5"
    /// Bytes by which something grows when it is encrypted.
    public static let overhead = headerLength + 12 + 16
    /// Former keys that are still tried.
    public static let formerKeyLimit = 16

    /// 256 bits.
    public struct Key: Sendable {
        fileprivate let symmetric: SymmetricKey
        fileprivate let id: [UInt8]

        /// - Parameter text: 64 hex digits, or 32 bytes in Base64.
        /// - Throws: a `StoreError` that names what a key looks like.
        public init(_ text: String) throws(StoreError) {
            let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
            guard let bytes = trimmed.count == 64 ? Self.hex(trimmed) : Data(base64Encoded: trimmed).map(Array.init),
                bytes.count == 32
            else {
                throw StoreError(.cannotOpen, .encryptionKeyMalformed)
            }
            self.init(bytes: bytes)
        }

        init(bytes: [UInt8]) {
            symmetric = SymmetricKey(data: bytes)
            id = Array(SHA256.hash(data: Data("trunkline key".utf8 + bytes)).prefix(4))
        }

        private static func hex(_ text: String) -> [UInt8]? {
            var bytes: [UInt8] = []
            var digits = text[...]
            while digits.count >= 2 {
                guard let byte = UInt8(digits.prefix(2), radix: 16), digits.prefix(2).allSatisfy(\.isHexDigit) else {
                    return nil
                }
                bytes.append(byte)
                digits = digits.dropFirst(2)
            }
            return digits.isEmpty ? bytes : nil
        }
    }

    private let current: Key?
    private let former: [Key]

    /// - Parameters:
    ///   - current: the key for new data; nil: new data is not encrypted.
    ///   - former: what was encrypted with these can be read.
    public init(current: Key? = nil, former: [Key] = []) {
        self.current = current
        self.former = former
    }

    public var encrypts: Bool { current != nil }

    /// - Parameter row: what the text belongs to; it cannot be opened anywhere else.
    public func encrypt(_ text: String, row: String) throws -> Data { try encrypt(Data(text.utf8), row: row) }

    public func encrypt(_ bytes: Data, row: String) throws -> Data {
        guard let current else { return bytes }
        let box = try AES.GCM.seal(bytes, using: current.symmetric, authenticating: Data(row.utf8))
        guard let combined = box.combined else { throw StoreError(.unavailable, .cannotEncrypt) }
        return Data([Self.version] + current.id) + combined
    }

    /// - Throws: `StoreError` when the key is missing or the row was tampered with.
    public func open(_ data: Data, row: String) throws -> String {
        String(decoding: try bytes(data, row: row), as: UTF8.self)
    }

    public func bytes(_ data: Data, row: String) throws -> Data {
        guard data.first == Self.version else { return data }
        guard data.count > Self.headerLength else { throw StoreError(.unavailable, .encryptedRowDamaged) }
        let id = Array(data.dropFirst().prefix(4))
        guard let key = ([current].compactMap { $0 } + former).first(where: { $0.id == id }) else {
            throw StoreError(.unavailable, .encryptionKeyUnknown)
        }
        do {
            let box = try AES.GCM.SealedBox(combined: data.dropFirst(Self.headerLength))
            return try AES.GCM.open(box, using: key.symmetric, authenticating: Data(row.utf8))
        } catch { throw StoreError(.unavailable, .encryptedRowMoved) }
    }

    public static func isEncrypted(_ bytes: [UInt8]) -> Bool { bytes.first == version }

    /// Whether it would be written otherwise now.
    public func isOutdated(_ data: Data) -> Bool {
        guard let current else { return false }
        return data.first != Self.version || Array(data.dropFirst().prefix(4)) != current.id
    }
}
