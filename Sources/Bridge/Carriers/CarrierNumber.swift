/// Numbers as carriers write them: some leave the plus of E.164 out.
public enum CarrierNumber {
    /// Digits of a number of E.164, country code included. The shortest that are in use have 7.
    private static let digits = 7...15

    /// With its plus. What cannot be E.164 (a national number, `anonymous`, a `sip:` address) stays as it is.
    public static func international(_ text: String) -> String {
        let isInternational =
            digits.contains(text.utf8.count) && !text.hasPrefix("0")
            && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return isInternational ? "+" + text : text
    }

    /// Without its plus.
    public static func bare(_ text: String) -> String { text.hasPrefix("+") ? String(text.dropFirst()) : text }
}
