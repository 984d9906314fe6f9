/// Whether a text may be sent as a URI as it stands.
public enum URIText {
    /// RFC 3986 §2: printable ASCII without `"<>\^`{|}`, and `%` before two hexadecimal digits. `URLComponents` would
    /// encode others by itself, and the client would then be asked to send what was given.
    public static func isValid(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.indices.allSatisfy { index in
            guard bytes[index] != UInt8(ascii: "%") else {
                return index + 2 < bytes.count && isHexadecimal(bytes[index + 1]) && isHexadecimal(bytes[index + 2])
            }
            return (0x21...0x7E).contains(bytes[index]) && !"\"<>\\^`{|}".utf8.contains(bytes[index])
        }
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
