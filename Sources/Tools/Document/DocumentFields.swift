internal import JSON
internal import Problems

/// Members of a document by their kind; what is wrong is noted.
extension ToolDocumentReader {
    mutating func object(_ json: JSONValue, _ pointer: JSONPointer, _ known: Set<String>) -> [String: JSONValue]? {
        guard case .object(let members) = json else {
            fail(pointer, .notObject)
            return nil
        }
        for name in members.keys.sorted() where !known.contains(name) {
            fail(pointer / String(name.prefix(ToolSchema.nameLimit)), .unknownField)
        }
        return members
    }

    /// The members of an object of at most `ToolDocument.memberLimit`, by name.
    mutating func entries(_ value: JSONValue?, _ pointer: JSONPointer) -> [(key: String, value: JSONValue)] {
        guard let value, value != .null else { return [] }
        guard case .object(let members) = value else {
            fail(pointer, .notObject)
            return []
        }
        if members.count > ToolDocument.memberLimit {
            fail(pointer, .tooManyItems, ["limit": .number(ToolDocument.memberLimit)])
        }
        let sorted = members.sorted { $0.key < $1.key }
        for (name, _) in sorted where name.isEmpty || name.count > ToolSchema.nameLimit {
            fail(
                pointer / String(name.prefix(ToolSchema.nameLimit)), .lengthNotInRange,
                ["least": 1, "most": .number(ToolSchema.nameLimit)])
        }
        return sorted
    }

    mutating func text(_ value: JSONValue?, _ pointer: JSONPointer, _ limit: Int, _ isRequired: Bool) -> String? {
        guard let value, value != .null else {
            if isRequired { fail(pointer, .required) }
            return nil
        }
        guard case .string(let text) = value else {
            fail(pointer, .notText)
            return nil
        }
        if text.allSatisfy(\.isWhitespace) { fail(pointer, .blank) }
        if text.count > limit { fail(pointer, .tooLong, ["limit": .number(limit)]) }
        if text.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\n" && $0 != "\t" || $0.value == 0x7F }) {
            fail(pointer, .controlCharacterInText)
        }
        return text
    }

    mutating func whole(_ value: JSONValue?, _ pointer: JSONPointer, _ range: ClosedRange<Int>, usual: Int) -> Int {
        guard let value, value != .null else { return usual }
        guard case .number(let number) = value else {
            fail(pointer, .notNumber)
            return usual
        }
        guard let whole = number.integer else {
            fail(pointer, .notWhole)
            return usual
        }
        if !range.contains(whole) {
            fail(
                pointer, .notInRange,
                [
                    "least": .number(range.lowerBound), "most": .number(range.upperBound), "given": .number(whole),
                ])
            return usual
        }
        return whole
    }

    mutating func flag(_ value: JSONValue?, _ pointer: JSONPointer) -> Bool {
        switch value {
        case nil, .null?: return false
        case .bool(let flag)?: return flag
        default:
            fail(pointer, .notBoolean)
            return false
        }
    }
}
