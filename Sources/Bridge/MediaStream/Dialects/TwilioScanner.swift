/// Finds what a media message needs in one pass, without a JSON decoder and without an allocation.
///
/// A checked walk over the structure: any order of keys, any white space, unknown members skipped. Strings with escapes
/// are legal but none of ours has any; such a message goes to the full decoder.
struct TwilioScanner {
    /// Nesting of a message; Twilio's has three levels.
    private static let depthLimit = 8

    var event: Range<Int>?
    var streamSid: Range<Int>?
    var payload: Range<Int>?
    var timestamp: Range<Int>?
    private(set) var hasEscapes = false

    /// nil if the bytes are not a JSON object.
    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        var index = 0
        var depth = 0
        var key: Range<Int>?
        var outerKey: Range<Int>?
        var expectsValue = false
        let count = bytes.count
        while index < count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                guard depth <= Self.depthLimit else { return nil }
                if depth == 2 { outerKey = key }
                key = nil
                expectsValue = byte == UInt8(ascii: "[")
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                guard depth >= 0 else { return nil }
                if depth == 1 { outerKey = nil }
                key = nil
                expectsValue = false
                index += 1
            case UInt8(ascii: ":"):
                expectsValue = true
                index += 1
            case UInt8(ascii: ","):
                key = nil
                expectsValue = false
                index += 1
            case 0x20, 0x09, 0x0A, 0x0D: index += 1
            case UInt8(ascii: "\""):
                guard depth > 0, let end = Self.stringEnd(bytes, from: index + 1, escapes: &hasEscapes) else { return nil }
                let text = (index + 1)..<end
                index = end + 1
                if !expectsValue {
                    key = text
                    continue
                }
                guard let key else { continue }
                if depth == 1 {
                    if Self.equals(bytes, key, "event") { event = text }
                    if Self.equals(bytes, key, "streamSid") { streamSid = text }
                } else if depth == 2, let outerKey, Self.equals(bytes, outerKey, "media") {
                    if Self.equals(bytes, key, "payload") { payload = text }
                    if Self.equals(bytes, key, "timestamp") { timestamp = text }
                }
            default:
                guard depth > 0 else { return nil }
                index += 1
            }
        }
        guard depth == 0, event != nil else { return nil }
    }

    private static func stringEnd(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int, escapes: inout Bool) -> Int? {
        var index = start
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""): return index
            case UInt8(ascii: "\\"):
                escapes = true
                index += 2
            default: index += 1
            }
        }
        return nil
    }

    static func equals(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        let pointer = text.utf8Start
        for offset in 0..<range.count where bytes[range.lowerBound + offset] != pointer[offset] { return false }
        return true
    }
}
