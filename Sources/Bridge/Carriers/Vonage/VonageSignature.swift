internal import Crypto
public import Foundation
internal import Net

/// The token of a signed webhook (developer.vonage.com/en/getting-started/concepts/webhooks): proves that it
/// comes from Vonage, which alone knows the signature secret, and is unchanged.
///
/// It is a JWT (RFC 7519) with HMAC-SHA256 in `Authorization: Bearer`. Its claims name the account (`api_key`), perhaps
/// the application, the time (`iat`), and the SHA-256 of what was sent (`payload_hash`, hex).
public struct VonageSignature: Sendable {
    /// Lower case.
    public static let header = "authorization"
    /// Bytes of a token.
    private static let tokenLimit = 8 << 10
    /// Seconds that a token's time may differ from ours; Vonage tries a webhook again within a minute.
    static let ageLimit = 300.0

    private let key: SymmetricKey
    private let apiKey: String?
    private let applicationID: String?

    /// - Parameters:
    ///   - apiKey: of the account; nil: any account with this secret.
    ///   - applicationID: nil: any application of it.
    public init(secret: String, apiKey: String? = nil, applicationID: String? = nil) {
        key = SymmetricKey(data: Data(secret.utf8))
        self.apiKey = apiKey
        self.applicationID = applicationID
    }

    private struct Header: Decodable { var alg: String }
    private struct Claims: Decodable {
        var iat: Double
        var exp: Double?
        var apiKey: String?
        var applicationId: String?
        var payloadHash: String
    }

    /// - Parameters:
    ///   - authorization: the header's value.
    ///   - payload: the body; of a GET `payload(of:)`.
    public func isValid(_ authorization: String, payload: [UInt8], at now: Date) -> Bool {
        let scheme = "bearer "
        guard authorization.utf8.count <= Self.tokenLimit, authorization.lowercased().hasPrefix(scheme) else {
            return false
        }
        let parts = authorization.dropFirst(scheme.count).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let code = Self.decoded(parts[2]),
            HMAC<SHA256>.isValidAuthenticationCode(
                code, authenticating: Data((parts[0] + "." + parts[1]).utf8), using: key),
            let header = Self.read(Header.self, parts[0]),
            header.alg == "HS256",
            let claims = Self.read(Claims.self, parts[1])
        else { return false }
        return isCurrent(claims, now.timeIntervalSince1970) && isOurs(claims)
            && DigestText.isEqual(claims.payloadHash.lowercased(), DigestText.hex(SHA256.hash(data: payload)))
    }

    private func isCurrent(_ claims: Claims, _ now: Double) -> Bool {
        abs(now - claims.iat) <= Self.ageLimit && claims.exp.map { now <= $0 } ?? true
    }

    private func isOurs(_ claims: Claims) -> Bool {
        let isAccount = apiKey == nil || claims.apiKey == apiKey
        let isApplication =
            applicationID == nil || claims.applicationId == nil || claims.applicationId == applicationID
        return isAccount && isApplication
    }

    /// What the digest of a GET covers: its query as a JSON object of texts, in the order of the URL
    /// (api.support.vonage.com, article 19033783342876).
    public static func payload(of query: [(name: String, value: String)]) -> [UInt8] {
        let members = query.map { "\(json($0.name)):\(json($0.value))" }
        return Array(("{" + members.joined(separator: ",") + "}").utf8)
    }

    private static func json(_ text: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return (try? encoder.encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? #""""#
    }

    private static func read<Part: Decodable>(_ type: Part.Type, _ text: Substring) -> Part? {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoded(text).flatMap { try? decoder.decode(type, from: $0) }
    }

    /// Base64 for URLs, without padding (RFC 7515 §2).
    private static func decoded(_ text: Substring) -> Data? {
        guard !text.isEmpty, !text.contains(where: { "+/=".contains($0) }) else { return nil }
        let base64 = text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return Data(base64Encoded: String(base64) + String(repeating: "=", count: (4 - base64.count % 4) % 4))
    }
}
