/// A place in a JSON document (RFC 6901): `/questions/0/text`; empty: the whole document.
public struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
    /// Bytes of a pointer as it is written.
    public static let lengthLimit = 1_024

    public var tokens: [String]

    public init(_ tokens: [String] = []) { self.tokens = tokens }

    /// nil: it does not begin with `/`, holds a `~` that escapes nothing, or is too long.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.lengthLimit else { return nil }
        guard !text.isEmpty else {
            tokens = []
            return
        }
        guard text.hasPrefix("/") else { return nil }
        tokens = []
        for token in text.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            var plain = "", rest = token[...]
            while let next = rest.popFirst() {
                guard next == "~" else {
                    plain.append(next)
                    continue
                }
                switch rest.popFirst() {
                case "0": plain += "~"
                case "1": plain += "/"
                default: return nil
                }
            }
            tokens.append(plain)
        }
    }

    public var description: String {
        tokens.map { "/" + $0.replacing("~", with: "~0").replacing("/", with: "~1") }.joined()
    }

    public static func / (pointer: JSONPointer, token: String) -> JSONPointer { JSONPointer(pointer.tokens + [token]) }
    public static func / (pointer: JSONPointer, index: Int) -> JSONPointer { pointer / String(index) }
}

extension JSONValue {
    /// nil: there is nothing at this place.
    public subscript(pointer: JSONPointer) -> JSONValue? {
        var value = self
        for token in pointer.tokens {
            switch value {
            case .object(let members):
                guard let member = members[token] else { return nil }
                value = member
            case .array(let items):
                // An index has no leading zeros and no sign (RFC 6901 §4).
                guard let index = Int(token), String(index) == token, items.indices.contains(index) else { return nil }
                value = items[index]
            default: return nil
            }
        }
        return value
    }

    /// A member of an object; nil: it is none, or has no such member.
    public subscript(member: String) -> JSONValue? {
        if case .object(let members) = self { members[member] } else { nil }
    }
}
