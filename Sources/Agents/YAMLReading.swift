internal import Foundation
public import JSON
internal import Yams

/// YAML from outside as the JSON that says the same.
///
/// What is written without quotes is null, true, false or a number only where JSON would write it so: `010`, `yes` and
/// `2026-11-25` are texts. Aliases are refused, so that no document is larger than its text.
public enum YAMLDocument {
    /// Bytes of a text.
    public static let sizeLimit = 1 << 20
    /// Characters of what is told of a mistake.
    private static let problemLimit = 300

    private static let standardTag = "tag:yaml.org,2002:"

    public struct Failure: Error, Sendable, Equatable {
        public var message: String
    }

    public static func read(_ bytes: [UInt8]) throws(Failure) -> JSONValue {
        guard bytes.count <= sizeLimit else { throw Failure(message: "it is larger than \(sizeLimit) bytes") }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Failure(message: "it is no UTF-8") }
        // Before the parser sees it: the parser compares keys, and a key may be an alias of aliases of aliases.
        guard Set(names(behind: "&", in: bytes)).isDisjoint(with: names(behind: "*", in: bytes)) else {
            throw Failure(message: "aliases (&name, *name) are not supported")
        }
        let root: Node?
        do { root = try Yams.compose(yaml: text) } catch {
            throw Failure(message: String("\(error)".prefix(problemLimit)))
        }
        guard let root else { return .null }
        return try value(of: root, depth: 0)
    }

    /// The names that stand behind a sign, wherever it stands.
    private static func names(behind sign: Unicode.Scalar, in bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        let sign = UInt8(truncatingIfNeeded: sign.value)
        return bytes.indices.compactMap { index in
            guard bytes[index] == sign else { return nil }
            let name = bytes[(index + 1)...].prefix { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: byte >= 0x80
                }
            }
            return name.isEmpty ? nil : name
        }
    }

    private static func value(of node: Node, depth: Int) throws(Failure) -> JSONValue {
        guard depth < JSONValue.depthLimit else {
            throw Failure(message: "nested more than \(JSONValue.depthLimit) deep")
        }
        switch node {
        case .scalar(let scalar): return try value(of: scalar, node)
        case .sequence(let sequence):
            var items: [JSONValue] = []
            for item in sequence { items.append(try value(of: item, depth: depth + 1)) }
            return .array(items)
        case .mapping(let mapping):
            var members: [String: JSONValue] = [:]
            for (key, item) in mapping {
                guard case .scalar(let name) = key else {
                    throw Failure(message: "a key must be a text\(place(key))")
                }
                guard members[name.string] == nil else {
                    throw Failure(message: "the key \"\(name.string.prefix(40))\" stands twice\(place(key))")
                }
                members[name.string] = try value(of: item, depth: depth + 1)
            }
            return .object(members)
        case .alias: throw Failure(message: "aliases (&name, *name) are not supported")
        }
    }

    private static func value(of scalar: Node.Scalar, _ node: Node) throws(Failure) -> JSONValue {
        let tag = "\(node.tag)"
        guard tag.hasPrefix(standardTag) || tag.isEmpty else {
            throw Failure(message: "the tag \(tag.prefix(40)) is not supported\(place(node))")
        }
        // `!!str 5` is a text too: what it would be without a tag is another one.
        let isText = tag == Tag.Name.str.rawValue && Resolver.default.resolveTag(of: Node(scalar.string)) != .str
        guard scalar.style == .plain, !isText else { return .string(scalar.string) }
        return plain(scalar.string)
    }

    /// What a text without quotes is.
    static func plain(_ text: String) -> JSONValue {
        switch text {
        case "", "~", "null": return .null
        case "true": return true
        case "false": return false
        default:
            guard let first = text.utf8.first, first == UInt8(ascii: "-") || (48...57).contains(first),
                case .number(let number)? = try? JSONValue(parsing: Array(text.utf8)), number.text == text
            else { return .string(text) }
            return .number(number)
        }
    }

    private static func place(_ node: Node) -> String { node.mark.map { ", in line \($0.line)" } ?? "" }
}
