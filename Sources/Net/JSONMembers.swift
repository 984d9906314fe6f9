internal import Foundation

/// Finds the members of a JSON object without decoding it: the media path's way through an envelope whose one large
/// string is base64.
///
/// The walk is checked: the object must be closed, strings must end, nothing may follow. What a value holds is not
/// looked at; a caller that needs more than a plain string uses a decoder.
public struct JSONMembers {
    public enum Kind: Sendable { case string, object, array, other }

    /// Where a value stands in the text: a string without its quotes, anything else as it is.
    public struct Value: Sendable {
        public var range: Range<Int>
        public var kind: Kind
        /// A string with a backslash in it: not the text itself.
        public var hasEscapes = false
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    private var index: Int

    /// Calls `visit` with the place of each key and each value of the object. False: the bytes are not one object.
    public static func forEach(
        in bytes: UnsafeBufferPointer<UInt8>, _ visit: (_ key: UnsafeBufferPointer<UInt8>, _ value: Value) -> Void
    ) -> Bool {
        var walk = JSONMembers(bytes: bytes, index: 0)
        return walk.object(visit)
    }

    /// Calls `visit` with the place of each element of an array. False: the bytes are not one array.
    public static func forEachElement(in bytes: UnsafeBufferPointer<UInt8>, _ visit: (Value) -> Void) -> Bool {
        var walk = JSONMembers(bytes: bytes, index: 0)
        walk.skipSpace()
        guard walk.take(UInt8(ascii: "[")) else { return false }
        walk.skipSpace()
        if walk.take(UInt8(ascii: "]")) { return walk.isAtEnd() }
        while true {
            walk.skipSpace()
            guard let value = walk.value() else { return false }
            visit(value)
            walk.skipSpace()
            if walk.take(UInt8(ascii: ",")) { continue }
            return walk.take(UInt8(ascii: "]")) && walk.isAtEnd()
        }
    }

    /// The bytes are these characters.
    public static func equals(_ bytes: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
        guard bytes.count == text.utf8CodeUnitCount, let base = bytes.baseAddress else { return false }
        return memcmp(base, text.utf8Start, bytes.count) == 0
    }

    /// A string's text, escapes resolved; nil if it is none.
    public static func text(_ value: Value, in bytes: UnsafeBufferPointer<UInt8>) -> String? {
        guard value.kind == .string else { return nil }
        if !value.hasEscapes { return String(decoding: bytes[value.range], as: UTF8.self) }
        // A string alone is JSON too (RFC 8259 §2).
        let quoted = Data(bytes[(value.range.lowerBound - 1)...value.range.upperBound])
        return try? JSONDecoder().decode(String.self, from: quoted)
    }

    private mutating func object(_ visit: (UnsafeBufferPointer<UInt8>, Value) -> Void) -> Bool {
        skipSpace()
        guard take(UInt8(ascii: "{")) else { return false }
        skipSpace()
        if take(UInt8(ascii: "}")) { return isAtEnd() }
        while true {
            skipSpace()
            guard let key = string() else { return false }
            skipSpace()
            guard take(UInt8(ascii: ":")) else { return false }
            skipSpace()
            guard let value = value() else { return false }
            visit(UnsafeBufferPointer(rebasing: bytes[key.range]), value)
            skipSpace()
            if take(UInt8(ascii: ",")) { continue }
            return take(UInt8(ascii: "}")) && isAtEnd()
        }
    }

    private mutating func isAtEnd() -> Bool {
        skipSpace()
        return index == bytes.count
    }

    private mutating func skipSpace() {
        while index < bytes.count, bytes[index] == 0x20 || (0x09...0x0D).contains(bytes[index]) { index += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    private mutating func string() -> Value? {
        guard take(UInt8(ascii: "\"")), let base = bytes.baseAddress else { return nil }
        let start = index
        var from = start
        while from < bytes.count, let found = memchr(base + from, Int32(UInt8(ascii: "\"")), bytes.count - from) {
            let end = base.distance(to: found.assumingMemoryBound(to: UInt8.self))
            var slashes = 0
            while end - slashes > start, bytes[end - slashes - 1] == UInt8(ascii: "\\") { slashes += 1 }
            if slashes % 2 == 0 {
                index = end + 1
                let hasEscapes = memchr(base + start, Int32(UInt8(ascii: "\\")), end - start) != nil
                return Value(range: start..<end, kind: .string, hasEscapes: hasEscapes)
            }
            from = end + 1
        }
        return nil
    }

    private mutating func value() -> Value? {
        guard index < bytes.count else { return nil }
        let start = index
        switch bytes[index] {
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "{"): return nested() ? Value(range: start..<index, kind: .object) : nil
        case UInt8(ascii: "["): return nested() ? Value(range: start..<index, kind: .array) : nil
        default:
            while index < bytes.count, !Self.endsScalar(bytes[index]) { index += 1 }
            return index > start ? Value(range: start..<index, kind: .other) : nil
        }
    }

    private static func endsScalar(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), 0x20, 0x09, 0x0A, 0x0D: true
        default: false
        }
    }

    /// Walks over an object or array with all that is in it.
    private mutating func nested() -> Bool {
        var depth = 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                index += 1
                if depth == 0 { return true }
            case UInt8(ascii: "\""):
                if string() == nil { return false }
            default: index += 1
            }
        }
        return false
    }
}
