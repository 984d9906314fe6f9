/// DTMF as RTP events (RFC 4733 §2.3).
public enum TelephoneEvent {
    static let digits: [Character] = Array("0123456789*#ABCD")

    /// All packets of a digit share a timestamp, so a digit is reported when a new timestamp appears, whichever of its
    /// packets arrive.
    public struct Receiver {
        private var lastTimestamp: UInt32?
        public init() {}

        /// The digit that this packet begins, if it begins one.
        public mutating func receive(_ payload: UnsafeRawBufferPointer, timestamp: UInt32) -> Character? {
            guard payload.count >= 4, Int(payload[0]) < digits.count else { return nil }
            guard timestamp != lastTimestamp else { return nil }
            lastTimestamp = timestamp
            return digits[Int(payload[0])]
        }
    }

    /// Payloads of one digit, one a tick: updates with growing duration, then the end three times (§2.5.1.4).
    public static func payloads(for digit: Character, ticks: Int = 5) -> [[UInt8]]? {
        guard let event = digits.firstIndex(of: digit) else { return nil }
        var result: [[UInt8]] = []
        for tick in 1...(ticks + 2) {
            let duration = UInt16(min(tick, ticks) * 160)
            let end: UInt8 = tick >= ticks ? 0x80 : 0
            result.append([UInt8(event), end | 10, UInt8(duration >> 8), UInt8(duration & 0xFF)])
        }
        return result
    }
}
