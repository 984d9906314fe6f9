public import Net

/// SignalWire's cXML `<Stream>`, both ends (signalwire.com/docs/compatibility-api/cxml/reference/voice/stream).
///
/// Twilio's messages with four differences: `start`, `media` and `stop` name no stream beside their bodies; the codec
/// is what `<Stream codec>` asked for; digits have a duration; an application may have digits pressed. L16 has the
/// least significant byte first: SignalWire's own example hands it to OpenAI as it comes.
public final class SignalWireDialect: MediaStreamDialect {
    /// Hertz of `L16@16000h` and `L16@24000h`.
    static let sampleRates: [Int32] = [16_000, 24_000]
    /// Milliseconds of a digit that we send or have pressed.
    static let digitMs = 200
    /// Milliseconds of a payload that an application sends: an utterance as a whole.
    static let longestPlayMs = 30_000

    public static let traits: DialectTraits = {
        var traits = DialectTraits(
            name: "signalwire", paths: ["/media/signalwire"], accepts: [.text], soundKind: .text,
            formats: [.muLaw8k] + sampleRates.map { WireFormat(.linear16(.little), sampleRate: $0) })
        traits.tokens = [.bearer, .parameter("token")]
        return traits
    }()

    public let terms: WireTerms
    public var track = MediaTrack.inbound
    private let role: MediaStreamRole
    private let tracks: [MediaTrack]
    private let byteOrder: WireFormat.ByteOrder
    private let format: WireFormat
    private var streamSid: [UInt8] = []
    private var hasStarted = false
    private var sequence = 0
    private var chunk = 0
    private var prepared = PreparedMessages()

    public init(_ options: DialectOptions) {
        role = options.role
        tracks = options.tracks
        byteOrder = options.byteOrder ?? .little
        format = options.role == .carrier ? options.format ?? .muLaw8k : .muLaw8k
        terms = Self.terms(format, format, options.role)
        begin(streamSid: WireText.plainID(options.streamID))
    }

    /// - Parameter id: plain text, for it stands in messages as it is.
    private func begin(streamSid id: String) {
        streamSid = Array(id.utf8)
        prepared = PreparedMessages(
            sound: role == .application
                ? #"{"event":"media","streamSid":"\#(id)","media":{"payload":""#
                : #"{"event":"media","sequenceNumber":""#,
            mark: (#"{"event":"mark","streamSid":"\#(id)","mark":{"name":""#, #""}}"#),
            clear: #"{"event":"clear","streamSid":"\#(id)"}"#)
    }

    /// SignalWire takes a payload of any length and sends 20 ms.
    private static func terms(_ incoming: WireFormat, _ outgoing: WireFormat, _ role: MediaStreamRole) -> WireTerms {
        let chunks: ChunkRule =
            switch role {
            case .application where outgoing.law != nil: .any(frames: 5)
            case .application: ChunkRule(multiple: outgoing.stride, frames: 5)
            case .carrier: outgoing.law != nil ? .any(frames: 1) : .exactly(outgoing.bytes(ofMs: 20))
            }
        return WireTerms(
            incoming: incoming, outgoing: outgoing, chunks: chunks,
            longestMs: role == .carrier ? longestPlayMs : 1_000)
    }

    // MARK: Decoding

    public func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        let message = try EventMessage(bytes, id: "streamSid")
        if message.isEvent("mark") { return inbox.say(.mark(try message.mark())) }
        guard message.isEvent("media") else { return try other(bytes, into: inbox) }
        guard role == .carrier || hasStarted else { throw MediaStreamError("media came before start") }
        guard message.isOf(streamSid) else { throw MediaStreamError("streamSid is another stream's") }
        let media = try message.media()
        if media.isOutbound { return }  // our own voice, where both tracks were asked for
        try inbox.sound(base64: media.payload, hasEscapes: media.hasEscapes, timestampMs: media.timestampMs)
    }

    private struct Wire: Decodable {
        struct Start: Decodable {
            var streamSid: String?
            var callSid: String?
            var customParameters: [String: LenientText]?
            var mediaFormat: Format?
        }
        struct Format: Decodable {
            var encoding: String
            var sampleRate: LenientText?
            var channels: LenientText?
        }
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
        case "start" where role == .application: inbox.say(.start(try begin(wire, inbox)))
        case "dtmf":
            guard let digit = wire.dtmf?.digit.first, TelephoneEvent.digits.contains(digit) else {
                throw MediaStreamError("dtmf.digit is missing or no digit")
            }
            inbox.say(.dtmf(digit))
        case "clear" where role == .carrier: inbox.say(.clear)
        case "stop": inbox.say(.stop)
        default: break  // a later version's
        }
    }

    private func begin(_ wire: Wire, _ inbox: DialectInbox) throws(MediaStreamError) -> StreamStart {
        guard !hasStarted else { throw MediaStreamError("a second start") }
        guard let id = wire.start?.streamSid ?? wire.streamSid, id.utf8.count <= EventMessage.idLimit,
            WireText.isPlain(id)
        else { throw MediaStreamError("start.streamSid is missing, too long or no plain text") }
        let incoming = try read(wire.start?.mediaFormat)
        let outgoing = WireFormat(incoming.encoding, sampleRate: incoming.sampleRate)
        try inbox.agree(Self.terms(incoming, outgoing, role))
        hasStarted = true
        begin(streamSid: id)
        return StreamStart(
            streamID: id, callID: wire.start?.callSid ?? "",
            parameters: (wire.start?.customParameters ?? [:]).compactMapValues(\.text))
    }

    private func read(_ format: Wire.Format?) throws(MediaStreamError) -> WireFormat {
        guard let format else { return .muLaw8k }
        let encoding: WireFormat.Encoding
        switch format.encoding.lowercased() {
        case "audio/x-mulaw": encoding = .muLaw
        case "audio/x-alaw": encoding = .aLaw
        case "audio/x-l16": encoding = .linear16(byteOrder)
        default:
            throw MediaStreamError("start.mediaFormat.encoding is not audio/x-mulaw or audio/x-L16", refusal: .format)
        }
        let channels = format.channels?.number ?? 1
        guard let rate = Int32(exactly: format.sampleRate?.number ?? 8_000), (8_000...48_000).contains(rate),
            (1...2).contains(channels)
        else { throw MediaStreamError("start.mediaFormat's rate or channels are not spoken", refusal: .format) }
        return WireFormat(encoding, sampleRate: rate, channels: channels)
    }

    // MARK: Encoding

    public func capacity(for message: MediaStreamMessage) -> Int {
        let around = 512 + EventMessage.idLimit
        return switch message {
        case .start(let start):
            start.parameters.reduce(around + 512 + start.callID.utf8.count * 6) {
                $0 + ($1.key.utf8.count + $1.value.utf8.count) * 6 + 8
            }
        case .mark(let name): around + name.utf8.count * 6
        case .media, .connected, .dtmf, .clear, .stop: around
        }
    }

    public func encode(_ message: MediaStreamMessage, into target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        if role == .application || message != .clear, let count = prepared.write(message, target) { return count }
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
        let sid = String(decoding: streamSid, as: UTF8.self)
        switch (role, message) {
        case (_, .dtmf(let digit)):
            let body: [String: Any] = ["digit": String(digit), "duration": Self.digitMs]
            return ["event": "dtmf", "streamSid": sid, "dtmf": body]
        case (_, .mark(let name)): return ["event": "mark", "streamSid": sid, "mark": ["name": name]]
        case (.carrier, .connected): return ["event": "connected", "protocol": "Call", "version": "0.2.0"]
        case (.carrier, .start(let start)): return self.start(start)
        case (.carrier, .stop):
            sequence &+= 1
            return ["event": "stop", "sequenceNumber": String(sequence)]
        case (_, .media), (_, .clear), (.application, .connected), (.application, .start), (.application, .stop):
            return nil
        }
    }

    private func start(_ start: StreamStart) -> [String: Any] {
        sequence &+= 1
        begin(streamSid: WireText.plainID(start.streamID))
        let mediaFormat: [String: Any] = [
            "encoding": format.isLinear ? "audio/x-L16" : "audio/x-mulaw", "sampleRate": Int(format.sampleRate),
            "channels": format.channels,
        ]
        let body: [String: Any] = [
            "streamSid": String(decoding: streamSid, as: UTF8.self),
            "accountSid": "00000000-0000-0000-0000-000000000000", "callSid": start.callID,
            "tracks": tracks.map(\.rawValue), "customParameters": start.parameters, "mediaFormat": mediaFormat,
        ]
        return ["event": "start", "sequenceNumber": String(sequence), "start": body]
    }
}
