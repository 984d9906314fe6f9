internal import Crypto
internal import Foundation
internal import Net

/// Finds numbers that are encrypted: by a keyed hash of the whole, and of the last four digits.
struct NumberIndex: Sendable {
    private let key: SymmetricKey

    /// - Parameter secret: of this database; it stays the same when the encryption key changes.
    init(secret: [UInt8]) { key = SymmetricKey(data: secret) }

    func hash(_ text: String) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
        return DigestText.hex(code.prefix(16))
    }

    /// nil where there are fewer than four.
    func tail(_ number: String) -> String? {
        let digits = number.filter { $0.isASCII && $0.isNumber }
        return digits.count < 4 ? nil : hash("tail " + digits.suffix(4))
    }
}
