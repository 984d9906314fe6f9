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
    public static func decode(_ text: UnsafeBufferPointer<UInt8>, into target: UnsafeMutableBufferPointer<UInt8>)
        -> Int?
    {
        guard text.count % 4 == 0 else { return nil }
        if text.isEmpty { return 0 }
        var padding = 0
        if text[text.count - 1] == UInt8(ascii: "=") { padding = text[text.count - 2] == UInt8(ascii: "=") ? 2 : 1 }
        let count = text.count / 4 * 3 - padding
        guard count <= target.count else { return nil }
        return values.withUnsafeBufferPointer { values in
            guard let from = text.baseAddress, let to = target.baseAddress, let value = values.baseAddress else {
                return nil
            }
            // Bounds were checked above: these pointers check nothing.
            let whole = count / 3
            var bad: UInt8 = 0
            for group in 0..<whole {
                let a = value[Int(from[4 * group])], b = value[Int(from[4 * group + 1])]
                let c = value[Int(from[4 * group + 2])], d = value[Int(from[4 * group + 3])]
                bad |= a | b | c | d
                let word = UInt32(a) << 18 | UInt32(b) << 12 | UInt32(c) << 6 | UInt32(d)
                to[3 * group] = UInt8(truncatingIfNeeded: word >> 16)
                to[3 * group + 1] = UInt8(truncatingIfNeeded: word >> 8)
                to[3 * group + 2] = UInt8(truncatingIfNeeded: word)
            }
            if padding > 0 {
                let a = value[Int(from[4 * whole])], b = value[Int(from[4 * whole + 1])]
                let c = padding == 1 ? value[Int(from[4 * whole + 2])] : 0
                bad |= a | b | c
                to[3 * whole] = a << 2 | b >> 4
                if padding == 1 { to[3 * whole + 1] = b << 4 | c >> 2 }
            }
            return bad & 0x80 != 0 ? nil : count
        }
    }

    /// Encodes into `target` from `start` on, where `encodedLength(source.count)` bytes must fit; returns where it
    /// ended.
    public static func encode(_ source: Span<UInt8>, into target: UnsafeMutableBufferPointer<UInt8>, at start: Int)
        -> Int
    {
        precondition(
            start >= 0 && start + encodedLength(source.count) <= target.count, "base64: the target is too small")
        return alphabet.withUnsafeBufferPointer { alphabet in
            source.withUnsafeBufferPointer { source in
                guard let from = source.baseAddress, let base = target.baseAddress, let letter = alphabet.baseAddress
                else { return start }
                // Bounds were checked above: these pointers check nothing.
                let to = base + start
                let whole = source.count / 3
                for group in 0..<whole {
                    let word =
                        UInt32(from[3 * group]) << 16 | UInt32(from[3 * group + 1]) << 8 | UInt32(from[3 * group + 2])
                    to[4 * group] = letter[Int(word >> 18)]
                    to[4 * group + 1] = letter[Int((word >> 12) & 63)]
                    to[4 * group + 2] = letter[Int((word >> 6) & 63)]
                    to[4 * group + 3] = letter[Int(word & 63)]
                }
                let left = source.count - 3 * whole
                if left > 0 {
                    let word = UInt32(from[3 * whole]) << 16 | (left == 2 ? UInt32(from[3 * whole + 1]) << 8 : 0)
                    to[4 * whole] = letter[Int(word >> 18)]
                    to[4 * whole + 1] = letter[Int((word >> 12) & 63)]
                    to[4 * whole + 2] = left == 2 ? letter[Int((word >> 6) & 63)] : UInt8(ascii: "=")
                    to[4 * whole + 3] = UInt8(ascii: "=")
                }
                return start + encodedLength(source.count)
            }
        }
    }
}
