internal import Foundation
internal import Net

/// `extra_headers` of a stream's `start`: custom data in one string, `k=v;k=v` (the reference) or JSON (the
/// vendor's SDK).
enum PlivoHeaders {
    static func read(_ value: JSONMembers.Value?, in bytes: UnsafeBufferPointer<UInt8>) -> [String: String] {
        guard let value else { return [:] }
        if value.kind == .object { return WireJSON.scalars(UnsafeBufferPointer(rebasing: bytes[value.range])) ?? [:] }
        guard let text = WireJSON.scalar(value, in: bytes) else { return [:] }
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        if trimmed.hasPrefix("{"), let texts = Array(trimmed.utf8).withUnsafeBufferPointer({ WireJSON.scalars($0) }) {
            return texts
        }
        // The attribute of the `<Stream>` has commas.
        let separator: Character = trimmed.contains(";") ? ";" : ","
        var headers: [String: String] = [:]
        for pair in trimmed.split(separator: separator, maxSplits: WireJSON.memberLimit) {
            guard headers.count < WireJSON.memberLimit, let equals = pair.firstIndex(of: "=") else { continue }
            let name = pair[..<equals].trimmingCharacters(in: .whitespaces)
            headers[name] = pair[pair.index(after: equals)...].trimmingCharacters(in: .whitespaces)
        }
        return headers
    }

    /// `k=v;k=v` where nothing in it could be taken for another separator, else JSON.
    static func text(_ parameters: [String: String]) -> String {
        if parameters.allSatisfy({ isPlain($0.key) && isPlain($0.value) }) {
            return parameters.sorted { $0.key < $1.key }.map { $0.key + "=" + $0.value }.joined(separator: ";")
        }
        let data = try? JSONSerialization.data(
            withJSONObject: parameters, options: [.sortedKeys, .withoutEscapingSlashes])
        return data.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Bytes of that text as a string of JSON: an escape within an escape has at most seven.
    static func capacity(for parameters: [String: String]) -> Int {
        parameters.reduce(0) { $0 + ($1.key.utf8.count + $1.value.utf8.count) * 7 + 16 }
    }

    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: ":"), UInt8(ascii: "/"):
                    true
                default: false
                }
            }
    }
}
