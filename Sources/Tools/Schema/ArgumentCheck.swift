internal import Foundation
public import JSON

/// Checks arguments against a schema: what a model writes is validated before anything leaves.
///
/// Keywords that are not of the subset are not looked at, so that the schema of another server's tool can be checked
/// as far as it is understood.
public enum ArgumentCheck {
    /// One thing that is wrong with the arguments.
    public struct Violation: Sendable, Equatable {
        public var pointer: JSONPointer
        /// Goes on from the argument's name, in words for the model.
        public var message: String
    }

    /// Violations that are told; a model corrects a few at a time.
    public static let limit = 20
    /// Objects and arrays inside each other.
    private static let depthLimit = 20

    /// - Parameter isClosed: an argument that the schema does not name is a violation.
    /// - Returns: in the order of their places; empty: nothing is wrong.
    public static func violations(of value: JSONValue, by schema: JSONValue, isClosed: Bool = false) -> [Violation] {
        var walk = Walk(isClosed: isClosed)
        walk.check(value, schema, at: JSONPointer(), depth: 0)
        return Array(walk.violations.prefix(limit))
    }

    private struct Walk {
        let isClosed: Bool
        var violations: [Violation] = []

        mutating func fail(_ pointer: JSONPointer, _ message: String) {
            violations.append(Violation(pointer: pointer, message: message))
        }

        mutating func check(_ value: JSONValue, _ schema: JSONValue, at pointer: JSONPointer, depth: Int) {
            guard violations.count < ArgumentCheck.limit else { return }
            guard depth < ArgumentCheck.depthLimit else { return fail(pointer, "is nested too deeply") }
            guard case .object(let keywords) = schema else {
                // `false` admits nothing, `true` anything.
                if schema == false { fail(pointer, "must be left out") }
                return
            }
            let types = Self.types(keywords["type"])
            guard types.isEmpty || types.contains(where: { Self.isA($0, value) }) else {
                return fail(pointer, "must be of type " + types.joined(separator: " or "))
            }
            if case .array(let choices)? = keywords["enum"], !choices.contains(where: { Self.equal($0, value) }) {
                fail(pointer, "must be one of " + JSONValue.array(Array(choices.prefix(30))).text)
            }
            if let const = keywords["const"], !Self.equal(const, value) { fail(pointer, "must be " + const.text) }
            switch value {
            case .string(let text): check(text, keywords, at: pointer)
            case .number(let number): check(number, keywords, at: pointer)
            case .array(let items):
                if let most = Self.whole(keywords["maxItems"]), items.count > most {
                    fail(pointer, "has more than \(most) items")
                }
                guard let schema = keywords["items"] else { return }
                for (index, item) in items.enumerated() { check(item, schema, at: pointer / index, depth: depth + 1) }
            case .object(let members): check(members, keywords, at: pointer, depth: depth)
            case .null, .bool: break
            }
        }

        private mutating func check(
            _ members: [String: JSONValue], _ keywords: [String: JSONValue], at pointer: JSONPointer, depth: Int
        ) {
            var known: [String: JSONValue] = [:]
            if case .object(let properties)? = keywords["properties"] { known = properties }
            if case .array(let names)? = keywords["required"] {
                for case .string(let name) in names where members[name] == nil {
                    fail(pointer / name, "is required")
                }
            }
            let isClosed = isClosed || keywords["additionalProperties"] == false
            for (name, value) in members.sorted(by: { $0.key < $1.key }) {
                if let schema = known[name] {
                    check(value, schema, at: pointer / name, depth: depth + 1)
                } else if isClosed, keywords["properties"] != nil || keywords["type"] == "object" {
                    fail(pointer / String(name.prefix(ToolSchema.nameLimit)), "is no argument of this tool")
                }
            }
        }

        private mutating func check(_ text: String, _ keywords: [String: JSONValue], at pointer: JSONPointer) {
            // Unicode code points, as the specification counts them.
            let length = text.unicodeScalars.count
            if let least = Self.whole(keywords["minLength"]), length < least {
                fail(pointer, "must have at least \(least) characters")
            }
            if let most = Self.whole(keywords["maxLength"]), length > most {
                fail(pointer, "must have at most \(most) characters")
            }
            if case .string(let format)? = keywords["format"], let example = TextFormat.problem(text, format) {
                fail(pointer, "must be a \(format), such as \(example)")
            }
        }

        private mutating func check(_ number: JSONNumber, _ keywords: [String: JSONValue], at pointer: JSONPointer) {
            guard let value = number.nearest else { return fail(pointer, "is too large") }
            if case .number(let least)? = keywords["minimum"], let least = least.nearest, value < least {
                fail(pointer, "must be at least \(JSONNumber(least).text)")
            }
            if case .number(let most)? = keywords["maximum"], let most = most.nearest, value > most {
                fail(pointer, "must be at most \(JSONNumber(most).text)")
            }
        }

        private static func types(_ value: JSONValue?) -> [String] {
            switch value {
            case .string(let name)?: [name]
            case .array(let names)?: names.compactMap { if case .string(let name) = $0 { name } else { nil } }
            default: []
            }
        }

        private static func isA(_ type: String, _ value: JSONValue) -> Bool {
            switch (type, value) {
            case ("null", .null), ("boolean", .bool), ("number", .number), ("string", .string), ("array", .array),
                ("object", .object):
                true
            case ("integer", .number(let number)): number.integer != nil
            default: false
            }
        }

        private static func whole(_ value: JSONValue?) -> Int? {
            if case .number(let number)? = value { number.integer } else { nil }
        }

        /// Numbers are equal by their value: 1.0 and 1.
        private static func equal(_ a: JSONValue, _ b: JSONValue) -> Bool {
            if case .number(let a) = a, case .number(let b) = b, let a = a.nearest, let b = b.nearest { return a == b }
            return a == b
        }
    }
}
