/// JSON from outside, parsed strictly (RFC 8259): duplicate keys, trailing text, deep nesting and bad UTF-8 are errors.
///
/// Foundation's decoders keep the last of two equal keys, and a request that says two things must not be acted upon.
public enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    static let depthLimit = 64

    struct ParseError: Error, Equatable {
        var message: String
        var offset: Int
    }

    init(parsing bytes: [UInt8]) throws(ParseError) {
        var parser = Parser(bytes: bytes)
        parser.skipSpace()
        let value = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.at == bytes.count else { throw ParseError(message: "text follows the JSON value", offset: parser.at) }
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
            default: return .number(try number())
            }
        }

        mutating func word(_ text: String) throws(ParseError) {
            guard bytes[at...].starts(with: text.utf8) else { throw fail("expected a JSON value") }
            at += text.utf8.count
        }

        mutating func number() throws(ParseError) -> Double {
            let start = at
            if at < bytes.count, bytes[at] == UInt8(ascii: "-") { at += 1 }
            let firstDigit = at
            while at < bytes.count, (48...57).contains(bytes[at]) { at += 1 }
            guard at > firstDigit, bytes[firstDigit] != 48 || at == firstDigit + 1 else { throw fail("expected a JSON value") }
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
            guard at - start <= 64, let value = Double(String(decoding: bytes[start..<at], as: UTF8.self)), value.isFinite else {
                throw fail("the number is out of range")
            }
            return value
        }

        mutating func string() throws(ParseError) -> String {
            at += 1
            var scalars: [UInt8] = []
            while at < bytes.count {
                let byte = bytes[at]
                if byte == UInt8(ascii: "\"") {
                    at += 1
                    guard let text = String(validating: scalars, as: UTF8.self) else { throw fail("the text is not valid UTF-8") }
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
                        guard at + 1 < bytes.count, bytes[at] == UInt8(ascii: "\\"), bytes[at + 1] == UInt8(ascii: "u") else {
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
            guard at + 4 <= bytes.count, let code = UInt32(String(decoding: bytes[at..<(at + 4)], as: UTF8.self), radix: 16) else {
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
                guard at < bytes.count, bytes[at] == UInt8(ascii: ":") else { throw fail("expected : behind a member's name") }
                at += 1
                skipSpace()
                guard members[name] == nil else { throw fail("the member \"\(name.prefix(40))\" stands twice") }
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
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let value): value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
        case .string(let value): Self.quoted(value)
        case .array(let items): "[" + items.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.sorted { $0.key < $1.key }.map { Self.quoted($0.key) + ":" + $0.value.text }.joined(separator: ",") + "}"
        }
    }

    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            default:
                if scalar.value < 0x20 || scalar.value == 0x2028 || scalar.value == 0x2029 {
                    let hex = String(scalar.value, radix: 16)
                    result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result + "\""
    }

    /// `null` for nil.
    static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
    static func optional(_ number: Double?) -> JSONValue { number.map(JSONValue.number) ?? .null }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral, ExpressibleByDictionaryLiteral,
    ExpressibleByArrayLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(Dictionary(elements) { $1 }) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}
