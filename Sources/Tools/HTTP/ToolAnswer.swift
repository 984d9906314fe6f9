internal import Foundation
internal import JSON

/// The answer of a tool's server, read.
enum ToolAnswer {
    /// Bytes that are read.
    static let sizeLimit = 64 << 10
    /// Objects and arrays inside each other.
    static let depthLimit = 20

    /// - Parameter contentType: of the answer; JSON is read as such, any other text as a text.
    static func read(_ bytes: [UInt8], contentType: String?) throws(ToolFailure) -> JSONValue {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .notAvailable("the tool's answer is no text")
        }
        guard !text.allSatisfy(\.isWhitespace) else { return .null }
        let type = (contentType ?? "application/json").lowercased()
        guard type.contains("json") || text.first == "{" || text.first == "[" else { return .string(text) }
        guard let value = try? JSONValue(parsing: bytes) else {
            guard !type.contains("json") else {
                throw .notAvailable("the tool's answer is no JSON that can be read")
            }
            return .string(text)
        }
        guard depth(value) <= depthLimit else { throw .notAvailable("the tool's answer is nested too deeply") }
        return value
    }

    static func depth(_ value: JSONValue) -> Int {
        switch value {
        case .array(let items): 1 + (items.map(depth).max() ?? 0)
        case .object(let members): 1 + (members.values.map(depth).max() ?? 0)
        default: 0
        }
    }

    /// What is kept of the answer, and what the model is told of it.
    static func mapped(_ answer: JSONValue, _ document: ToolDocument) -> (kept: JSONValue, told: JSONValue) {
        guard !document.into.isEmpty else {
            return (answer, document.tell.map { answer[$0] ?? .null } ?? answer)
        }
        let kept = JSONValue.object(document.into.mapValues { answer[$0] ?? .null })
        return (kept, document.tell.map { answer[$0] ?? .null } ?? kept)
    }
}
