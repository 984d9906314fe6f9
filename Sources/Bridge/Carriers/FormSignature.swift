internal import Crypto
internal import Foundation
internal import Net

/// A signature of a webhook's URL and form: that a request comes from the carrier, which alone knows the key.
///
/// The URL is the one that the carrier was given, not the one that arrives behind a proxy; it is tried with and without
/// its port, as `https:` or `wss:` and as their plain forms, since carriers' own stacks differ.
public struct FormSignature: Sendable {
    /// Query item with the body's digest, where the body is no form.
    private static let bodyDigestItem = "bodySHA256"

    private let key: SymmetricKey

    public init(key: String) { self.key = SymmetricKey(data: Data(key.utf8)) }

    /// Base64 of HMAC-SHA1 over the URL and the form's fields, sorted by name, then by value, each value once.
    public func signature(url: String, form: [(name: String, value: String)]) -> String {
        Data(HMAC<Insecure.SHA1>.authenticationCode(for: Self.signed(url, form), using: key)).base64EncodedString()
    }

    private static func signed(_ url: String, _ form: [(name: String, value: String)]) -> Data {
        var text = url
        for name in Set(form.map(\.name)).sorted(by: byBytes) {
            for value in Set(form.filter { $0.name == name }.map(\.value)).sorted(by: byBytes) { text += name + value }
        }
        return Data(text.utf8)
    }

    private static func byBytes(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }

    /// - Parameters:
    ///   - url: as the carrier sees it, query included.
    ///   - form: the fields of a form body; empty for a GET or another body.
    ///   - body: the raw body where it is no form; its digest stands in the URL.
    public func isValid(
        _ signature: String, url: String, form: [(name: String, value: String)] = [], body: [UInt8]? = nil
    ) -> Bool {
        guard let given = Data(base64Encoded: signature) else { return false }
        if let body {
            let digest = DigestText.hex(SHA256.hash(data: body))
            let told = URLComponents(string: url)?.queryItems?.first { $0.name == Self.bodyDigestItem }?.value
            guard told?.lowercased() == digest else { return false }
        }
        // HMAC's own comparison takes the same time for every code.
        return Self.spellings(of: url).contains {
            HMAC<Insecure.SHA1>.isValidAuthenticationCode(given, authenticating: Self.signed($0, form), using: key)
        }
    }

    static func spellings(of url: String) -> [String] {
        guard let split = url.range(of: "://") else { return [url] }
        let rest = url[split.upperBound...]
        let end = rest.firstIndex { "/?".contains($0) } ?? rest.endIndex
        let authority = rest[..<end]
        let path = String(rest[end...])
        let host = authority.split(separator: ":").first.map(String.init) ?? String(authority)
        let scheme = url[..<split.lowerBound].lowercased()
        let schemes =
            ["wss", "https"].contains(scheme)
            ? [scheme, scheme == "wss" ? "https" : "wss"] : [scheme, scheme == "ws" ? "http" : "ws"]
        let port =
            authority.contains(":")
            ? String(authority.split(separator: ":").last ?? "") : ["wss", "https"].contains(scheme) ? "443" : "80"
        var paths = [path]
        if !path.contains("?") { paths.append(path.hasSuffix("/") ? String(path.dropLast()) : path + "/") }
        // The URL as written comes first: a carrier signs `HTTPS://…` as it stands.
        return [url]
            + schemes.flatMap { scheme in
                [String(authority), host, "\(host):\(port)"].flatMap { authority in
                    paths.map { "\(scheme)://\(authority)\($0)" }
                }
            }
    }
}
