internal import Foundation
internal import Net

/// Members of a message in JSON, read leniently where carriers and their versions differ: a number may stand as a
/// string, and a string as a number. `EventMessage` reads messages of sound.
enum WireJSON {
    /// Members beside the protocol's own of a first message that holds the parameters itself; carriers send thirty.
    static let parameterLimit = 128
    /// Members of an object that are custom data.
    static let memberLimit = 64
    /// Digits of a number that are read; milliseconds since 1970 have 13.
    static let digitLimit = 18

    // MARK: Values

    /// A value as text: a string without its escapes, an object or array as its JSON, anything else as it is written.
    /// nil: null, or a string that has a wrong escape.
    static func text(_ value: JSONMembers.Value, in bytes: UnsafeBufferPointer<UInt8>) -> String? {
        if value.kind == .string { return JSONMembers.text(value, in: bytes) }
        let place = UnsafeBufferPointer(rebasing: bytes[value.range])
        return JSONMembers.equals(place, "null") ? nil : String(decoding: place, as: UTF8.self)
    }

    /// The text of a string, or of a number or truth value as it stands; nil: null, an object, an array, or nothing.
    static func scalar(_ value: JSONMembers.Value?, in bytes: UnsafeBufferPointer<UInt8>) -> String? {
        guard let value else { return nil }
        return switch value.kind {
        case .string, .other: text(value, in: bytes)
        case .object, .array: nil
        }
    }

    /// The number that a value begins with (`8000Hz`); nil: there is none, or it is too long. Allocates nothing.
    static func number(_ value: JSONMembers.Value?, in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let value, value.kind == .string || value.kind == .other else { return nil }
        var number = 0
        var digits = 0
        for byte in bytes[value.range] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { break }
            digits += 1
            guard digits <= digitLimit else { return nil }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return digits > 0 ? number : nil
    }

    /// The key that a text names.
    static func digit(_ text: String?) throws(MediaStreamError) -> Character {
        guard let text, text.utf8.count == 1, let digit = text.first, TelephoneEvent.digits.contains(digit) else {
            throw MediaStreamError("the digit is missing or no digit")
        }
        return digit
    }

    // MARK: Objects

    /// The scalars of an object, the first `memberLimit` of them; nil: the bytes are no object.
    static func scalars(_ bytes: UnsafeBufferPointer<UInt8>) -> [String: String]? {
        var texts: [String: String] = [:]
        let isObject = JSONMembers.forEach(in: bytes) { key, value in
            guard texts.count < memberLimit, let text = scalar(value, in: bytes) else { return }
            texts[String(decoding: key, as: UTF8.self)] = text
        }
        return isObject ? texts : nil
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

    /// A message that is not sound.
    static func decode<Message: Decodable>(
        _ type: Message.Type, _ bytes: UnsafeBufferPointer<UInt8>
    ) throws(MediaStreamError) -> Message {
        do { return try JSONDecoder().decode(type, from: Data(bytes)) } catch {
            throw MediaStreamError("the message is not valid JSON of this protocol")
        }
    }

    // MARK: Writing

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
