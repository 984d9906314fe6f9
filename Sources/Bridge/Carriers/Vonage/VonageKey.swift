internal import CryptoExtras
public import Foundation

/// The private key of an application at Vonage: signs the tokens for its REST API
/// (developer.vonage.com/en/getting-started/concepts/authentication), JWTs (RFC 7519) with RS256.
public struct VonageKey: Sendable {
    /// Bits of a key; Vonage makes 2048.
    private static let sizes = 2_048...4_096
    /// Bytes of its text.
    private static let textLimit = 16 << 10
    /// Seconds that a token is good for: each request has its own.
    static let lifetime = 300

    private let key: _RSA.Signing.PrivateKey

    /// - Parameter pem: PKCS#8 or PKCS#1. Line breaks may be written `\n`, as in environment variables.
    /// - Returns: nil: it is no such key, or of another size.
    public init?(pem: String) {
        guard pem.utf8.count <= Self.textLimit,
            let key = try? _RSA.Signing.PrivateKey(pemRepresentation: pem.replacing("\\n", with: "\n")),
            Self.sizes.contains(key.keySizeInBits)
        else { return nil }
        self.key = key
    }

    /// - Parameter id: of the token, never used twice.
    public func token(applicationID: String, at now: Date, id: UUID = UUID()) -> String {
        let issued = Int(now.timeIntervalSince1970)
        let header = #"{"alg":"RS256","typ":"JWT"}"#
        let claims =
            #"{"application_id":"\#(applicationID)","exp":\#(issued + Self.lifetime),"iat":\#(issued),"#
            + #""jti":"\#(id.uuidString.lowercased())"}"#
        let signed = Self.encoded(Data(header.utf8)) + "." + Self.encoded(Data(claims.utf8))
        // A key that was read signs: an empty signature is refused by the vendor.
        let signature = try? key.signature(for: Data(signed.utf8), padding: .insecurePKCS1v1_5)
        return signed + "." + Self.encoded(signature?.rawRepresentation ?? Data())
    }

    /// Base64 for URLs, without padding (RFC 7515 §2).
    private static func encoded(_ data: Data) -> String {
        String(
            data.base64EncodedString().compactMap { character -> Character? in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }
}
