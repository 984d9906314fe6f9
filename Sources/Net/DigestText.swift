/// Codes and digests as text.
public enum DigestText {
    /// Two lower-case hex digits a byte.
    public static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String(UInt16($0) | 0x100, radix: 16).dropFirst() }.joined()
    }

    /// Compares in a time that depends on the length alone, so that a secret cannot be guessed piece by piece.
    public static func isEqual(_ a: String, _ b: String) -> Bool {
        let a = Array(a.utf8), b = Array(b.utf8)
        guard a.count == b.count else { return false }
        return zip(a, b).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
