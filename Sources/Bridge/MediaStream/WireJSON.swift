internal import Foundation
internal import Net

/// JSON of messages that are not sound, lenient where providers and their versions differ.
enum WireJSON {
    /// Members beside the protocol's own of a first message that holds the parameters itself; providers send thirty.
    static let parameterLimit = 128

    /// A value as text: a string without its escapes, an object or array as its JSON, anything else as it is written.
    /// nil: null, or a string that has a wrong escape.
    static func text(_ value: JSONMembers.Value, in bytes: UnsafeBufferPointer<UInt8>) -> String? {
        if value.kind == .string { return JSONMembers.text(value, in: bytes) }
        let place = UnsafeBufferPointer(rebasing: bytes[value.range])
        return JSONMembers.equals(place, "null") ? nil : String(decoding: place, as: UTF8.self)
    }

    /// Text of the member `name` of an object; nil: there is none, or `value` is no object.
    static func text(
        of name: StaticString, _ value: JSONMembers.Value?, in bytes: UnsafeBufferPointer<UInt8>
    ) -> String? {
        guard let value, value.kind == .object else { return nil }
        let object = UnsafeBufferPointer(rebasing: bytes[value.range])
        var found: String?
        let isObject = JSONMembers.forEach(in: object) { key, value in
            if JSONMembers.equals(key, name) { found = text(value, in: object) }
        }
        return isObject ? found : nil
    }

    /// The members of an object without `own`, as text.
    static func parameters(
        in bytes: UnsafeBufferPointer<UInt8>, without own: Set<String>
    ) throws(MediaStreamError) -> [String: String] {
        var parameters: [String: String] = [:]
        var count = 0
        let isObject = JSONMembers.forEach(in: bytes) { key, value in
            guard count <= parameterLimit, let name = name(key), !own.contains(name) else { return }
            count += 1
            parameters[name] = text(value, in: bytes)
        }
        guard isObject, count <= parameterLimit else {
            throw MediaStreamError("the first message is no object of at most \(parameterLimit) parameters")
        }
        return parameters
    }

    private static func name(_ key: UnsafeBufferPointer<UInt8>) -> String? {
        guard key.contains(UInt8(ascii: "\\")) else { return String(decoding: key, as: UTF8.self) }
        return try? JSONDecoder().decode(String.self, from: Data("\"".utf8) + Data(key) + Data("\"".utf8))
    }

    /// The key that a text names.
    static func digit(_ text: String?) throws(MediaStreamError) -> Character {
        guard let text, text.utf8.count == 1, let digit = text.first, TelephoneEvent.digits.contains(digit) else {
            throw MediaStreamError("the digit is missing or no digit")
        }
        return digit
    }

    /// Bytes that texts may need in JSON: six for a byte that is escaped.
    static func room(for texts: [String: String]) -> Int {
        texts.reduce(0) { $0 + ($1.key.utf8.count + $1.value.utf8.count) * 6 + 8 }
    }

    /// Writes an object and returns its length; nil: it has no room.
    static func write(_ object: [String: Any], _ target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        let data = try? JSONSerialization.data(
            withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        guard let data, data.count <= target.count else { return nil }
        return data.copyBytes(to: target)
    }
}
