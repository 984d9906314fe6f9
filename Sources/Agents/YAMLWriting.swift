public import JSON

extension YAMLDocument {
    /// As YAML for people and for git: members in the order of the agent's description, one a line; what YAML could
    /// read as something else stands in quotes.
    public static func write(_ value: JSONValue) -> String {
        var writer = Writer()
        writer.write(value, indent: 0, path: [], isInline: false)
        return writer.text
    }

    private struct Writer {
        var text = ""

        /// - Parameter isInline: something stands before it on its line.
        mutating func write(_ value: JSONValue, indent: Int, path: [String], isInline: Bool) {
            switch value {
            case .object(let members) where !members.isEmpty:
                if isInline { text += "\n" }
                for (name, member) in Self.ordered(members, path) {
                    text += String(repeating: " ", count: indent) + Self.scalar(name) + ":"
                    write(member, indent: indent + 2, path: path + [name], isInline: true)
                }
            case .array(let items) where !items.isEmpty:
                if isInline { text += "\n" }
                for item in items {
                    text += String(repeating: " ", count: indent) + "-"
                    writeItem(item, indent: indent + 2)
                }
            case .string(let value) where isInline && Self.isBlock(value):
                text += " |-\n"
                for line in value.split(separator: "\n", omittingEmptySubsequences: false) {
                    text += line.isEmpty ? "\n" : String(repeating: " ", count: indent) + line + "\n"
                }
            default: text += (isInline ? " " : "") + Self.flow(value) + "\n"
            }
        }

        /// The first member of an object stands beside the dash.
        private mutating func writeItem(_ item: JSONValue, indent: Int) {
            guard case .object(let members) = item, let first = Self.ordered(members, ["-"]).first else {
                return write(item, indent: indent, path: ["-"], isInline: true)
            }
            text += " " + Self.scalar(first.key) + ":"
            write(first.value, indent: indent + 2, path: ["-"], isInline: true)
            for (name, member) in Self.ordered(members, ["-"]).dropFirst() {
                text += String(repeating: " ", count: indent) + Self.scalar(name) + ":"
                write(member, indent: indent + 2, path: ["-"], isInline: true)
            }
        }

        private static func ordered(_ members: [String: JSONValue], _ path: [String]) -> [(
            key: String, value: JSONValue
        )] {
            let order = AgentForm.order(at: path) ?? ["name", "question", "text", "answer", "type"]
            let places = Dictionary(order.enumerated().map { ($1, $0) }) { first, _ in first }
            return members.sorted {
                (places[$0.key] ?? .max, $0.key) < (places[$1.key] ?? .max, $1.key)
            }
        }

        private static func flow(_ value: JSONValue) -> String {
            switch value {
            case .string(let text): scalar(text)
            case .array: "[]"
            case .object: "{}"
            case .null, .bool, .number: value.text
            }
        }

        /// Lines that can stand as they are.
        private static func isBlock(_ text: String) -> Bool {
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            guard lines.count > 1, let first = lines.first, let last = lines.last, !first.isEmpty, !last.isEmpty else {
                return false
            }
            return lines.allSatisfy { line in
                line.first != " " && line.last != " "
                    && line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && !isBreak($0) }
            }
        }

        /// A text that means the same without quotes stands so.
        private static func scalar(_ text: String) -> String {
            let isWord = { (scalar: Unicode.Scalar) in
                scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                    || "_-.,/!?()' ".unicodeScalars.contains(scalar)
            }
            let isPlain =
                text.unicodeScalars.first.map(\.properties.isAlphabetic) == true && text.last != " "
                && text.unicodeScalars.allSatisfy(isWord) && !reserved.contains(text.lowercased())
            // A JSON text is YAML too, but for the two characters that YAML 1.1 breaks lines at: JSON escapes them.
            return isPlain ? text : JSONValue.string(text).text.unicodeScalars.map(escaped).joined()
        }

        /// Characters that YAML allows in no text are escaped as JSON would.
        private static func escaped(_ scalar: Unicode.Scalar) -> String {
            guard (0x7F...0x9F).contains(scalar.value) || scalar.value == 0xFEFF else { return String(scalar) }
            let hex = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
        }

        private static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
            [0x85, 0x2028, 0x2029, 0xFEFF].contains(scalar.value) || (0x80...0x9F).contains(scalar.value)
                || (0xFFFE...0xFFFF).contains(scalar.value)
        }

        private static let reserved: Set<String> = [
            "null", "true", "false", "yes", "no", "on", "off", "y", "n",
        ]
    }
}
