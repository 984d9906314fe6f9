import Foundation
import Net
import Problems
import Testing

@testable import Delivery

@Suite struct WebhookAddressTests {
    private let settings = WebhookSender.Settings(secret: .random())
    private func problem(_ url: String) -> Problem? { WebhookSender.problem(with: url, settings: settings) }

    @Test(arguments: [
        "https://example.org/", "https://example.org:8443/a/b?c=d&e=%20#f", "http://127.0.0.1:9/x",
        "https://[2001:db8::1]/x", "HTTPS://EXAMPLE.ORG",
        "https://example.org/a;b=c,d/(e)!*'$@:~",
    ])
    func good(url: String) { #expect(problem(url) == nil) }

    /// RFC 3986 §2: what is not of its characters would be sent otherwise than it was given, or not at all.
    @Test func noOtherCharacterThanThoseOfAURI() {
        let allowed = Set(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?#[]@!$&'()*+,;=".unicodeScalars)
        for scalar in (0...0x2FF as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init) where !allowed.contains(scalar)
        {
            #expect(problem("https://example.org/a\(scalar)b") != nil, "U+\(String(scalar.value, radix: 16))")
        }
        for text in ["\u{A0}", "\u{3000}", "한", "\u{2028}", "%", "%4", "%g0", "%%41"] {
            #expect(problem("https://example.org/" + text) != nil, "\(text)")
        }
    }

    @Test(arguments: [
        "", " ", "https://", "https:///x", "http://example.org/", "ftp://example.org/", "//example.org/", "example.org",
        "https://u@example.org/",
        "https://u:p@example.org/", "https://example.org/\r\nX-Evil: 1", "https://example.org/\t",
        " https://example.org/", "https://example.org/ ",
        "https://example.org/" + String(repeating: "x", count: 2_048), "javascript:alert(1)",
        "https://example.org:99999/",
    ])
    func bad(url: String) { #expect(problem(url) != nil) }
}
