/// An RTP packet (RFC 3550 §5.1), its payload borrowed from the datagram.
public struct RTPPacket: Equatable {
    public static let headerLength = 12

    public var payloadType: UInt8
    public var marker: Bool
    public var sequence: UInt16
    public var timestamp: UInt32
    public var ssrc: UInt32
    /// Where the payload lies in the datagram.
    public var payload: Range<Int>

    /// nil for anything that is not RTP version 2 with sound lengths.
    public init?(parsing datagram: UnsafeRawBufferPointer) {
        guard datagram.count >= Self.headerLength, datagram[0] >> 6 == 2 else { return nil }
        let first = datagram[0]
        var offset = Self.headerLength + Int(first & 0x0F) * 4
        var end = datagram.count
        if first & 0x10 != 0 {  // extension, §5.3.1
            guard offset + 4 <= end else { return nil }
            offset += 4 + (Int(datagram[offset + 2]) << 8 | Int(datagram[offset + 3])) * 4
        }
        if first & 0x20 != 0 {  // padding: its length stands in the last byte
            let padding = Int(datagram[end - 1])
            guard padding > 0, padding <= end - offset else { return nil }
            end -= padding
        }
        guard offset <= end else { return nil }
        payloadType = datagram[1] & 0x7F
        // 72–76 would be RTCP on this port (RFC 5761 §4).
        guard !(72...76).contains(payloadType) else { return nil }
        marker = datagram[1] & 0x80 != 0
        sequence = UInt16(datagram[2]) << 8 | UInt16(datagram[3])
        timestamp = Self.word(datagram, 4)
        ssrc = Self.word(datagram, 8)
        payload = offset..<end
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ at: Int) -> UInt32 {
        UInt32(bytes[at]) << 24 | UInt32(bytes[at + 1]) << 16 | UInt32(bytes[at + 2]) << 8 | UInt32(bytes[at + 3])
    }

    /// Writes a header of 12 bytes.
    public static func writeHeader(
        into target: UnsafeMutableRawBufferPointer, payloadType: UInt8, marker: Bool, sequence: UInt16,
        timestamp: UInt32,
        ssrc: UInt32
    ) {
        target[0] = 0x80
        target[1] = payloadType | (marker ? 0x80 : 0)
        target.storeBytes(of: sequence.bigEndian, toByteOffset: 2, as: UInt16.self)
        target.storeBytes(of: timestamp.bigEndian, toByteOffset: 4, as: UInt32.self)
        target.storeBytes(of: ssrc.bigEndian, toByteOffset: 8, as: UInt32.self)
    }
}
