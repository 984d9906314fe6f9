internal import Crypto
public import Foundation
internal import Synchronization

/// Digest authentication of requests to us (RFC 3261 §22, RFC 7616, RFC 8760): sofia has no SHA-256, and its own keeps
/// one list of users.
public final class DigestAuthenticator: Sendable {
    public enum Algorithm: String, Sendable, CaseIterable, Codable {
        case md5 = "MD5"
        case sha256 = "SHA-256"

        func hash(_ text: String) -> String {
            let data = Data(text.utf8)
            switch self {
            case .md5: return Self.hex(Insecure.MD5.hash(data: data))
            case .sha256: return Self.hex(SHA256.hash(data: data))
            }
        }
        private static func hex(_ bytes: some Sequence<UInt8>) -> String {
            var text = ""
            for byte in bytes { text += (byte < 16 ? "0" : "") + String(byte, radix: 16) }
            return text
        }
    }

    /// The stored form of a password: the hash of `user:realm:password` (RFC 7616 §3.4.2, A1).
    public struct Secret: Sendable, Equatable, Codable {
        public var md5: String
        public var sha256: String
        public init(user: String, realm: String, password: String) {
            md5 = Algorithm.md5.hash("\(user):\(realm):\(password)")
            sha256 = Algorithm.sha256.hash("\(user):\(realm):\(password)")
        }
        func hash(_ algorithm: Algorithm) -> String { algorithm == .md5 ? md5 : sha256 }
    }

    public enum Verdict: Sendable, Equatable {
        case accepted(user: String)
        /// To be answered with these `WWW-Authenticate` values, the best first.
        case challenge([String])
        /// The header cannot be read.
        case malformed
    }

    /// Bytes of an Authorization header.
    static let headerLimit = 4_096
    /// Seconds for which a nonce may be used.
    static let nonceSeconds = 300.0
    /// Nonces whose counts are remembered; the oldest are forgotten first, and with them all they could have been used
    /// for again.
    static let nonceLimit = 20_000

    public let realm: String
    private let algorithms: [Algorithm]
    private let key = SymmetricKey(size: .bits256)
    private let decoy = UUID().uuidString
    private struct Used {
        /// The highest count seen of a nonce (`nc`).
        var counts: [String: UInt32] = [:]
        var order: [String] = []
        /// Nonces up to this time are not taken any more, seconds.
        var forgottenUntil = 0
    }
    private let used = Mutex(Used())

    public init(realm: String, algorithms: [Algorithm] = [.sha256, .md5]) {
        self.realm = realm
        self.algorithms = algorithms
    }

    /// - Parameters:
    ///   - header: value of Authorization; nil: none came.
    ///   - secret: of a user. An unknown user takes as much time as a wrong password.
    public func verify(_ header: String?, method: String, now: Date, secret: (_ user: String) -> Secret?) -> Verdict {
        guard let header else { return .challenge(challenges(at: now)) }
        // Another scheme is none of ours: that is no mistake (RFC 4475 §3.3.7).
        guard header.prefix(6).lowercased() == "digest" else { return .challenge(challenges(at: now)) }
        guard let fields = Self.parse(header) else { return .malformed }
        guard let user = fields["username"], let nonce = fields["nonce"], let uri = fields["uri"],
            let response = fields["response"],
            let claimed = fields["realm"], let count = fields["nc"], let number = UInt32(count, radix: 16),
            count.utf8.count == 8,
            let clientNonce = fields["cnonce"], !clientNonce.isEmpty
        else { return fields["qop"] == nil && fields["response"] != nil ? .challenge(challenges(at: now)) : .malformed }
        guard let algorithm = Algorithm(rawValue: (fields["algorithm"] ?? "MD5").uppercased()),
            algorithms.contains(algorithm),
            claimed == realm, fields["qop"]?.lowercased() == "auth"
        else { return .challenge(challenges(at: now)) }
        let known = secret(user)
        let first = known ?? Secret(user: user, realm: realm, password: decoy)
        let second = algorithm.hash("\(method):\(uri)")
        let expected = algorithm.hash("\(first.hash(algorithm)):\(nonce):\(count):\(clientNonce):auth:\(second)")
        guard Self.isEqual(expected, response.lowercased()), known != nil else {
            return .challenge(challenges(at: now))
        }
        // Only a client that knows the password learns that its nonce is stale.
        guard let made = date(of: nonce), made <= Int(now.timeIntervalSince1970) + 1,
            Double(Int(now.timeIntervalSince1970) - made) < Self.nonceSeconds, isNew(nonce, made: made, count: number)
        else { return .challenge(challenges(at: now, isStale: true)) }
        return .accepted(user: user)
    }

    /// Values for `WWW-Authenticate`, one for each algorithm (RFC 8760 §2.4).
    public func challenges(at now: Date, isStale: Bool = false) -> [String] {
        let nonce = makeNonce(at: now)
        return algorithms.map {
            "Digest realm=\"\(realm)\", nonce=\"\(nonce)\", algorithm=\($0.rawValue), qop=\"auth\""
                + (isStale ? ", stale=true" : "")
        }
    }

    // MARK: Nonces

    /// Time, a random part, and a code over both: nothing is kept of a nonce until it has been used.
    private func makeNonce(at now: Date) -> String {
        let head =
            String(Int(now.timeIntervalSince1970), radix: 16) + "."
            + String(UInt64.random(in: .min ... .max), radix: 16)
        return head + "." + code(head)
    }

    private func code(_ head: String) -> String {
        HMAC<SHA256>.authenticationCode(for: Data(head.utf8), using: key).prefix(16).map { String($0, radix: 16) }
            .joined(separator: "-")
    }

    /// Seconds since 1970; nil: the nonce is none of ours.
    private func date(of nonce: String) -> Int? {
        let parts = nonce.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, nonce.utf8.count <= 256, Self.isEqual(code("\(parts[0]).\(parts[1])"), String(parts[2]))
        else { return nil }
        return Int(parts[0], radix: 16)
    }

    /// Each count of a nonce is taken once, in rising order (RFC 7616 §3.4, `nc`).
    private func isNew(_ nonce: String, made: Int, count: UInt32) -> Bool {
        used.withLock { used in
            guard count > used.counts[nonce] ?? 0 else { return false }
            if used.counts[nonce] == nil {
                guard made > used.forgottenUntil else { return false }
                used.order.append(nonce)
                if used.order.count > Self.nonceLimit {
                    let oldest = used.order.removeFirst()
                    used.counts[oldest] = nil
                    used.forgottenUntil = max(used.forgottenUntil, Int(oldest.prefix { $0 != "." }, radix: 16) ?? 0)
                }
            }
            used.counts[nonce] = count
            return true
        }
    }

    private static func isEqual(_ a: String, _ b: String) -> Bool {
        let a = Array(a.utf8), b = Array(b.utf8)
        guard a.count == b.count else { return false }
        var difference: UInt8 = 0
        for index in a.indices { difference |= a[index] ^ b[index] }
        return difference == 0
    }

    // MARK: Reading

    /// `Digest name="value", name=value`; names in lower case. nil: it is none, or has a name twice.
    static func parse(_ header: String) -> [String: String]? {
        let bytes = Array(header.utf8)
        guard bytes.count <= headerLimit, header.prefix(6).lowercased() == "digest" else { return nil }
        var index = 6
        var fields: [String: String] = [:]
        func skip(_ wanted: (UInt8) -> Bool) { while index < bytes.count, wanted(bytes[index]) { index += 1 } }
        while true {
            skip { $0 == 0x20 || $0 == 0x09 || $0 == 0x2C || $0 == 0x0D || $0 == 0x0A }
            guard index < bytes.count else { return fields }
            let start = index
            skip { $0 != 0x3D && $0 != 0x2C && $0 != 0x20 && $0 != 0x22 }
            let name = String(decoding: bytes[start..<index], as: UTF8.self).lowercased()
            skip { $0 == 0x20 || $0 == 0x09 }
            guard !name.isEmpty, index < bytes.count, bytes[index] == 0x3D, fields[name] == nil else { return nil }
            index += 1
            skip { $0 == 0x20 || $0 == 0x09 }
            var value: [UInt8] = []
            if index < bytes.count, bytes[index] == 0x22 {
                index += 1
                while true {
                    guard index < bytes.count else { return nil }
                    if bytes[index] == 0x22 { break }
                    if bytes[index] == 0x5C {
                        index += 1
                        guard index < bytes.count else { return nil }
                    }
                    value.append(bytes[index])
                    index += 1
                }
                index += 1
            } else {
                let start = index
                skip { $0 != 0x2C && $0 != 0x20 && $0 != 0x09 && $0 != 0x0D && $0 != 0x0A }
                value = Array(bytes[start..<index])
            }
            fields[name] = String(decoding: value, as: UTF8.self)
        }
    }
}
