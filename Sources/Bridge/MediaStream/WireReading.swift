internal import Net

/// Members of a message, read leniently: a number may stand as a string, and a string as a number.
enum WireReading {
    /// Digits of a number that are read; milliseconds since 1970 have 13.
    static let digitLimit = 18
    /// Members of an object that are custom data.
    static let memberLimit = 64

    /// The text of a string, or of a number or truth value as it stands; nil: null, an object, an array, or nothing.
    static func text(_ value: JSONMembers.Value?, in bytes: UnsafeBufferPointer<UInt8>) -> String? {
        guard let value else { return nil }
        switch value.kind {
        case .string: return JSONMembers.text(value, in: bytes)
        case .other:
            let text = String(decoding: bytes[value.range], as: UTF8.self)
            return text == "null" ? nil : text
        case .object, .array: return nil
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

    /// The texts of an object, the first `memberLimit` of them; nil: the bytes are no object.
    static func texts(_ bytes: UnsafeBufferPointer<UInt8>) -> [String: String]? {
        var texts: [String: String] = [:]
        let isObject = JSONMembers.forEach(in: bytes) { key, value in
            guard texts.count < memberLimit, let text = text(value, in: bytes) else { return }
            texts[String(decoding: key, as: UTF8.self)] = text
        }
        return isObject ? texts : nil
    }

    /// What a media type names, in lower case and without `audio/x-`, and its rate: `audio/x-L16;rate=16000` is `l16`
    /// and 16 000 Hz.
    static func mediaType(_ text: String) -> (name: String, rate: Int?) {
        let parts = text.lowercased().split(separator: ";").map { $0.filter { $0 != " " } }
        var name = parts.first ?? ""
        for prefix in ["audio/", "x-"] where name.hasPrefix(prefix) { name.removeFirst(prefix.count) }
        let rate = parts.dropFirst().first { $0.hasPrefix("rate=") }.flatMap { Int($0.dropFirst("rate=".count)) }
        return (name, rate)
    }
}
