/// What may stand as a callee beside `browser:`: a telephone number, a `tel:` one (RFC 3966 §3), or
/// `sip:user@host[:port]` (RFC 3261 §19.1.1).
///
/// It says which number an address stands for, and nothing else does: the dialling rules, the do-not-call list, calling
/// hours, the search for duplicates and redirections all judge `sip:+1-900-555-0123@host` as the number +19005550123.
///
/// What it cannot read with certainty it refuses: escapes (`%39`), parameters (`;phone-context=`), passwords, a second
/// `@`, names and brackets around the address, `sips:`. It is not certain which number the far end would read in those.
public struct CallAddress: Sendable, Equatable {
    /// Characters of an address and of its user part.
    static let lengthLimit = 256
    static let userLimit = 64
    /// Characters of a DNS name (RFC 1035 §2.3.4).
    private static let hostLimit = 253
    /// Fewer digits are an extension's name, not a number.
    private static let leastDigits = 3

    public enum Kind: Sendable, Equatable {
        case number
        /// `host` perhaps with `:port`.
        case sip(user: String, host: String)
    }
    public let kind: Kind
    /// The number as it may be dialled: ASCII digits, `+` kept; nil: a name.
    public let number: String?
    /// The number with the brackets of `+82 (0)10`, which only `NumberingPlan.e164` understands.
    let spelling: String?

    /// - Returns: nil for other addresses.
    public init?(_ text: String) {
        guard text.count <= Self.lengthLimit else { return nil }
        guard text.prefix(4).lowercased() == "sip:" else {
            guard let number = NumberingPlan.stripped(text) else { return nil }
            kind = .number
            self.number = number
            spelling = text
            return
        }
        let parts = text.dropFirst(4).split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, Self.isUser(parts[0]), Self.isHost(parts[1]) else { return nil }
        let digits = parts[0].filter(\.isNumber)
        kind = .sip(user: String(parts[0]), host: String(parts[1]))
        guard digits.count >= Self.leastDigits, !parts[0].contains(where: \.isLetter) else {
            number = nil
            spelling = nil
            return
        }
        // Whatever stands between the digits: a far end may leave it out.
        let isInternational = parts[0].first { $0.isNumber || $0 == "+" } == "+"
        let spelled = (isInternational ? "+" : "") + parts[0].filter { $0.isNumber || $0 == "(" || $0 == ")" }
        // More digits than a number has: telephone networks ignore those behind the number, so it would stand for a
        // shorter one.
        guard let number = NumberingPlan.stripped(spelled) else { return nil }
        self.number = number
        spelling = spelled
    }

    /// RFC 3261 §25.1, `user` without escapes, `;`, `?` and `/`.
    private static func isUser(_ text: Substring) -> Bool {
        (1...userLimit).contains(text.count)
            && text.utf8.allSatisfy { byte in
                isLetterOrDigit(byte) || "-_.!~*'()&=+$,".utf8.contains(byte)
            }
    }

    private static func isHost(_ text: Substring) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), (1...hostLimit).contains(parts[0].count),
            parts[0].utf8.allSatisfy({ isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") })
        else { return false }
        return parts.count == 1 || parts[1].utf8.first != UInt8(ascii: "+") && UInt16(parts[1]).map { $0 > 0 } ?? false
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: false
        }
    }
}
