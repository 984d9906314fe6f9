internal import Foundation

/// The secrets of one company as values: they are filled into headers, and into nothing else.
///
/// It has no description, so that no message can hold what is in it.
public struct ToolSecrets: Sendable, CustomStringConvertible, CustomReflectable {
    /// Characters of a secret below which it is not looked for in answers: it would be found by chance.
    private static let scrubbedLength = 6

    private let values: [String: String]

    public init(_ values: [String: String] = [:]) { self.values = values }

    public var names: Set<String> { Set(values.keys) }
    public var description: String { "secrets" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    subscript(name: String) -> String? { values[name] }

    /// A text of another server without our secrets, should it give one back.
    func scrubbed(_ bytes: [UInt8]) -> [UInt8] {
        let found = values.values.filter { $0.utf8.count >= Self.scrubbedLength && bytes.contains(Array($0.utf8)) }
        guard !found.isEmpty else { return bytes }
        var text = String(decoding: bytes, as: UTF8.self)
        // The longest first: one may be a part of another.
        for secret in found.sorted(by: { $0.utf8.count > $1.utf8.count }) {
            text = text.replacing(secret, with: "[secret]")
        }
        return Array(text.utf8)
    }
}
