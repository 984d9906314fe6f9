/// JSON from outside, parsed strictly (RFC 8259): duplicate keys, trailing text, deep nesting and bad UTF-8 are errors.
/// What it means is kept as it is, numbers to the last digit (`JSONNumber`); the order of members is not.
///
/// Foundation's decoders keep the last of two equal keys, and a request that says two things must not be acted upon.
public enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    public static let depthLimit = 64

    public struct ParseError: Error, Equatable {
        public var message: String
        public var offset: Int
        /// A member stands twice: what it means cannot be told.
        public var isRepetition = false
    }

    public init(parsing bytes: [UInt8]) throws(ParseError) {
        var parser = Parser(bytes: bytes)
        parser.skipSpace()
        let value = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.at == bytes.count else {
            throw ParseError(message: "text follows the JSON value", offset: parser.at)
        }
        self = value
    }

    private struct Parser {
        let bytes: [UInt8]
        var at = 0

        mutating func skipSpace() {
            while at < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[at]) { at += 1 }
        }

        func fail(_ message: String) -> ParseError { ParseError(message: message, offset: at) }

        mutating func value(depth: Int) throws(ParseError) -> JSONValue {
            guard depth < JSONValue.depthLimit else { throw fail("nested more than \(JSONValue.depthLimit) deep") }
            guard at < bytes.count else { throw fail("the JSON text ends too early") }
            switch bytes[at] {
            case UInt8(ascii: "{"): return try object(depth: depth)
            case UInt8(ascii: "["): return try array(depth: depth)
            case UInt8(ascii: "\""): return .string(try string())
            case UInt8(ascii: "t"):
                try word("true")
                return .bool(true)
            case UInt8(ascii: "f"):
                try word("false")
                return .bool(false)
            case UInt8(ascii: "n"):
                try word("null")
                return .null
            default: return .number(JSONNumber(written: try number()))
            }
        }

        mutating func word(_ text: String) throws(ParseError) {
            guard bytes[at...].starts(with: text.utf8) else { throw fail("expected a JSON value") }
            at += text.utf8.count
        }

        mutating func number() throws(ParseError) -> String {
            let start = at
            if at < bytes.count, bytes[at] == UInt8(ascii: "-") { at += 1 }
            let firstDigit = at
            while at < bytes.count, (48...57).contains(bytes[at]) { at += 1 }
            guard at > firstDigit, bytes[firstDigit] != 48 || at == firstDigit + 1 else {
                throw fail("expected a JSON value")
            }
            if at < bytes.count, bytes[at] == UInt8(ascii: ".") {
                at += 1
                let fraction = at
                while at < bytes.count, (48...57).contains(bytes[at]) { at += 1 }
                guard at > fraction else { throw fail("digits must follow the decimal point") }
            }
            if at < bytes.count, bytes[at] == UInt8(ascii: "e") || bytes[at] == UInt8(ascii: "E") {
                at += 1
                if at < bytes.count, bytes[at] == UInt8(ascii: "+") || bytes[at] == UInt8(ascii: "-") { at += 1 }
                let exponent = at
                while at < bytes.count, (48...57).contains(bytes[at]) { at += 1 }
                guard at > exponent else { throw fail("digits must follow the exponent") }
            }
            guard at - start <= JSONNumber.lengthLimit else {
                throw fail("a number is longer than \(JSONNumber.lengthLimit) characters")
            }
            return String(decoding: bytes[start..<at], as: UTF8.self)
        }

        mutating func string() throws(ParseError) -> String {
            at += 1
            var scalars: [UInt8] = []
            while at < bytes.count {
                let byte = bytes[at]
                if byte == UInt8(ascii: "\"") {
                    at += 1
                    guard let text = String(validating: scalars, as: UTF8.self) else {
                        throw fail("the text is not valid UTF-8")
                    }
                    return text
                }
                guard byte >= 0x20 else { throw fail("a control character stands in a string") }
                at += 1
                guard byte == UInt8(ascii: "\\") else {
                    scalars.append(byte)
                    continue
                }
                guard at < bytes.count else { break }
                let escape = bytes[at]
                at += 1
                switch escape {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): scalars.append(escape)
                case UInt8(ascii: "b"): scalars.append(8)
                case UInt8(ascii: "f"): scalars.append(12)
                case UInt8(ascii: "n"): scalars.append(10)
                case UInt8(ascii: "r"): scalars.append(13)
                case UInt8(ascii: "t"): scalars.append(9)
                case UInt8(ascii: "u"):
                    var code = try hex()
                    if (0xD800...0xDBFF).contains(code) {
                        guard at + 1 < bytes.count, bytes[at] == UInt8(ascii: "\\"), bytes[at + 1] == UInt8(ascii: "u")
                        else {
                            throw fail("half of a surrogate pair")
                        }
                        at += 2
                        let low = try hex()
                        guard (0xDC00...0xDFFF).contains(low) else { throw fail("half of a surrogate pair") }
                        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                    }
                    guard let scalar = Unicode.Scalar(code) else { throw fail("half of a surrogate pair") }
                    scalars.append(contentsOf: String(Character(scalar)).utf8)
                default: throw fail("unknown escape in a string")
                }
            }
            throw fail("a string is not closed")
        }

        mutating func hex() throws(ParseError) -> UInt32 {
            // `UInt32` alone would take a sign for a digit.
            guard at + 4 <= bytes.count, bytes[at] != UInt8(ascii: "+"), bytes[at] != UInt8(ascii: "-"),
                let code = UInt32(String(decoding: bytes[at..<(at + 4)], as: UTF8.self), radix: 16)
            else {
                throw fail("four hex digits must follow \\u")
            }
            at += 4
            return code
        }

        mutating func array(depth: Int) throws(ParseError) -> JSONValue {
            at += 1
            var items: [JSONValue] = []
            skipSpace()
            if at < bytes.count, bytes[at] == UInt8(ascii: "]") {
                at += 1
                return .array(items)
            }
            while true {
                skipSpace()
                items.append(try value(depth: depth + 1))
                skipSpace()
                guard at < bytes.count else { throw fail("an array is not closed") }
                at += 1
                if bytes[at - 1] == UInt8(ascii: "]") { return .array(items) }
                guard bytes[at - 1] == UInt8(ascii: ",") else { throw fail("expected , or ]") }
            }
        }

        mutating func object(depth: Int) throws(ParseError) -> JSONValue {
            at += 1
            var members: [String: JSONValue] = [:]
            skipSpace()
            if at < bytes.count, bytes[at] == UInt8(ascii: "}") {
                at += 1
                return .object(members)
            }
            while true {
                skipSpace()
                guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else { throw fail("expected a member's name") }
                let name = try string()
                skipSpace()
                guard at < bytes.count, bytes[at] == UInt8(ascii: ":") else {
                    throw fail("expected : behind a member's name")
                }
                at += 1
                skipSpace()
                guard members[name] == nil else {
                    throw ParseError(
                        message: "the member \"\(name.prefix(40))\" stands twice", offset: at, isRepetition: true)
                }
                members[name] = try value(depth: depth + 1)
                skipSpace()
                guard at < bytes.count else { throw fail("an object is not closed") }
                at += 1
                if bytes[at - 1] == UInt8(ascii: "}") { return .object(members) }
                guard bytes[at - 1] == UInt8(ascii: ",") else { throw fail("expected , or }") }
            }
        }
    }

    /// The same value as JSON text, members sorted.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// As JSON, members in the order of their names.
    public var bytes: [UInt8] {
        var result: [UInt8] = []
        write(to: &result)
        return result
    }

    private func write(to result: inout [UInt8]) {
        switch self {
        case .null: result += "null".utf8
        case .bool(let value): result += (value ? "true" : "false").utf8
        case .number(let number): result += number.text.utf8
        case .string(let value): Self.quote(value, to: &result)
        case .array(let items):
            result.append(UInt8(ascii: "["))
            for (index, item) in items.enumerated() {
                if index > 0 { result.append(UInt8(ascii: ",")) }
                item.write(to: &result)
            }
            result.append(UInt8(ascii: "]"))
        case .object(let members):
            result.append(UInt8(ascii: "{"))
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { result.append(UInt8(ascii: ",")) }
                Self.quote(member.key, to: &result)
                result.append(UInt8(ascii: ":"))
                member.value.write(to: &result)
            }
            result.append(UInt8(ascii: "}"))
        }
    }

    private static func quote(_ text: String, to result: inout [UInt8]) {
        result.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { bytes in
            for (index, byte) in bytes.enumerated() {
                switch byte {
                case UInt8(ascii: "\""): result += #"\""#.utf8
                case UInt8(ascii: "\\"): result += #"\\"#.utf8
                case UInt8(ascii: "\n"): result += #"\n"#.utf8
                case UInt8(ascii: "\r"): result += #"\r"#.utf8
                case UInt8(ascii: "\t"): result += #"\t"#.utf8
                case ..<0x20:
                    result += (byte < 0x10 ? #"\u000"# : #"\u00"#).utf8
                    result += String(byte, radix: 16).utf8
                default:
                    // U+2028 and U+2029 end lines in old JavaScript: E2 80 A8 and A9.
                    if byte == 0xA8 || byte == 0xA9, index >= 2, bytes[index - 1] == 0x80, bytes[index - 2] == 0xE2 {
                        result.removeLast(2)
                        result += (byte == 0xA8 ? #"\u2028"# : #"\u2029"#).utf8
                    } else {
                        result.append(byte)
                    }
                }
            }
        }
        result.append(UInt8(ascii: "\""))
    }

    /// `null` for nil.
    public static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
    public static func optional(_ number: Double?) -> JSONValue { number.map { .number($0) } ?? .null }

    public static func whole(_ value: Int) -> JSONValue { .number(Double(value)) }
    public static func number(_ value: Double) -> JSONValue { .number(JSONNumber(value)) }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByDictionaryLiteral,
    ExpressibleByArrayLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(Dictionary(elements) { $1 }) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}
