internal import Foundation
internal import Net
public import Pipeline

/// Twilio Media Streams (twilio.com/docs/voice/media-streams/websocket-messages), both ends.
///
/// Lenient in what it takes: numbers as strings or numbers, any order, unknown members. Strict in what it sends.
public final class TwilioDialect: MediaStreamDialect {
    /// Bytes of sound in one message: a second. Twilio sends 20 ms.
    static let payloadLimit = 8_000

    private let role: MediaStreamRole
    private let tracks: [MediaTrack]
    /// As carrier: which side the frames are of that are encoded next.
    public var track = MediaTrack.inbound
    private var streamSid = ""
    private var streamSidBytes: [UInt8] = []
    private var hasStarted = false
    private var partial = EncodedFrame()
    private var partialCount = 0
    private var sequence = 0
    private var chunk = 0
    private var accountSid = "AC00000000000000000000000000000000"
    // Fixed text of messages, made once a stream.
    private var mediaPrefix: [UInt8] = []
    private var markPrefix: [UInt8] = []
    private var clearText: [UInt8] = []

    /// - Parameters:
    ///   - streamSid: as carrier: the id to announce; as application it is learnt from `start`.
    ///   - tracks: as carrier: what is streamed; an application takes `inbound` alone.
    public init(role: MediaStreamRole, streamSid: String = "", tracks: [MediaTrack] = [.inbound]) {
        self.role = role
        self.tracks = tracks
        begin(streamSid: streamSid)
    }

    private func begin(streamSid id: String) {
        streamSid = Self.plain(id)
        streamSidBytes = Array(streamSid.utf8)
        let end = role == .application ? #""media":{"payload":""# : ""
        markPrefix = Array(#"{"event":"mark","streamSid":"\#(streamSid)","mark":{"name":""#.utf8)
        clearText = Array(#"{"event":"clear","streamSid":"\#(streamSid)"}"#.utf8)
        mediaPrefix = Array((#"{"event":"media","streamSid":"\#(streamSid)","# + end).utf8)
    }

    // MARK: Decoding

    public func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, into messages: inout [MediaStreamMessage]
    ) throws(MediaStreamError) {
        var event: JSONMembers.Value?
        var sid: JSONMembers.Value?
        var media: JSONMembers.Value?
        var mark: JSONMembers.Value?
        let isObject = JSONMembers.forEach(in: bytes) { key, value in
            if JSONMembers.equals(key, "event") { event = value }
            if JSONMembers.equals(key, "streamSid") { sid = value }
            if JSONMembers.equals(key, "media") { media = value }
            if JSONMembers.equals(key, "mark") { mark = value }
        }
        guard isObject, let event, event.kind == .string else {
            throw MediaStreamError("the message is no JSON object with an \"event\"")
        }
        let name = UnsafeBufferPointer(rebasing: bytes[event.range])
        if JSONMembers.equals(name, "mark") {
            return try echo(mark.map { UnsafeBufferPointer(rebasing: bytes[$0.range]) }, into: &messages)
        }
        guard JSONMembers.equals(name, "media") else { return try other(bytes, into: &messages) }
        guard role == .carrier || hasStarted else { throw MediaStreamError("media came before start") }
        if let sid, sid.kind == .string, !isOurs(UnsafeBufferPointer(rebasing: bytes[sid.range])) {
            throw MediaStreamError("streamSid is another stream's")
        }
        guard let media, media.kind == .object else { throw MediaStreamError("media is missing") }
        try take(UnsafeBufferPointer(rebasing: bytes[media.range]), into: &messages)
    }

    private func echo(_ mark: UnsafeBufferPointer<UInt8>?, into messages: inout [MediaStreamMessage])
        throws(MediaStreamError)
    {
        var name: String?
        if let mark {
            _ = JSONMembers.forEach(in: mark) { key, value in
                if JSONMembers.equals(key, "name") { name = JSONMembers.text(value, in: mark) }
            }
        }
        guard let name else { throw MediaStreamError("mark.name is missing") }
        messages.append(.mark(name))
    }

    private func isOurs(_ sid: UnsafeBufferPointer<UInt8>) -> Bool {
        guard sid.count == streamSidBytes.count, let given = sid.baseAddress else { return false }
        return streamSidBytes.withUnsafeBufferPointer { ours in
            ours.baseAddress.map { memcmp($0, given, sid.count) == 0 } ?? false
        }
    }

    private func take(_ media: UnsafeBufferPointer<UInt8>, into messages: inout [MediaStreamMessage])
        throws(MediaStreamError)
    {
        var payload: JSONMembers.Value?
        var time: UInt32 = 0
        var isOutbound = false
        _ = JSONMembers.forEach(in: media) { key, value in
            if JSONMembers.equals(key, "payload") { payload = value }
            if JSONMembers.equals(key, "track") {
                isOutbound = JSONMembers.equals(UnsafeBufferPointer(rebasing: media[value.range]), "outbound")
            }
            guard JSONMembers.equals(key, "timestamp") else { return }
            for byte in media[value.range] where (48...57).contains(byte) { time = time &* 10 &+ UInt32(byte - 48) }
        }
        if isOutbound { return }  // our own voice, where somebody asked for both tracks
        guard let payload, payload.kind == .string else { throw MediaStreamError("media.payload is missing") }
        guard payload.range.count <= Base64.encodedLength(Self.payloadLimit) else {
            throw MediaStreamError("media.payload is longer than a second")
        }
        let text = UnsafeBufferPointer(rebasing: media[payload.range])
        let isRead = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count) { buffer -> Bool in
            let length = payload.hasEscapes ? Self.unescape(text, into: buffer) : nil
            let plain = length.map { UnsafeBufferPointer(rebasing: buffer[..<$0]) } ?? text
            return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: plain.count / 4 * 3 + 3) { sound in
                guard let count = Base64.decode(plain, into: sound) else { return false }
                frames(UnsafeBufferPointer(rebasing: sound[..<count]), timestampMs: time, into: &messages)
                return true
            }
        }
        guard isRead else { throw MediaStreamError("media.payload is not base64") }
    }

    /// Base64 may be written with `\/` for `/`; nothing else in it has an escape.
    private static func unescape(_ text: UnsafeBufferPointer<UInt8>, into target: UnsafeMutableBufferPointer<UInt8>)
        -> Int
    {
        var count = 0
        for byte in text where byte != UInt8(ascii: "\\") {
            target[count] = byte
            count += 1
        }
        return count
    }

    /// Twilio's payload is one frame; another length is cut into frames, the rest waiting for the next message.
    private func frames(
        _ sound: UnsafeBufferPointer<UInt8>, timestampMs: UInt32, into messages: inout [MediaStreamMessage]
    ) {
        if partialCount == 0, sound.count == EncodedFrame.byteCount {
            return messages.append(.media(EncodedFrame(copying: sound, law: .muLaw, timestampMs: timestampMs)))
        }
        partial.timestampMs = timestampMs
        for byte in sound {
            partial.bytes[partialCount] = byte
            partialCount += 1
            guard partialCount == EncodedFrame.byteCount else { continue }
            partialCount = 0
            messages.append(.media(partial))
        }
    }

    private struct Wire: Decodable {
        struct Start: Decodable {
            var streamSid: String?
            var callSid: String?
            var customParameters: [String: String]?
            var mediaFormat: Format?
        }
        struct Format: Decodable { var encoding: String }
        struct DTMF: Decodable { var digit: String }
        var event: String
        var streamSid: String?
        var start: Start?
        var dtmf: DTMF?
    }

    private func other(
        _ bytes: UnsafeBufferPointer<UInt8>, into messages: inout [MediaStreamMessage]
    ) throws(MediaStreamError) {
        let wire: Wire
        do { wire = try JSONDecoder().decode(Wire.self, from: Data(bytes)) } catch {
            throw MediaStreamError("the message is not valid JSON of this protocol")
        }
        switch wire.event {
        case "connected": messages.append(.connected)
        case "start":
            guard !hasStarted else { throw MediaStreamError("a second start") }
            guard let id = wire.streamSid ?? wire.start?.streamSid else {
                throw MediaStreamError("streamSid is missing")
            }
            if let format = wire.start?.mediaFormat, format.encoding != "audio/x-mulaw" {
                throw MediaStreamError("start.mediaFormat.encoding is not audio/x-mulaw")
            }
            hasStarted = true
            begin(streamSid: id)
            messages.append(
                .start(
                    StreamStart(
                        streamID: streamSid, callID: wire.start?.callSid ?? "",
                        parameters: wire.start?.customParameters ?? [:])))
        case "dtmf":
            guard let digit = wire.dtmf?.digit.first, TelephoneEvent.digits.contains(digit) else {
                throw MediaStreamError("dtmf.digit is missing or no digit")
            }
            messages.append(.dtmf(digit))
        case "clear": messages.append(.clear)
        case "stop": messages.append(.stop)
        default: break  // a later version's
        }
    }

    // MARK: Encoding

    public func capacity(for message: MediaStreamMessage) -> Int {
        switch message {
        case .media: capacity(forFrames: 1)
        case .start(let start):
            start.parameters.reduce(1_024) { $0 + ($1.key.utf8.count + $1.value.utf8.count) * 6 + 8 }
        case .mark(let name): 512 + name.utf8.count * 6
        case .connected, .dtmf, .clear, .stop: 512
        }
    }

    public func encode(_ message: MediaStreamMessage, into target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        switch message {
        case .media(let frame):
            return withUnsafePointer(to: frame) { encode(UnsafeBufferPointer(start: $0, count: 1), into: target) }
        case .mark(let name) where role == .application && Self.isPlain(name):
            return write(#""}}"#, target, write(name.utf8, target, write(markPrefix, target, 0)))
        case .clear where role == .application: return write(clearText, target, 0)
        default: break
        }
        guard let object = object(for: message),
            let data = try? JSONSerialization.data(
                withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes]),
            data.count <= target.count
        else { return nil }
        return data.copyBytes(to: target)
    }

    /// Twilio takes a payload of any length. A tenth of a second: beyond that there is little left to save.
    public let framesPerMessage = 5

    public func capacity(forFrames count: Int) -> Int {
        mediaPrefix.count + Base64.encodedLength(EncodedFrame.byteCount * count) + 160
    }

    public func encode(_ frames: UnsafeBufferPointer<EncodedFrame>, into target: UnsafeMutableBufferPointer<UInt8>)
        -> Int
    {
        var at = write(mediaPrefix, target, 0)
        if role == .carrier, let first = frames.first {
            sequence &+= 1
            chunk &+= 1
            at = write(#""sequenceNumber":""#, target, at)
            at = write(sequence, target, at)
            at = write(
                track == .inbound
                    ? #"","media":{"track":"inbound","chunk":""# : #"","media":{"track":"outbound","chunk":""#, target,
                at)
            at = write(chunk, target, at)
            at = write(#"","timestamp":""#, target, at)
            at = write(Int(first.timestampMs), target, at)
            at = write(#"","payload":""#, target, at)
        }
        if frames.count == 1, frames[0].law == .muLaw {
            at = Base64.encode(frames[0].bytes.span, into: target, at: at)
        } else {
            at = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: frames.count * EncodedFrame.byteCount) {
                sound in
                for (index, frame) in frames.enumerated() {
                    let spoken = frame.law == .muLaw ? frame : G711.transcode(frame, to: .muLaw)
                    let place = UnsafeMutableBufferPointer(rebasing: sound[(index * EncodedFrame.byteCount)...])
                    spoken.withBytes { _ = place.update(fromContentsOf: $0) }
                }
                return Base64.encode(UnsafeBufferPointer(sound).span, into: target, at: at)
            }
        }
        return write(#""}}"#, target, at)
    }

    private func write(_ bytes: some Collection<UInt8>, _ target: UnsafeMutableBufferPointer<UInt8>, _ at: Int) -> Int {
        UnsafeMutableBufferPointer(rebasing: target[at..<(at + bytes.count)]).update(fromContentsOf: bytes) + at
    }

    /// A name that needs no escapes.
    private static func isPlain(_ name: String) -> Bool {
        name.utf8.allSatisfy { (0x20..<0x7F).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
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

    private func object(for message: MediaStreamMessage) -> [String: Any]? {
        switch (role, message) {
        case (_, .media): return nil
        case (.carrier, .connected): return ["event": "connected", "protocol": "Call", "version": "1.0.0"]
        case (.carrier, .start(let start)):
            sequence += 1
            begin(streamSid: start.streamID)
            return [
                "event": "start", "sequenceNumber": String(sequence), "streamSid": streamSid,
                "start": [
                    "streamSid": streamSid, "accountSid": accountSid, "callSid": start.callID,
                    "tracks": tracks.map(\.rawValue),
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
            return [
                "event": "mark", "sequenceNumber": String(sequence), "streamSid": streamSid, "mark": ["name": name],
            ]
        case (.application, .mark(let name)): return ["event": "mark", "streamSid": streamSid, "mark": ["name": name]]
        case (_, .clear), (.application, .connected), (.application, .start), (.application, .dtmf),
            (.application, .stop):
            return nil
        }
    }

    /// Stream ids stand unescaped in the fast path's text.
    private static func plain(_ id: String) -> String {
        String(id.prefix(64).filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
    }
}
