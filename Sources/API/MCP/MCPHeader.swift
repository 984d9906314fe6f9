internal import Foundation

/// Header fields of the Model Context Protocol, as `HTTPRequest` names them.
enum MCPHeader {
    static let version = "mcp-protocol-version"
    static let method = "mcp-method"
    static let name = "mcp-name"

    private static let prefix = "=?base64?", suffix = "?="

    /// A value that may stand as `=?base64?…?=`, since header fields hold ASCII alone.
    /// - Returns: nil where its base64 or UTF-8 is bad.
    static func decoded(_ value: String) -> String? {
        guard value.count >= prefix.count + suffix.count, value.hasPrefix(prefix), value.hasSuffix(suffix) else {
            return value
        }
        let text = String(value.dropFirst(prefix.count).dropLast(suffix.count))
        // What is written otherwise than an encoder writes it is refused: two readers could differ about it.
        guard let data = Data(base64Encoded: text), data.base64EncodedString() == text else { return nil }
        return String(validating: data, as: UTF8.self)
    }
}
