internal import Foundation
internal import Net

/// The names that Asterisk's codecs have here. Others (opus, g729, g722, …) are not converted.
enum AsteriskFormat {
    /// The first is announced where nothing else is said.
    static let all: [(name: String, format: WireFormat)] = [
        ("ulaw", .muLaw8k), ("alaw", .aLaw8k), ("slin16", linear(16_000)), ("slin24", linear(24_000)),
        ("slin48", linear(48_000)), ("slin", linear(8_000)), ("slin12", linear(12_000)), ("slin32", linear(32_000)),
        ("slin44", linear(44_100)),
    ]

    private static func linear(_ rate: Int32) -> WireFormat { WireFormat(.linear16(.little), sampleRate: rate) }
    static func named(_ name: String) -> WireFormat? { all.first { $0.name == name }?.format }
    static func name(of format: WireFormat) -> String? { all.first { $0.format == format }?.name }
}

/// A word on the wire, a line of text or a JSON object; valid as long as its bytes.
struct AsteriskWord {
    private static let space = UInt8(ascii: " ")

    let isJSON: Bool
    private let bytes: UnsafeBufferPointer<UInt8>
    private let name: UnsafeBufferPointer<UInt8>
    /// Plain text: what follows the name.
    private let rest: UnsafeBufferPointer<UInt8>

    /// - Parameter key: of the JSON member with the name.
    init(_ text: UnsafeBufferPointer<UInt8>, _ key: StaticString) throws(MediaStreamError) {
        let bytes = Self.trimmed(text)
        self.bytes = bytes
        isJSON = bytes.first == UInt8(ascii: "{")
        guard isJSON else {
            let end = bytes.firstIndex(of: Self.space) ?? bytes.count
            name = UnsafeBufferPointer(rebasing: bytes[..<end])
            rest = Self.trimmed(UnsafeBufferPointer(rebasing: bytes[end...]))
            guard !name.isEmpty, name.allSatisfy({ Self.isOfName($0) }) else {
                throw MediaStreamError("a text message is neither JSON nor begins with a word")
            }
            return
        }
        var found: JSONMembers.Value?
        let isObject = JSONMembers.forEach(in: bytes) { member, value in
            if JSONMembers.equals(member, key) { found = value }
        }
        guard isObject, let found, found.kind == .string else {
            throw MediaStreamError("a JSON message has no name of its event or command")
        }
        name = UnsafeBufferPointer(rebasing: bytes[found.range])
        rest = UnsafeBufferPointer(rebasing: bytes[bytes.count...])
    }

    /// Words are of capitals, digits and lines.
    private static func isOfName(_ byte: UInt8) -> Bool {
        (65...90).contains(byte) || (48...57).contains(byte) || byte == UInt8(ascii: "_")
    }

    private static func trimmed(_ text: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        let isSpace = { (byte: UInt8) in byte == space || (9...13).contains(byte) }
        guard let start = text.firstIndex(where: { !isSpace($0) }), let end = text.lastIndex(where: { !isSpace($0) })
        else { return UnsafeBufferPointer(rebasing: text[text.count...]) }
        return UnsafeBufferPointer(rebasing: text[start...end])
    }

    func isNamed(_ name: StaticString) -> Bool { JSONMembers.equals(self.name, name) }

    /// A JSON member, or a `name:value` of a line; numbers and truths as they are written.
    func text(_ key: StaticString) -> String? {
        guard isJSON else { return field(key) }
        guard let value = member(key) else { return nil }
        if value.kind == .other { return String(decoding: bytes[value.range], as: UTF8.self) }
        return JSONMembers.text(value, in: bytes)
    }

    private func member(_ key: StaticString) -> JSONMembers.Value? {
        var found: JSONMembers.Value?
        _ = JSONMembers.forEach(in: bytes) { member, value in if JSONMembers.equals(member, key) { found = value } }
        return found
    }

    private func field(_ key: StaticString) -> String? {
        let length = key.utf8CodeUnitCount
        var start = 0
        while start < rest.count {
            let end = rest[start...].firstIndex(of: Self.space) ?? rest.count
            let field = UnsafeBufferPointer(rebasing: rest[start..<end])
            if field.count > length, field[length] == UInt8(ascii: ":"),
                JSONMembers.equals(UnsafeBufferPointer(rebasing: field[..<length]), key)
            {
                return String(decoding: field[(length + 1)...], as: UTF8.self)
            }
            start = end + 1
        }
        return nil
    }

    /// The id that a mark or a buffer has; on a line it is all that follows the name.
    var correlation: String? {
        let id = isJSON ? text("correlation_id") : String(decoding: rest, as: UTF8.self)
        return id.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Of the channel; JSON alone has room for them.
    var variables: [String: String] {
        guard isJSON, let value = member("channel_variables"), value.kind == .object else { return [:] }
        return (try? JSONDecoder().decode([String: String].self, from: Data(bytes[value.range]))) ?? [:]
    }
}
