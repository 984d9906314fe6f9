/// Base64 (RFC 4648 §4) between raw buffers: the media path's, where Foundation's would allocate twice a frame.
public enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 0xFF, count: 256)
        for (index, character) in alphabet.enumerated() { table[Int(character)] = UInt8(index) }
        return table
    }()

    public static func encodedLength(_ count: Int) -> Int { (count + 2) / 3 * 4 }

    /// Decodes into `target`; nil if the text is not base64 or does not fit.
    public static func decode(_ text: UnsafeBufferPointer<UInt8>, into target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        guard text.count % 4 == 0 else { return nil }
        if text.isEmpty { return 0 }
        var padding = 0
        if text[text.count - 1] == UInt8(ascii: "=") { padding = text[text.count - 2] == UInt8(ascii: "=") ? 2 : 1 }
        let count = text.count / 4 * 3 - padding
        guard count <= target.count else { return nil }
        return values.withUnsafeBufferPointer { values in
            var bad: UInt8 = 0
            var at = 0
            for group in stride(from: 0, to: text.count, by: 4) {
                let isLast = group + 4 == text.count
                let a = values[Int(text[group])]
                let b = values[Int(text[group + 1])]
                let c = isLast && padding == 2 ? 0 : values[Int(text[group + 2])]
                let d = isLast && padding >= 1 ? 0 : values[Int(text[group + 3])]
                bad |= a | b | c | d
                let word = UInt32(a) << 18 | UInt32(b) << 12 | UInt32(c) << 6 | UInt32(d)
                target[at] = UInt8(truncatingIfNeeded: word >> 16)
                if at + 1 < count { target[at + 1] = UInt8(truncatingIfNeeded: word >> 8) }
                if at + 2 < count { target[at + 2] = UInt8(truncatingIfNeeded: word) }
                at += 3
            }
            return bad & 0x80 != 0 ? nil : count
        }
    }

    /// Encodes into `target` from `start` on, where `encodedLength(source.count)` bytes must fit; returns where it ended.
    public static func encode(_ source: Span<UInt8>, into target: UnsafeMutableBufferPointer<UInt8>, at start: Int) -> Int {
        alphabet.withUnsafeBufferPointer { alphabet in
            var at = start
            var index = 0
            while index < source.count {
                let left = source.count - index
                let a = UInt32(source[index])
                let b = left > 1 ? UInt32(source[index + 1]) : 0
                let c = left > 2 ? UInt32(source[index + 2]) : 0
                let word = a << 16 | b << 8 | c
                target[at] = alphabet[Int(word >> 18)]
                target[at + 1] = alphabet[Int((word >> 12) & 63)]
                target[at + 2] = left > 1 ? alphabet[Int((word >> 6) & 63)] : UInt8(ascii: "=")
                target[at + 3] = left > 2 ? alphabet[Int(word & 63)] : UInt8(ascii: "=")
                at += 4
                index += 3
            }
            return at
        }
    }
}
