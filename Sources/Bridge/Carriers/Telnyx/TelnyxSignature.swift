internal import Crypto
public import Foundation

/// `telnyx-signature-ed25519` (developers.telnyx.com/development/api-fundamentals/webhooks/receiving-webhooks): proves
/// that a webhook comes from Telnyx and is recent, not a recorded one sent again. It covers the body and the time, not
/// the URL.
public struct TelnyxSignature: Sendable {
    /// Lower case.
    public static let header = "telnyx-signature-ed25519"
    public static let timestampHeader = "telnyx-timestamp"
    /// Seconds between the timestamp and our clock, either way.
    public static let tolerance = 300.0

    public enum Verdict: Sendable, Equatable { case valid, wrong, untimely }

    private let key: Curve25519.Signing.PublicKey

    /// nil: it is no Base64 of 32 bytes.
    public init?(publicKey: String) {
        guard let bytes = Data(base64Encoded: publicKey), bytes.count == 32,
            let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes)
        else { return nil }
        self.key = key
    }

    /// - Parameters:
    ///   - signature: Base64 of an Ed25519 signature (RFC 8032) over timestamp, `|` and body.
    ///   - timestamp: seconds since 1970, in decimal digits.
    public func verdict(on signature: String, timestamp: String, body: [UInt8], at now: Date) -> Verdict {
        guard let given = Data(base64Encoded: signature),
            key.isValidSignature(given, for: Data("\(timestamp)|".utf8) + body), let seconds = Int64(timestamp)
        else { return .wrong }
        return abs(now.timeIntervalSince1970 - Double(seconds)) <= Self.tolerance ? .valid : .untimely
    }
}
