internal import Foundation

/// `Signature-Input` with one signature, of which only what Genesys writes is taken: a list of plain names, and
/// parameters that are texts without escapes or whole numbers, each once (RFC 9421 §4.1, RFC 8941).
struct SignatureInput {
    let label: String
    /// As they stand, beginning with the list of names: they are covered as `@signature-params`.
    let parameters: String
    let components: [String]
    private(set) var texts: [String: String] = [:]
    private(set) var numbers: [String: Int] = [:]

    private static let textNames: Set<String> = ["keyid", "nonce", "alg"]
    private static let numberNames: Set<String> = ["created", "expires"]

    init?(_ text: String) {
        var reader = Reader(text)
        guard let label = reader.name(), reader.take("="), let rest = reader.rest, reader.take("(") else { return nil }
        var components: [String] = []
        while !reader.take(")") {
            if !components.isEmpty, !reader.take(" ") { return nil }
            guard let name = reader.quoted(), !name.isEmpty, name == name.lowercased() else { return nil }
            components.append(name)
        }
        self.label = label
        self.components = components
        parameters = rest
        while reader.take(";") {
            guard let name = reader.name(), reader.take("="), texts[name] == nil, numbers[name] == nil else {
                return nil
            }
            if Self.textNames.contains(name), let value = reader.quoted() {
                texts[name] = value
            } else if Self.numberNames.contains(name), let value = reader.number() {
                numbers[name] = value
            } else {
                return nil
            }
        }
        guard reader.isAtEnd else { return nil }
    }

    /// The bytes of this signature in `Signature`.
    func code(in header: String) -> Data? {
        guard header.hasPrefix(label + "=:"), header.hasSuffix(":") else { return nil }
        return Data(base64Encoded: String(header.dropFirst(label.count + 2).dropLast()))
    }

    private struct Reader {
        private let bytes: [UInt8]
        private var at = 0

        init(_ text: String) { bytes = Array(text.trimmingCharacters(in: .whitespaces).utf8) }

        var isAtEnd: Bool { at == bytes.count }
        var rest: String? { isAtEnd ? nil : String(decoding: bytes[at...], as: UTF8.self) }

        mutating func take(_ character: Character) -> Bool {
            guard at < bytes.count, character.asciiValue == bytes[at] else { return false }
            at += 1
            return true
        }

        private mutating func run(_ isPart: (UInt8) -> Bool) -> String? {
            let part = bytes[at...].prefix(while: isPart)
            at = part.endIndex
            return part.isEmpty ? nil : String(decoding: part, as: UTF8.self)
        }

        mutating func name() -> String? {
            run { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (48...57).contains($0) || $0 == 45 }
        }

        /// Fifteen digits at most (RFC 8941 §3.3.1).
        mutating func number() -> Int? { run { (48...57).contains($0) }.flatMap { $0.count <= 15 ? Int($0) : nil } }

        mutating func quoted() -> String? {
            guard take("\"") else { return nil }
            let text = run { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") } ?? ""
            return take("\"") ? text : nil
        }
    }
}
