/// The formats of texts that a schema may name (JSON Schema 2020-12 §7.3, RFC 3339, RFC 5321).
enum TextFormat {
    /// Characters of a mailbox (RFC 5321 §4.5.3.1.3).
    private static let mailboxLimit = 254

    /// - Returns: an example of the format, where the text is not of it; nil: it is, or the format is not known.
    static func problem(_ text: String, _ format: String) -> String? {
        switch format {
        case "date": isDate(text[...]) ? nil : "2026-07-28"
        case "time": isTime(text[...]) ? nil : "14:30:00Z"
        case "date-time": isDateTime(text) ? nil : "2026-07-28T14:30:00Z"
        case "email": isMailbox(text) ? nil : "ann@example.org"
        default: nil
        }
    }

    /// Digits alone, in groups of these lengths with these marks between them.
    private static func numbers(_ text: Substring, _ lengths: [Int], _ mark: Character) -> [Int]? {
        let parts = text.split(separator: mark, omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == lengths, text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        let numbers = parts.compactMap { part in
            part.utf8.allSatisfy { (48...57).contains($0) } ? Int(part) : nil
        }
        return numbers.count == lengths.count ? numbers : nil
    }

    private static func isDate(_ text: Substring) -> Bool {
        guard let parts = numbers(text, [4, 2, 2], "-"), (1...12).contains(parts[1]) else { return false }
        let isLeap = parts[0] % 4 == 0 && (parts[0] % 100 != 0 || parts[0] % 400 == 0)
        let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return (1...days[parts[1] - 1]).contains(parts[2])
    }

    private static func isTime(_ text: Substring) -> Bool {
        var rest = text
        if rest.last == "Z" || rest.last == "z" {
            rest = rest.dropLast()
        } else {
            let offset = rest.suffix(6)
            guard offset.first == "+" || offset.first == "-", let parts = numbers(offset.dropFirst(), [2, 2], ":"),
                parts[0] < 24, parts[1] < 60
            else { return false }
            rest = rest.dropLast(6)
        }
        let pieces = rest.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        if pieces.count > 1, pieces[1].isEmpty || !pieces[1].utf8.allSatisfy({ (48...57).contains($0) }) {
            return false
        }
        // 60: a leap second.
        guard let parts = numbers(pieces[0], [2, 2, 2], ":") else { return false }
        return parts[0] < 24 && parts[1] < 60 && parts[2] <= 60
    }

    private static func isDateTime(_ text: String) -> Bool {
        guard let mark = text.firstIndex(where: { $0 == "T" || $0 == "t" }) else { return false }
        return isDate(text[..<mark]) && isTime(text[text.index(after: mark)...])
    }

    private static func isMailbox(_ text: String) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, text.utf8.count <= mailboxLimit, !parts[0].isEmpty,
            text.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F })
        else { return false }
        let labels = parts[1].split(separator: ".", omittingEmptySubsequences: false)
        return labels.count > 1 && labels.allSatisfy { !$0.isEmpty && $0.first != "-" && $0.last != "-" }
    }
}
