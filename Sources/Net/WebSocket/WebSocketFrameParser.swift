/// Reads the frames that a client sends (RFC 6455 §5), strictly, and joins fragments to messages.
///
/// A pure value. `next` unmasks in place and hands out a range of the given bytes where a message lies in them whole,
/// so that the usual message is not copied; only what came in pieces is put together here.
public struct WebSocketFrameParser: Sendable {
    public enum Event: Sendable, Equatable {
        /// A whole message; text is valid UTF-8.
        case text, binary
        case ping, pong
        /// nil: the close frame had no code.
        case close(code: UInt16?)
        /// The connection must be closed with this code (§7.4.1): 1002 protocol error, 1007 bad UTF-8, 1009 too big.
        case failure(code: UInt16)
    }

    /// What one call of `next` found.
    public struct Step: Sendable, Equatable {
        /// Bytes of the input that have been used.
        public var consumed: Int
        /// nil: more bytes are needed.
        public var event: Event?
        /// Where the event's payload lies in the input; nil: it came in pieces, see `takePayload`.
        public var payload: Range<Int>?
    }

    /// Bytes of a whole message; more is 1009, refused from the header, before anything is kept.
    public var maximumMessage = 1 << 20

    /// Bytes of a control frame's payload (§5.5).
    private static let controlLimit = 125

    private var header: [UInt8] = []
    private var frame: Frame?
    /// What came of the current frame in pieces, and of the frames of the current message before it.
    private var control: [UInt8] = []
    private var message: [UInt8] = []
    private var messageIsText: Bool?
    private var finished: [UInt8] = []
    private var isFailed = false

    private struct Frame {
        var opcode: UInt8
        var isFinal: Bool
        var mask: UInt32
        /// Payload bytes in all and those that came.
        var length: Int
        var received = 0
        var isControl: Bool { opcode >= 8 }
    }

    public init() {}

    /// Bytes that are kept of a message that is not complete.
    public var heldCount: Int { header.count + control.count + message.count }

    /// The payload of the event just returned, where it came in pieces. Once.
    public mutating func takePayload() -> [UInt8] {
        defer { finished = [] }
        return finished
    }

    /// Reads up to the next event. Call again with what was not consumed.
    public mutating func next(_ bytes: UnsafeMutableRawBufferPointer) -> Step {
        guard !isFailed else { return Step(consumed: bytes.count) }
        var used = 0
        while true {
            if frame == nil {
                do throws(Refusal) { try readHeader(bytes, &used) } catch { return fail(error.code, used) }
                guard frame != nil else { return Step(consumed: used) }
            }
            guard var current = frame else { return Step(consumed: used) }
            let count = min(current.length - current.received, bytes.count - used)
            let piece = UnsafeMutableRawBufferPointer(rebasing: bytes[used..<used + count])
            Self.unmask(piece, current.mask, offset: current.received)
            let start = used
            used += count
            let wasWhole = current.received == 0
            current.received += count
            let isComplete = current.received == current.length
            // The usual case: nothing before it, nothing missing, nothing copied.
            if isComplete, wasWhole, current.isControl || (current.isFinal && current.opcode != 0) {
                frame = nil
                guard let event = event(of: current, UnsafeRawBufferPointer(piece)) else {
                    return fail(failureCode(of: current), used)
                }
                return Step(consumed: used, event: event, payload: start..<used)
            }
            if current.isControl { control.append(contentsOf: piece) } else { message.append(contentsOf: piece) }
            frame = isComplete ? nil : current
            guard isComplete else { return Step(consumed: used) }
            if current.isControl {
                finished = control
                control = []
            } else if current.isFinal {
                finished = message
                message = []
                if current.opcode == 0 { current.opcode = messageIsText == true ? 1 : 2 }
                messageIsText = nil
            } else {
                continue
            }
            guard let event = finished.withUnsafeBytes({ event(of: current, $0) }) else {
                return fail(failureCode(of: current), used)
            }
            return Step(consumed: used, event: event)
        }
    }

    private mutating func fail(_ code: UInt16, _ used: Int) -> Step {
        isFailed = true
        (message, control, finished, header) = ([], [], [], [])
        return Step(consumed: used, event: .failure(code: code))
    }

    private struct Refusal: Error { let code: UInt16 }

    /// Two bytes, the length's 0, 2 or 8 and the mask's 4 (§5.2).
    private mutating func readHeader(_ bytes: UnsafeMutableRawBufferPointer, _ used: inout Int) throws(Refusal) {
        var wanted = 2
        while true {
            while header.count < wanted, used < bytes.count {
                header.append(bytes[used])
                used += 1
            }
            guard header.count >= 2 else { return }
            if header.count == 2 { try checkFirstBytes(header[0], header[1]) }
            let short = header[1] & 0x7F
            wanted = 2 + (short == 126 ? 2 : short == 127 ? 8 : 0) + 4
            if header.count == wanted { break }
            guard used < bytes.count else { return }
        }
        let length = try payloadLength()
        let opcode = header[0] & 0x0F
        let sum = message.count.addingReportingOverflow(length)
        if opcode < 8, sum.overflow || sum.partialValue > maximumMessage { throw Refusal(code: 1009) }
        let mask = header.suffix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        frame = Frame(opcode: opcode, isFinal: header[0] & 0x80 != 0, mask: mask, length: length)
        if opcode == 1 || opcode == 2, header[0] & 0x80 == 0 { messageIsText = opcode == 1 }
        header.removeAll(keepingCapacity: true)
    }

    private func checkFirstBytes(_ first: UInt8, _ second: UInt8) throws(Refusal) {
        let opcode = first & 0x0F
        let isFinal = first & 0x80 != 0
        // Reserved bits mean an extension, and none was agreed on; a client must mask (§5.1).
        guard first & 0x70 == 0, second & 0x80 != 0 else { throw Refusal(code: 1002) }
        switch opcode {
        case 0: guard messageIsText != nil else { throw Refusal(code: 1002) }
        case 1, 2: guard messageIsText == nil else { throw Refusal(code: 1002) }
        case 8, 9, 10: guard isFinal, second & 0x7F <= Self.controlLimit else { throw Refusal(code: 1002) }
        default: throw Refusal(code: 1002)
        }
    }

    /// The shortest form is the only one (§5.2).
    private func payloadLength() throws(Refusal) -> Int {
        let short = header[1] & 0x7F
        guard short >= 126 else { return Int(short) }
        let bytes = header[2..<(short == 126 ? 4 : 10)]
        let value = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard value >= (short == 126 ? 126 : 65_536), value <= UInt64(Int64.max) else { throw Refusal(code: 1002) }
        return Int(value)
    }

    /// nil: what it holds is not allowed.
    private func event(of frame: Frame, _ payload: UnsafeRawBufferPointer) -> Event? {
        switch frame.opcode {
        case 1: return UTF8Text.isValid(payload) ? .text : nil
        case 2: return .binary
        case 9: return .ping
        case 10: return .pong
        default:
            guard payload.count != 1 else { return nil }
            guard payload.count >= 2 else { return .close(code: nil) }
            let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
            let reason = UnsafeRawBufferPointer(rebasing: payload[2...])
            return Self.mayBeSent(code) && UTF8Text.isValid(reason) ? .close(code: code) : nil
        }
    }

    private func failureCode(of frame: Frame) -> UInt16 { frame.opcode == 1 ? 1007 : 1002 }

    /// Codes that may stand in a close frame (§7.4).
    static func mayBeSent(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    /// XOR with the mask (§5.3), eight bytes at a time.
    private static func unmask(_ bytes: UnsafeMutableRawBufferPointer, _ mask: UInt32, offset: Int) {
        // The mask as it falls on the first of these bytes; its first byte is the lowest.
        let shift = UInt32(offset & 3) * 8
        let turned = shift == 0 ? mask : mask >> shift | mask << (32 - shift)
        let wide = UInt64(turned) << 32 | UInt64(turned)
        var index = 0
        while index + 8 <= bytes.count {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) ^ wide
            bytes.storeBytes(of: word.littleEndian, toByteOffset: index, as: UInt64.self)
            index += 8
        }
        while index < bytes.count {
            bytes[index] ^= UInt8(truncatingIfNeeded: turned >> (UInt32(index & 3) * 8))
            index += 1
        }
    }
}

/// UTF-8 by its definition (RFC 3629 §4): no overlong forms, no surrogates, nothing above U+10FFFF.
enum UTF8Text {
    static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < bytes.count {
            // Eight ASCII characters at a time: what media messages are made of.
            if index + 8 <= bytes.count,
                bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
            {
                index += 8
                continue
            }
            let first = bytes[index]
            let (length, low, high): (Int, UInt8, UInt8)
            switch first {
            case 0x00...0x7F: (length, low, high) = (1, 0, 0)
            case 0xC2...0xDF: (length, low, high) = (2, 0x80, 0xBF)
            case 0xE0: (length, low, high) = (3, 0xA0, 0xBF)
            case 0xED: (length, low, high) = (3, 0x80, 0x9F)
            case 0xE1...0xEF: (length, low, high) = (3, 0x80, 0xBF)
            case 0xF0: (length, low, high) = (4, 0x90, 0xBF)
            case 0xF1...0xF3: (length, low, high) = (4, 0x80, 0xBF)
            case 0xF4: (length, low, high) = (4, 0x80, 0x8F)
            default: return false
            }
            guard index + length <= bytes.count else { return false }
            if length > 1 {
                guard bytes[index + 1] >= low, bytes[index + 1] <= high else { return false }
                for place in 2..<max(2, length) where bytes[index + place] & 0xC0 != 0x80 { return false }
            }
            index += length
        }
        return true
    }
}
