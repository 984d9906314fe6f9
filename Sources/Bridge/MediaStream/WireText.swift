/// Text of messages written straight into a socket's buffer: no string, no allocation. Each returns where it ended; the
/// dialect's `capacity` has made room.
enum WireText {
    static func write(
        _ bytes: some Collection<UInt8>, _ target: UnsafeMutableBufferPointer<UInt8>, _ at: Int
    ) -> Int {
        UnsafeMutableBufferPointer(rebasing: target[at..<(at + bytes.count)]).update(fromContentsOf: bytes) + at
    }

    static func write(_ text: StaticString, _ target: UnsafeMutableBufferPointer<UInt8>, _ at: Int) -> Int {
        for offset in 0..<text.utf8CodeUnitCount { target[at + offset] = text.utf8Start[offset] }
        return at + text.utf8CodeUnitCount
    }

    /// - Parameter number: not negative.
    static func write(_ number: Int, _ target: UnsafeMutableBufferPointer<UInt8>, _ at: Int) -> Int {
        var digits = 1
        var rest = number / 10
        while rest > 0 {
            digits += 1
            rest /= 10
        }
        var value = number
        for offset in stride(from: digits - 1, through: 0, by: -1) {
            target[at + offset] = 48 + UInt8(value % 10)
            value /= 10
        }
        return at + digits
    }

    /// The members of a carrier's message of sound from the value of its sequence number to the begin of its payload.
    static func writeCarriersMedia(
        sequence: Int, _ track: MediaTrack, chunk: Int, timestampMs: UInt32,
        _ target: UnsafeMutableBufferPointer<UInt8>, _ at: Int
    ) -> Int {
        var at = write(sequence, target, at)
        at = write(
            track == .inbound
                ? #"","media":{"track":"inbound","chunk":""# : #"","media":{"track":"outbound","chunk":""#, target, at)
        at = write(chunk, target, at)
        at = write(#"","timestamp":""#, target, at)
        at = write(Int(timestampMs), target, at)
        return write(#"","payload":""#, target, at)
    }

    /// An id without the characters that JSON escapes, so that it may stand in a message as it is.
    ///
    /// - Parameters:
    ///   - limit: characters that are kept.
    ///   - signs: characters beside letters and digits of ASCII.
    static func plainID(_ id: String, limit: Int = 64, signs: String = "-_") -> String {
        String(id.prefix(limit).filter { $0.isASCII && ($0.isLetter || $0.isNumber || signs.contains($0)) })
    }

    /// Text that needs no escapes in JSON.
    static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x20..<0x7F).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
}
