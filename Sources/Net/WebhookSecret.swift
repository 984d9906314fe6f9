internal import Crypto
public import Foundation

/// The secret that webhooks are signed with: `whsec_` and Base64 (standardwebhooks.com, "Symmetric signatures").
public struct WebhookSecret: Sendable, Equatable {
    private static let prefix = "whsec_"
    /// Bytes, as the specification wants them.
    private static let lengths = 24...64

    public let text: String
    private let bytes: [UInt8]

    /// nil if it is none.
    public init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), let data = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))),
            Self.lengths.contains(data.count)
        else { return nil }
        self.text = text
        bytes = Array(data)
    }

    public static func random() -> WebhookSecret {
        let bytes = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
        return WebhookSecret(text: prefix + bytes.base64EncodedString(), bytes: Array(bytes))
    }

    private init(text: String, bytes: [UInt8]) {
        self.text = text
        self.bytes = bytes
    }

    /// The headers of a signed message (Standard Webhooks, "Webhook metadata").
    public func headers(id: String, at date: Date, body: [UInt8]) -> [(name: String, value: String)] {
        let timestamp = Int64(exactly: date.timeIntervalSince1970.rounded(.down)) ?? 0
        return [
            ("webhook-id", id), ("webhook-timestamp", String(timestamp)),
            ("webhook-signature", signature(id: id, timestamp: timestamp, body: body)),
        ]
    }

    /// The value of `webhook-signature`.
    public func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: Data("\(id).\(timestamp).".utf8) + body, using: SymmetricKey(data: bytes))
        return "v1," + Data(code).base64EncodedString()
    }
}
