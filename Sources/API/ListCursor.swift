internal import JSON

/// `next_cursor` of a list: which list it is of, the row it stands behind, and a check, so that one of another list, or
/// a made-up one, is refused instead of giving a page of something else.
enum ListCursor: String, CaseIterable, Sendable {
    case outbound = "ob"
    case inbound = "in"
    case activeOutbound = "oba"
    case activeInbound = "ina"
    case deliveries = "del"
    case audit = "aud"
    case doNotCall = "dnc"
    case numbers = "num"
    case agentVersions = "agv"

    /// Characters of a cursor: an `Int64` has 13 digits in base 36.
    static let lengthLimit = 32
    /// Values of the two check digits.
    private static let checks: UInt32 = 36 * 36

    /// `aud-1z0r9`: the position in base 36, and two check digits.
    func text(_ position: Int64) -> String {
        let body = "\(rawValue)-\(String(position, radix: 36))"
        // FNV-1a, 32 bits.
        let hash = body.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        let check = String(hash % Self.checks, radix: 36)
        return body + (check.count < 2 ? "0" : "") + check
    }

    /// - Returns: nil for what this list never gave.
    func position(_ text: String) -> Int64? {
        guard text.utf8.count <= Self.lengthLimit, text.hasPrefix(rawValue + "-"),
            let position = Int64(text.dropFirst(rawValue.count + 1).dropLast(2), radix: 36), position > 0,
            self.text(position) == text
        else { return nil }
        return position
    }
}

extension JSONValue {
    /// `next_cursor` of a list.
    static func cursor(_ position: Int64?, of list: ListCursor) -> JSONValue { .optional(position.map(list.text)) }
}
