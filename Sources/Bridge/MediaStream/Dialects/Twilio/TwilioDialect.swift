internal import Foundation
public import Net

/// Twilio Media Streams (twilio.com/docs/voice/media-streams/websocket-messages), both ends.
///
/// Lenient in what it takes: numbers as strings or numbers, any order, unknown members. Strict in what it sends.
public final class TwilioDialect: MediaStreamDialect {
    public static let traits: DialectTraits = {
        var traits = DialectTraits(
            name: "twilio", paths: ["/media/twilio", "/twilio/stream"], accepts: [.text], soundKind: .text,
            formats: [.muLaw8k])
        traits.subprotocols = ["audio.twilio.com"]
        traits.signatureHeader = TwilioREST.signatureHeader
        return traits
    }()

    /// Milliseconds of a payload that an application sends: Twilio takes any length, and an application may send an
    /// utterance as a whole.
    static let longestPlayMs = 30_000

    /// Twilio takes a payload of any length. A tenth of a second: beyond that there is little left to save.
    public let terms: WireTerms

    private let role: MediaStreamRole
    private let tracks: [MediaTrack]
    public var track = MediaTrack.inbound
    private var streamSid = ""
    private var streamSidBytes: [UInt8] = []
    private var hasStarted = false
    private var sequence = 0
    private var chunk = 0
    private var accountSid = "AC00000000000000000000000000000000"
    // Fixed text of messages, made once a stream.
    private var mediaPrefix: [UInt8] = []
    private var markPrefix: [UInt8] = []
    private var clearText: [UInt8] = []

    public init(_ options: DialectOptions) {
        role = options.role
        tracks = options.tracks
        terms = WireTerms(
            incoming: .muLaw8k, outgoing: .muLaw8k, chunks: .any(frames: 5),
            longestMs: role == .carrier ? Self.longestPlayMs : 1_000)
        begin(streamSid: options.streamID)
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
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, into inbox: DialectInbox
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
            return try echo(mark.map { UnsafeBufferPointer(rebasing: bytes[$0.range]) }, into: inbox)
        }
        guard JSONMembers.equals(name, "media") else { return try other(bytes, into: inbox) }
        guard role == .carrier || hasStarted else { throw MediaStreamError("media came before start") }
        if let sid, sid.kind == .string, !isOurs(UnsafeBufferPointer(rebasing: bytes[sid.range])) {
            throw MediaStreamError("streamSid is another stream's")
        }
        guard let media, media.kind == .object else { throw MediaStreamError("media is missing") }
        try take(UnsafeBufferPointer(rebasing: bytes[media.range]), into: inbox)
    }

    private func echo(_ mark: UnsafeBufferPointer<UInt8>?, into inbox: DialectInbox) throws(MediaStreamError) {
        var name: String?
        if let mark {
            _ = JSONMembers.forEach(in: mark) { key, value in
                if JSONMembers.equals(key, "name") { name = JSONMembers.text(value, in: mark) }
            }
        }
        guard let name else { throw MediaStreamError("mark.name is missing") }
        inbox.say(.mark(name))
    }

    private func isOurs(_ sid: UnsafeBufferPointer<UInt8>) -> Bool {
        guard sid.count == streamSidBytes.count, let given = sid.baseAddress else { return false }
        return streamSidBytes.withUnsafeBufferPointer { ours in
            ours.baseAddress.map { memcmp($0, given, sid.count) == 0 } ?? false
        }
    }

    private func take(_ media: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox) throws(MediaStreamError) {
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
        try inbox.sound(
            base64: UnsafeBufferPointer(rebasing: media[payload.range]), hasEscapes: payload.hasEscapes,
            timestampMs: time)
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

    private func other(_ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox) throws(MediaStreamError) {
        let wire: Wire
        do { wire = try JSONDecoder().decode(Wire.self, from: Data(bytes)) } catch {
            throw MediaStreamError("the message is not valid JSON of this protocol")
        }
        switch wire.event {
        case "connected": inbox.say(.connected)
        case "start":
            guard !hasStarted else { throw MediaStreamError("a second start") }
            guard let id = wire.streamSid ?? wire.start?.streamSid else {
                throw MediaStreamError("streamSid is missing")
            }
            if let format = wire.start?.mediaFormat, format.encoding != "audio/x-mulaw" {
                throw MediaStreamError("start.mediaFormat.encoding is not audio/x-mulaw", refusal: .format)
            }
            hasStarted = true
            begin(streamSid: id)
            inbox.say(
                .start(
                    StreamStart(
                        streamID: streamSid, callID: wire.start?.callSid ?? "",
                        parameters: wire.start?.customParameters ?? [:])))
        case "dtmf":
            guard let digit = wire.dtmf?.digit.first, TelephoneEvent.digits.contains(digit) else {
                throw MediaStreamError("dtmf.digit is missing or no digit")
            }
            inbox.say(.dtmf(digit))
        case "clear": inbox.say(.clear)
        case "stop": inbox.say(.stop)
        default: break  // a later version's
        }
    }

    // MARK: Encoding

    public func capacity(for message: MediaStreamMessage) -> Int {
        switch message {
        case .start(let start):
            start.parameters.reduce(1_024) { $0 + ($1.key.utf8.count + $1.value.utf8.count) * 6 + 8 }
        case .mark(let name): 512 + name.utf8.count * 6
        case .media, .connected, .dtmf, .clear, .stop: 512
        }
    }

    public func encode(_ message: MediaStreamMessage, into target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        switch message {
        case .mark(let name) where role == .application && WireText.isPlain(name):
            let at = WireText.write(name.utf8, target, WireText.write(markPrefix, target, 0))
            return WireText.write(#""}}"#, target, at)
        case .clear where role == .application: return WireText.write(clearText, target, 0)
        default: break
        }
        guard let object = object(for: message),
            let data = try? JSONSerialization.data(
                withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes]),
            data.count <= target.count
        else { return nil }
        return data.copyBytes(to: target)
    }

    public func capacity(forSound byteCount: Int) -> Int {
        mediaPrefix.count + Base64.encodedLength(byteCount) + 160
    }

    public func encode(
        sound: UnsafeBufferPointer<UInt8>, timestampMs: UInt32, into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        var at = WireText.write(mediaPrefix, target, 0)
        if role == .carrier {
            sequence &+= 1
            chunk &+= 1
            at = WireText.write(#""sequenceNumber":""#, target, at)
            at = WireText.write(sequence, target, at)
            at = WireText.write(
                track == .inbound
                    ? #"","media":{"track":"inbound","chunk":""# : #"","media":{"track":"outbound","chunk":""#, target,
                at)
            at = WireText.write(chunk, target, at)
            at = WireText.write(#"","timestamp":""#, target, at)
            at = WireText.write(Int(timestampMs), target, at)
            at = WireText.write(#"","payload":""#, target, at)
        }
        at = Base64.encode(sound.span, into: target, at: at)
        return WireText.write(#""}}"#, target, at)
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
