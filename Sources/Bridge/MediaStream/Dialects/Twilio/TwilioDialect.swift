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
        traits.sign = { upgrade, secret in
            [(TwilioREST.signatureHeader, FormSignature(key: secret).signature(url: upgrade.text, form: []))]
        }
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
    private var prepared = PreparedMessages()

    public init(_ options: DialectOptions) {
        role = options.role
        tracks = options.tracks
        terms = WireTerms(
            incoming: .muLaw8k, outgoing: .muLaw8k, chunks: .any(frames: 5),
            longestMs: role == .carrier ? Self.longestPlayMs : 1_000)
        begin(streamSid: options.streamID)
    }

    private func begin(streamSid id: String) {
        streamSid = WireText.plainID(id)
        streamSidBytes = Array(streamSid.utf8)
        prepared = PreparedMessages(
            sound: #"{"event":"media","streamSid":"\#(streamSid)","#
                + (role == .application ? #""media":{"payload":""# : #""sequenceNumber":""#),
            mark: (#"{"event":"mark","streamSid":"\#(streamSid)","mark":{"name":""#, #""}}"#),
            clear: #"{"event":"clear","streamSid":"\#(streamSid)"}"#)
    }

    // MARK: Decoding

    public func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        let message = try EventMessage(bytes, id: "streamSid")
        if message.isEvent("mark") { return inbox.say(.mark(try message.mark())) }
        guard message.isEvent("media") else { return try other(bytes, into: inbox) }
        guard role == .carrier || hasStarted else { throw MediaStreamError("media came before start") }
        guard message.isOf(streamSidBytes) else { throw MediaStreamError("streamSid is another stream's") }
        let media = try message.media()
        if media.isOutbound { return }  // our own voice, where both tracks were asked for
        try inbox.sound(base64: media.payload, hasEscapes: media.hasEscapes, timestampMs: media.timestampMs)
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
        let wire = try WireJSON.decode(Wire.self, bytes)
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
        if role == .application, let count = prepared.write(message, target) { return count }
        return object(for: message).flatMap { WireJSON.write($0, target) }
    }

    public func capacity(forSound byteCount: Int) -> Int {
        prepared.sound.count + Base64.encodedLength(byteCount) + 160
    }

    public func encode(
        sound: UnsafeBufferPointer<UInt8>, timestampMs: UInt32, into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        var at = WireText.write(prepared.sound, target, 0)
        if role == .carrier {
            sequence &+= 1
            chunk &+= 1
            at = WireText.writeCarriersMedia(
                sequence: sequence, track, chunk: chunk, timestampMs: timestampMs, target, at)
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
}
