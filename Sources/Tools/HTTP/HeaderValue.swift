internal import Foundation

/// The value of a header (RFC 9110 §5.5): printable ASCII.
enum HeaderValue {
    static func isFit(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }

    /// A value that is not fit by itself, as MCP writes it (revision 2026-07-28): `=?base64?…?=`.
    static func encoded(_ text: String) -> String {
        let isTrimmed = text.first != " " && text.last != " "
        let isMarked = text.hasPrefix("=?base64?") && text.hasSuffix("?=")
        if isFit(text), isTrimmed, !isMarked { return text }
        return "=?base64?" + Data(text.utf8).base64EncodedString() + "?="
    }
}
