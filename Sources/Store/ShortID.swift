/// Ids: a prefix that tells what they are of, and 8 random hex digits.
public enum ShortID {
    static let digits = 8

    public static func random() -> String {
        let text = String(UInt32.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }
}
