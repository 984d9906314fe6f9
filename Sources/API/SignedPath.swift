internal import Crypto
internal import Foundation
internal import Net

/// Paths that may be fetched without a key, for a while: what a provider plays to a caller.
struct SignedPath: Sendable {
    /// Seconds.
    static let lifetime = 300

    private let key = SymmetricKey(size: .bits256)

    /// The path with its end of life and its code.
    func sign(_ path: String, at now: Date) -> String {
        let expires = Int(now.timeIntervalSince1970) + Self.lifetime
        return "\(path)?expires=\(expires)&code=\(code(path, expires))"
    }

    func isValid(_ path: String, expires: String?, code: String?, at now: Date) -> Bool {
        guard let expires = expires.flatMap({ Int($0) }), Double(expires) > now.timeIntervalSince1970, let code else {
            return false
        }
        return DigestText.isEqual(self.code(path, expires), code)
    }

    private func code(_ path: String, _ expires: Int) -> String {
        DigestText.hex(HMAC<SHA256>.authenticationCode(for: Data("\(path)\n\(expires)".utf8), using: key))
    }
}
