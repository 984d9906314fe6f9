internal import Crypto
internal import Foundation
internal import Net

/// `X-Plivo-Signature-V3` (plivo.com/docs/voice/concepts/signature-validation): that a request comes from Plivo, for it
/// alone knows the auth token.
///
/// The code covers the URL as Plivo was given it, the query and the form sorted by name and value, and a nonce. It is
/// base64 of HMAC-SHA256; a header may have several, with commas between them. The upgrade of a stream is signed as a
/// GET.
public struct PlivoSignature: Sendable {
    /// Lower case. Of the account or subaccount that the call belongs to.
    public static let header = "x-plivo-signature-v3"
    /// Of its main account.
    public static let mainHeader = "x-plivo-signature-ma-v3"
    public static let nonceHeader = "x-plivo-signature-v3-nonce"
    /// Bytes of a nonce, and codes in one header.
    private static let nonceLimit = 256
    private static let codeLimit = 8

    private let key: SymmetricKey

    public init(authToken: String) { key = SymmetricKey(data: Data(authToken.utf8)) }

    /// - Parameters:
    ///   - url: without its query.
    ///   - query: decoded.
    ///   - form: of a POST; empty for a GET.
    public func signature(
        _ method: String, url: String, query: [(name: String, value: String)] = [],
        form: [(name: String, value: String)] = [], nonce: String
    ) -> String {
        let text = Self.signed(method, url, query, form, nonce)
        return Data(HMAC<SHA256>.authenticationCode(for: text, using: key)).base64EncodedString()
    }

    private static func signed(
        _ method: String, _ url: String, _ query: [(name: String, value: String)],
        _ form: [(name: String, value: String)], _ nonce: String
    ) -> Data {
        let fields = method == "GET" ? [] : sorted(form)
        var text = url
        if !query.isEmpty || !fields.isEmpty {
            text += "?" + sorted(query).map { $0.name + "=" + $0.value }.joined(separator: "&")
        }
        if !query.isEmpty, !fields.isEmpty { text += "." }
        for field in fields { text += field.name + field.value }
        return Data((text + "." + nonce).utf8)
    }

    private static func sorted(_ fields: [(name: String, value: String)]) -> [(name: String, value: String)] {
        fields.sorted { a, b in
            a.name == b.name
                ? a.value.utf8.lexicographicallyPrecedes(b.value.utf8)
                : a.name.utf8.lexicographicallyPrecedes(b.name.utf8)
        }
    }

    /// Whether one of the codes in the headers (lower-case names) is that of this request.
    public func isValid(
        _ method: String, url: String, query: [(name: String, value: String)] = [],
        form: [(name: String, value: String)] = [], headers: [String: String]
    ) -> Bool {
        guard let nonce = headers[Self.nonceHeader], (1...Self.nonceLimit).contains(nonce.utf8.count) else {
            return false
        }
        let text = Self.signed(method, url, query, form, nonce)
        let codes = [Self.header, Self.mainHeader].compactMap { headers[$0] }.flatMap {
            $0.split(separator: ",", maxSplits: Self.codeLimit).prefix(Self.codeLimit)
        }
        // HMAC's own comparison takes the same time for every code.
        return codes.contains { code in
            Data(base64Encoded: code.trimmingCharacters(in: .whitespaces)).map {
                HMAC<SHA256>.isValidAuthenticationCode($0, authenticating: text, using: key)
            } ?? false
        }
    }
}
