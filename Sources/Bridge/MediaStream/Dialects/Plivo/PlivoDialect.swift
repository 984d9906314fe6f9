internal import Foundation
public import Net

/// Plivo Audio Streaming (plivo.com/docs/voice-agents/audio-streaming/concepts/audio-streaming-reference), both ends.
/// Vobiz (docs.vobiz.ai/xml/stream) speaks the same.
///
/// The format of what comes is told by `start`, that of what goes by each `playAudio`; we keep to one, as Plivo asks.
/// Numbers are numbers, except for the times, which are strings with milliseconds since 1970. A checkpoint comes back
/// when it has been played, and never when a clear has dropped it.
public final class PlivoDialect: MediaStreamDialect {
    public static let traits: DialectTraits = {
        var traits = DialectTraits(
            name: "plivo", paths: ["/media/plivo"], accepts: [.text], soundKind: .text,
            formats: PlivoFormat.all)
        traits.marks = .echoed(afterClear: false)
        // `extraHeaders` of the `<Stream>`, or its URL.
        traits.tokens = [.parameter("token"), .query("token")]
        traits.signatureHeader = PlivoSignature.header
        traits.sign = { upgrade, secret in
            let code = PlivoSignature(authToken: secret).signature(
                "GET", url: upgrade.base, query: upgrade.query, nonce: upgrade.nonce)
            return [(PlivoSignature.header, code), (PlivoSignature.nonceHeader, upgrade.nonce)]
        }
        return traits
    }()

    /// Bytes of a stream's id (a UUID has 36) and of a checkpoint's name.
    static let idLimit = 128
    static let nameLimit = 1_024
    /// Digits of one `sendDTMF`.
    static let digitLimit = 64
    /// How often an application may change the format of what it plays.
    static let formatLimit = 8

    /// The first: of the role's own making; a `start` may say otherwise.
    public let terms: WireTerms
    public var track = MediaTrack.inbound

    private let role: MediaStreamRole
    private let tracks: [MediaTrack]
    private var streamID = ""
    private var streamIDBytes: [UInt8] = []
    private var hasStarted = false
    private var outgoing: WireFormat
    // As carrier.
    private var sequence = 0
    private var chunks: (inbound: Int, outbound: Int) = (0, 0)
    /// Milliseconds since 1970 at the stream's begin, and since then of the last sound.
    private let beganMs = Int(max(0, Date().timeIntervalSince1970 * 1_000))
    private var lastMs = 0
    /// What the application plays, as its last `playAudio` spelt it, and how often that has changed.
    private var playedType: [UInt8] = []
    private var playedRate: Int?
    private var playedFormats = 0
    private var incoming: WireFormat
    // As application: the time of the first sound.
    private var firstMs: Int?
    private var prepared = PreparedMessages()

    public init(_ options: DialectOptions) {
        role = options.role
        tracks = options.tracks
        let format = options.format.flatMap { PlivoFormat.all.contains($0) ? $0 : nil } ?? .muLaw8k
        terms = PlivoFormat.terms(incoming: format, outgoing: format, options.role)
        incoming = format
        outgoing = format
        begin(streamID: Self.plain(options.streamID))
    }

    private func begin(streamID id: String) {
        streamID = id
        streamIDBytes = Array(id.utf8)
        let encoding = PlivoFormat.encoding(of: outgoing)
        prepared = PreparedMessages(
            sound: role == .carrier
                ? #"{"event":"media","streamId":"\#(id)","sequenceNumber":"#
                : #"{"event":"playAudio","streamId":"\#(id)","media":{"contentType":"\#(encoding)","sampleRate":"#
                    + #"\#(outgoing.sampleRate),"payload":""#,
            mark: (#"{"event":"checkpoint","streamId":"\#(id)","name":""#, #""}"#),
            clear: #"{"event":"clearAudio","streamId":"\#(id)"}"#)
    }

    private static func plain(_ id: String) -> String { WireText.plainID(id, limit: idLimit) }

    // MARK: Decoding

    public func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        let message = try EventMessage(bytes, id: "streamId")
        guard isOpen || message.isOf(streamIDBytes) else { throw MediaStreamError("streamId is another stream's") }
        guard message.isEvent(role == .application ? "media" : "playAudio") else {
            let event = String(decoding: message.event, as: UTF8.self)
            return try role == .application
                ? told(event, bytes, into: inbox) : asked(event, bytes, into: inbox)
        }
        guard role == .carrier || hasStarted else { throw MediaStreamError("media came before start") }
        let media = try message.media()
        var timestampMs: UInt32?
        switch role {
        case .application:
            if media.isOutbound { return }  // our own voice, where both tracks were asked for
            timestampMs = sinceBegin(media.timestamp)
        case .carrier: try settle(try message.mediaObject(), inbox)
        }
        try inbox.sound(base64: media.payload, hasEscapes: media.hasEscapes, timestampMs: timestampMs)
    }

    /// The stream's id is not known yet.
    private var isOpen: Bool { streamIDBytes.isEmpty || role == .application && !hasStarted }

    /// Whether it is told since 1970 (the reference) or since the stream's begin (the vendor's SDK).
    private func sinceBegin(_ time: Int?) -> UInt32? {
        guard let time else { return nil }
        let first = firstMs ?? time
        firstMs = first
        return time >= first ? UInt32(truncatingIfNeeded: time - first) : nil
    }

    /// As carrier: in which format this `playAudio` is.
    private func settle(_ media: UnsafeBufferPointer<UInt8>, _ inbox: DialectInbox) throws(MediaStreamError) {
        var type: JSONMembers.Value?
        var rate: Int?
        _ = JSONMembers.forEach(in: media) { key, value in
            if JSONMembers.equals(key, "contentType") { type = value }
            if JSONMembers.equals(key, "sampleRate") { rate = WireJSON.number(value, in: media) }
        }
        guard let type, type.kind == .string else { throw MediaStreamError("media.contentType is missing") }
        if rate == playedRate, playedType.elementsEqual(media[type.range]), !playedType.isEmpty { return }
        guard let text = JSONMembers.text(type, in: media), let format = PlivoFormat.named(text, rate: rate) else {
            throw MediaStreamError("media.contentType or sampleRate is not one of Plivo's", refusal: .format)
        }
        if format != incoming {
            guard playedFormats < Self.formatLimit else { throw MediaStreamError("media.contentType keeps changing") }
            playedFormats += 1
            try inbox.agree(PlivoFormat.terms(incoming: format, outgoing: outgoing, role))
            incoming = format
        }
        playedType = Array(media[type.range])
        playedRate = rate
    }

    /// As application: what Plivo tells beside sound.
    private func told(
        _ event: String, _ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        switch event {
        case "start": return try start(bytes, into: inbox)
        case "dtmf", "playedStream", "played", "stop":
            guard hasStarted else { throw MediaStreamError("\(event) came before start") }
        // `clearedAudio`, `playFailed`, `error`; or a later version's.
        default: return
        }
        var name: JSONMembers.Value?
        var dtmf: JSONMembers.Value?
        _ = JSONMembers.forEach(in: bytes) { key, value in
            if JSONMembers.equals(key, "name") { name = value }
            if JSONMembers.equals(key, "dtmf") { dtmf = value }
        }
        switch event {
        case "dtmf":
            inbox.say(.dtmf(try WireJSON.digit(WireJSON.text(of: "digit", dtmf, in: bytes))))
        case "stop": inbox.say(.stop)
        default: try inbox.say(.mark(checked(name, in: bytes)))
        }
    }

    /// As carrier: what the application asks for beside sound.
    private func asked(
        _ event: String, _ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        var name: JSONMembers.Value?
        var dtmf: JSONMembers.Value?
        _ = JSONMembers.forEach(in: bytes) { key, value in
            if JSONMembers.equals(key, "name") { name = value }
            if JSONMembers.equals(key, "dtmf") { dtmf = value }
        }
        switch event {
        case "checkpoint": try inbox.say(.mark(checked(name, in: bytes)))
        case "clearAudio":
            sequence &+= 1
            inbox.say(.clear)
            let text = #"{"event":"clearedAudio","sequenceNumber":\#(sequence),"streamId":"\#(streamID)"}"#
            inbox.reply(Array(text.utf8))
        case "sendDTMF":
            guard let digits = WireJSON.scalar(dtmf, in: bytes), (1...Self.digitLimit).contains(digits.utf8.count),
                digits.allSatisfy({ TelephoneEvent.digits.contains($0) })
            else { throw MediaStreamError("dtmf is missing or has what is no digit") }
            for digit in digits { inbox.say(.dtmf(digit)) }
        case "stop": inbox.say(.stop)  // Vobiz
        default: break  // a later version's
        }
    }

    private func checked(
        _ name: JSONMembers.Value?, in bytes: UnsafeBufferPointer<UInt8>
    ) throws(MediaStreamError) -> String {
        guard let name = WireJSON.scalar(name, in: bytes), name.utf8.count <= Self.nameLimit else {
            throw MediaStreamError("name is missing or too long")
        }
        return name
    }

    private func start(_ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox) throws(MediaStreamError) {
        guard !hasStarted else { throw MediaStreamError("a second start") }
        var inner: JSONMembers.Value?
        var extra: JSONMembers.Value?
        _ = JSONMembers.forEach(in: bytes) { key, value in
            if JSONMembers.equals(key, "start") { inner = value }
            if JSONMembers.equals(key, "extra_headers") { extra = value }
        }
        guard let inner, inner.kind == .object else { throw MediaStreamError("start is missing") }
        let start = UnsafeBufferPointer(rebasing: bytes[inner.range])
        var mediaFormat: JSONMembers.Value?
        _ = JSONMembers.forEach(in: start) { key, value in
            if JSONMembers.equals(key, "mediaFormat") { mediaFormat = value }
        }
        let members = WireJSON.scalars(start) ?? [:]
        guard let id = members["streamId"], !id.isEmpty, id == Self.plain(id) else {
            throw MediaStreamError("start.streamId is missing or odd")
        }
        if let mediaFormat, mediaFormat.kind == .object {
            let format = WireJSON.scalars(UnsafeBufferPointer(rebasing: start[mediaFormat.range])) ?? [:]
            let rate = format["sampleRate"].map { Int($0) ?? 0 }
            guard let known = PlivoFormat.named(format["encoding"] ?? "", rate: rate) else {
                throw MediaStreamError("start.mediaFormat is not one of Plivo's", refusal: .format)
            }
            try inbox.agree(PlivoFormat.terms(incoming: known, outgoing: known, role))
            outgoing = known
        }
        hasStarted = true
        begin(streamID: id)
        let parameters = PlivoHeaders.read(extra, in: bytes)
        inbox.say(.start(StreamStart(streamID: id, callID: members["callId"] ?? "", parameters: parameters)))
    }

    // MARK: Encoding

    public func capacity(for message: MediaStreamMessage) -> Int {
        switch message {
        case .start(let start): 1_024 + start.callID.utf8.count * 6 + PlivoHeaders.capacity(for: start.parameters)
        case .mark(let name): 512 + name.utf8.count * 6
        case .media, .connected, .dtmf, .clear, .stop: 512
        }
    }

    public func encode(_ message: MediaStreamMessage, into target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        if role == .application, let count = prepared.write(message, target) { return count }
        let object = role == .carrier ? told(message) : asked(message)
        return object.flatMap { WireJSON.write($0, target) }
    }

    public func encode(_ word: DialectWord) -> [UInt8]? {
        // As the vendor's agent-transport reads it; an application has no such word, and closes.
        guard role == .carrier, case .refused(let refusal) = word else { return nil }
        let reason: String =
            switch refusal {
            case .format: "unsupported contentType or sampleRate"
            case .malformed: "invalid message"
            case .unauthorized: "unauthorized"
            }
        return Array(#"{"event":"error","streamId":"\#(streamID)","reason":"\#(reason)"}"#.utf8)
    }

    public func capacity(forSound byteCount: Int) -> Int {
        prepared.sound.count + Base64.encodedLength(byteCount) + 192
    }

    public func encode(
        sound: UnsafeBufferPointer<UInt8>, timestampMs: UInt32, into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        var at = WireText.write(prepared.sound, target, 0)
        if role == .carrier {
            sequence &+= 1
            lastMs = Int(timestampMs)
            let chunk: Int
            if track == .inbound {
                chunks.inbound &+= 1
                chunk = chunks.inbound
            } else {
                chunks.outbound &+= 1
                chunk = chunks.outbound
            }
            at = WireText.write(sequence, target, at)
            at = WireText.write(
                track == .inbound
                    ? #","media":{"track":"inbound","timestamp":""# : #","media":{"track":"outbound","timestamp":""#,
                target, at)
            at = WireText.write(beganMs &+ lastMs, target, at)
            at = WireText.write(#"","chunk":"#, target, at)
            at = WireText.write(chunk, target, at)
            at = WireText.write(#","payload":""#, target, at)
        }
        at = Base64.encode(sound.span, into: target, at: at)
        return WireText.write(#""}}"#, target, at)
    }

    private func told(_ message: MediaStreamMessage) -> [String: Any]? {
        var object: [String: Any]
        switch message {
        case .start(let start):
            sequence = 0
            begin(streamID: Self.plain(start.streamID))
            object = [
                "event": "start",
                "start": [
                    "callId": start.callID, "streamId": streamID, "accountId": "MA00000000000000000000",
                    "tracks": tracks.map(\.rawValue),
                    "mediaFormat": [
                        "encoding": PlivoFormat.encoding(of: outgoing), "sampleRate": Int(outgoing.sampleRate),
                    ] as [String: Any],
                ] as [String: Any],
                "extra_headers": PlivoHeaders.text(start.parameters),
            ]
        case .dtmf(let digit):
            object = [
                "event": "dtmf", "streamId": streamID,
                "dtmf": ["track": "inbound", "digit": String(digit), "timestamp": String(beganMs &+ lastMs)],
            ]
        case .mark(let name): object = ["event": "playedStream", "streamId": streamID, "name": name]
        case .stop: object = ["event": "stop", "streamId": streamID]
        case .connected, .media, .clear: return nil
        }
        sequence &+= 1
        object["sequenceNumber"] = sequence
        return object
    }

    private func asked(_ message: MediaStreamMessage) -> [String: Any]? {
        switch message {
        case .mark(let name): ["event": "checkpoint", "streamId": streamID, "name": name]
        case .dtmf(let digit): ["event": "sendDTMF", "dtmf": String(digit)]
        // `clear` has been written; Plivo is told the end by the socket's.
        case .connected, .start, .media, .clear, .stop: nil
        }
    }
}
