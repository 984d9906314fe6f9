internal import Foundation
internal import Pipeline

/// Twilio Media Streams (twilio.com/docs/voice/media-streams/websocket-messages), both ends.
///
/// Lenient in what it takes: numbers as strings or numbers, any order, unknown members. Strict in what it sends.
public struct TwilioDialect: MediaStreamDialect {
    private let role: MediaStreamRole
    private var streamSid: String
    private var sequence = 0
    private var chunk = 0
    private var accountSid = "AC00000000000000000000000000000000"
    /// Fixed text around the payload of each media message, made once a stream.
    private var mediaPrefix: [UInt8] = []

    /// - Parameter streamSid: as carrier: the id to announce; as application it is learnt from `start`.
    public init(role: MediaStreamRole, streamSid: String = "") {
        self.role = role
        self.streamSid = streamSid
        prepare()
    }

    private mutating func prepare() {
        mediaPrefix = Array(#"{"event":"media","streamSid":"\#(streamSid)","#.utf8)
    }

    // MARK: Decoding

    public mutating func decode(_ bytes: UnsafeBufferPointer<UInt8>) throws(MediaStreamError) -> MediaStreamMessage? {
        guard let scan = TwilioScanner(bytes), let event = scan.event else {
            throw MediaStreamError("the message is no JSON object with an \"event\"")
        }
        if TwilioScanner.equals(bytes, event, "media"), !scan.hasEscapes { return try media(bytes, scan) }
        return try other(bytes)
    }

    private func media(_ bytes: UnsafeBufferPointer<UInt8>, _ scan: TwilioScanner) throws(MediaStreamError) -> MediaStreamMessage {
        guard let payload = scan.payload else { throw MediaStreamError("media.payload is missing") }
        guard payload.count <= Base64.encodedLength(EncodedFrame.byteCount) else {
            throw MediaStreamError("media.payload is longer than 20 ms")
        }
        let decoded: EncodedFrame? = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: EncodedFrame.byteCount + 3) { buffer in
            guard let count = Base64.decode(UnsafeBufferPointer(rebasing: bytes[payload]), into: buffer) else { return nil }
            var time: UInt32 = 0
            for byte in scan.timestamp.map({ bytes[$0] }) ?? bytes[0..<0] where (48...57).contains(byte) {
                time = time &* 10 &+ UInt32(byte - 48)
            }
            return EncodedFrame(copying: UnsafeBufferPointer(rebasing: buffer[..<count]), law: .muLaw, timestampMs: time)
        }
        guard let decoded else { throw MediaStreamError("media.payload is not base64") }
        return .media(decoded)
    }

    private struct Wire: Decodable {
        struct Start: Decodable {
            var streamSid: String?
            var callSid: String?
            var customParameters: [String: String]?
        }
        struct Mark: Decodable { var name: String }
        struct DTMF: Decodable { var digit: String }
        struct Media: Decodable { var payload: String }
        var event: String
        var streamSid: String?
        var start: Start?
        var mark: Mark?
        var dtmf: DTMF?
        var media: Media?
    }

    private mutating func other(_ bytes: UnsafeBufferPointer<UInt8>) throws(MediaStreamError) -> MediaStreamMessage? {
        let wire: Wire
        do { wire = try JSONDecoder().decode(Wire.self, from: Data(bytes)) } catch {
            throw MediaStreamError("the message is not valid JSON of this protocol")
        }
        switch wire.event {
        case "connected": return .connected
        case "start":
            guard let id = wire.streamSid ?? wire.start?.streamSid else { throw MediaStreamError("streamSid is missing") }
            streamSid = Self.plain(id)
            prepare()
            return .start(
                StreamStart(
                    streamID: streamSid, callID: wire.start?.callSid ?? "", parameters: wire.start?.customParameters ?? [:]))
        case "media":
            guard let text = wire.media?.payload, let data = Data(base64Encoded: text), data.count <= EncodedFrame.byteCount else {
                throw MediaStreamError("media.payload is not base64 of at most 20 ms")
            }
            return .media([UInt8](data).withUnsafeBufferPointer { EncodedFrame(copying: $0, law: .muLaw, timestampMs: 0) })
        case "dtmf":
            guard let digit = wire.dtmf?.digit.first, TelephoneEvent.digits.contains(digit) else {
                throw MediaStreamError("dtmf.digit is missing or no digit")
            }
            return .dtmf(digit)
        case "mark":
            guard let name = wire.mark?.name else { throw MediaStreamError("mark.name is missing") }
            return .mark(name)
        case "clear": return .clear
        case "stop": return .stop
        default: return nil
        }
    }

    // MARK: Encoding

    public func capacity(for message: MediaStreamMessage) -> Int {
        switch message {
        case .media: mediaPrefix.count + Base64.encodedLength(EncodedFrame.byteCount) + 160
        case .start(let start):
            start.parameters.reduce(1_024) { $0 + ($1.key.utf8.count + $1.value.utf8.count) * 6 + 8 }
        case .mark(let name): 512 + name.utf8.count * 6
        case .connected, .dtmf, .clear, .stop: 512
        }
    }

    public mutating func encode(_ message: MediaStreamMessage, into target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        if case .media(let frame) = message { return encodeMedia(frame, into: target) }
        guard let object = object(for: message),
            let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes]),
            data.count <= target.count
        else { return nil }
        return data.copyBytes(to: target)
    }

    private mutating func encodeMedia(_ frame: EncodedFrame, into target: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var at = 0
        for byte in mediaPrefix {
            target[at] = byte
            at += 1
        }
        switch role {
        case .carrier:
            sequence &+= 1
            chunk &+= 1
            at = write(#""sequenceNumber":""#, target, at)
            at = write(sequence, target, at)
            at = write(#"","media":{"track":"inbound","chunk":""#, target, at)
            at = write(chunk, target, at)
            at = write(#"","timestamp":""#, target, at)
            at = write(Int(frame.timestampMs), target, at)
            at = write(#"","payload":""#, target, at)
        case .application: at = write(#""media":{"payload":""#, target, at)
        }
        let spoken = G711.transcode(frame, to: .muLaw)
        at = Base64.encode(spoken.bytes.span, into: target, at: at)
        return write(#""}}"#, target, at)
    }

    private func write(_ text: StaticString, _ target: UnsafeMutableBufferPointer<UInt8>, _ at: Int) -> Int {
        for offset in 0..<text.utf8CodeUnitCount { target[at + offset] = text.utf8Start[offset] }
        return at + text.utf8CodeUnitCount
    }

    private func write(_ number: Int, _ target: UnsafeMutableBufferPointer<UInt8>, _ at: Int) -> Int {
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

    private mutating func object(for message: MediaStreamMessage) -> [String: Any]? {
        switch (role, message) {
        case (_, .media): return nil
        case (.carrier, .connected): return ["event": "connected", "protocol": "Call", "version": "1.0.0"]
        case (.carrier, .start(let start)):
            sequence += 1
            streamSid = Self.plain(start.streamID)
            prepare()
            return [
                "event": "start", "sequenceNumber": String(sequence), "streamSid": streamSid,
                "start": [
                    "streamSid": streamSid, "accountSid": accountSid, "callSid": start.callID, "tracks": ["inbound"],
                    "customParameters": start.parameters,
                    "mediaFormat": ["encoding": "audio/x-mulaw", "sampleRate": 8_000, "channels": 1],
                ] as [String: Any],
            ]
        case (.carrier, .dtmf(let digit)):
            sequence += 1
            return [
                "event": "dtmf", "sequenceNumber": String(sequence), "streamSid": streamSid,
                "dtmf": ["track": "inbound_track", "digit": String(digit)],
            ]
        case (.carrier, .stop):
            sequence += 1
            return [
                "event": "stop", "sequenceNumber": String(sequence), "streamSid": streamSid,
                "stop": ["accountSid": accountSid, "callSid": ""],
            ]
        case (.carrier, .mark(let name)):
            sequence += 1
            return ["event": "mark", "sequenceNumber": String(sequence), "streamSid": streamSid, "mark": ["name": name]]
        case (.application, .mark(let name)): return ["event": "mark", "streamSid": streamSid, "mark": ["name": name]]
        case (.application, .clear): return ["event": "clear", "streamSid": streamSid]
        case (.carrier, .clear), (.application, .connected), (.application, .start), (.application, .dtmf), (.application, .stop):
            return nil
        }
    }

    /// Stream ids stand unescaped in the fast path's text.
    private static func plain(_ id: String) -> String {
        String(id.prefix(64).filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
    }
}
