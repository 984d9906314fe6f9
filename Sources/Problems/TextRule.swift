/// The characters that a text from outside may contain.
///
/// Control characters (C0, DEL and C1: Unicode's category Cc) do harm further on, in SIP and HTTP headers, logs and
/// terminals; so do the line and paragraph separators, and the bidirectional overrides and isolates (UAX #9), which
/// show a name or number otherwise than it is.
public enum TextRule: Sendable {
    /// One line: names, numbers, addresses, ids.
    case line
    /// What is spoken or shown as running text: line feeds and tabs too.
    case paragraph
    /// A document: everything but NUL, which ends a text in C.
    case document

    /// What is wrong with it; nil: nothing.
    public func problem(with text: String) -> ProblemCode? {
        switch self {
        case .document: return text.unicodeScalars.contains("\u{0}") ? .nulCharacter : nil
        case .line: return text.unicodeScalars.contains(where: Self.isControl) ? .controlCharacter : nil
        case .paragraph:
            let isWrong = text.unicodeScalars.contains { $0 != "\n" && $0 != "\t" && Self.isControl($0) }
            return isWrong ? .controlCharacterInText : nil
        }
    }

    /// With spaces for control characters: of a text that is kept elsewhere as it came.
    public static func plain(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? " " : $0 }))
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
