internal import Foundation
public import Net

/// Exotel AgentStream, the Stream and Voicebot applets (developer.exotel.com/docs/agentstream/websocket-protocol), both
/// ends.
///
/// Numbers are strings. Lenient in what it takes: the vendor's pages spell names with underscores, and its samples
/// (github.com/exotel/Agent-Stream), which say that names vary, also without (`streamSid`). Custom parameters stand on
/// the stream's URL and in `start`. A mark comes back when its sound has been played; that one comes back for what a
/// clear has dropped is nowhere said.
public final class ExotelDialect: MediaStreamDialect {
    public static let traits: DialectTraits = {
        var traits = DialectTraits(
            name: "exotel", paths: ["/media/exotel"], accepts: [.text], soundKind: .text, formats: ExotelFormat.all)
        traits.marks = .echoed(afterClear: false)
        // `wss://key:token@host`, or a custom parameter.
        traits.tokens = [.basic, .query("token"), .parameter("token")]
        return traits
    }()

    /// Bytes of a stream's id and of a mark's name.
    static let idLimit = 128
    static let nameLimit = 1_024

    public let terms: WireTerms
    public var track = MediaTrack.inbound

    private let role: MediaStreamRole
    private let tracks: [MediaTrack]
    private let query: [(name: String, value: String)]
    private var streamID = ""
    private var streamIDBytes: [UInt8] = []
    private var callID = ""
    private var hasStarted = false
    private var format: WireFormat
    private var sequence = 0
    private var chunk = 0
    /// As application: microseconds of sound that have been sent.
    private var sentUs = 0
    private var prepared = PreparedMessages()

    public init(_ options: DialectOptions) {
        role = options.role
        tracks = options.tracks
        query = options.handshake?.query ?? []
        let given = options.format.flatMap { ExotelFormat.all.contains($0) ? $0 : nil }
        format = given ?? ExotelFormat.linear(ExotelFormat.rate(in: query) ?? 8_000)
        terms = ExotelFormat.terms(format, options.role)
        begin(streamID: Self.plain(options.streamID))
    }

    private func begin(streamID id: String) {
        streamID = id
        streamIDBytes = Array(id.utf8)
        prepared = PreparedMessages(
            sound: #"{"event":"media","stream_sid":"\#(id)","sequence_number":""#,
            mark: (#"{"event":"mark","stream_sid":"\#(id)","mark":{"name":""#, #""}}"#),
            clear: #"{"event":"clear","stream_sid":"\#(id)"}"#)
    }

    private static func plain(_ id: String) -> String { WireText.plainID(id, limit: idLimit, signs: "-_.:") }

    // MARK: Decoding

    public func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        let message = try EventMessage(bytes, id: "stream_sid", or: "streamSid")
        guard isOpen || message.isOf(streamIDBytes) else { throw MediaStreamError("stream_sid is another stream's") }
        guard message.isEvent("media") else {
            return try other(String(decoding: message.event, as: UTF8.self), bytes, into: inbox)
        }
        guard role == .carrier || hasStarted else { throw MediaStreamError("media came before start") }
        let media = try message.media()
        // Our own voice, where both tracks were asked for.
        if media.isOutbound, role == .application { return }
        try inbox.sound(
            base64: media.payload, hasEscapes: media.hasEscapes,
            timestampMs: role == .application ? media.timestampMs : nil)
    }

    /// The stream's id is not known yet.
    private var isOpen: Bool { streamIDBytes.isEmpty || role == .application && !hasStarted }

    /// A message without sound.
    private func other(
        _ event: String, _ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        var inner: JSONMembers.Value?
        _ = JSONMembers.forEach(in: bytes) { key, value in
            if key.elementsEqual(event.utf8) { inner = value }
        }
        var body = UnsafeBufferPointer<UInt8>(rebasing: bytes[bytes.count...])
        if let inner, inner.kind == .object { body = UnsafeBufferPointer(rebasing: bytes[inner.range]) }
        switch (role, event) {
        case (.application, "connected"): inbox.say(.connected)
        case (.application, "start"): try start(body, of: bytes, into: inbox)
        case (.application, "dtmf"), (_, "mark"), (_, "stop"):
            guard role == .carrier || hasStarted else { throw MediaStreamError("\(event) came before start") }
            try inbox.say(said(event, WireJSON.scalars(body) ?? [:]))
        case (.carrier, "clear"): inbox.say(.clear)
        default: break  // a later version's
        }
    }

    private func said(_ event: String, _ body: [String: String]) throws(MediaStreamError) -> MediaStreamMessage {
        switch event {
        case "dtmf": return .dtmf(try WireJSON.digit(body["digit"]))
        case "mark":
            guard let name = body["name"], name.utf8.count <= Self.nameLimit else {
                throw MediaStreamError("mark.name is missing or too long")
            }
            return .mark(name)
        default: return .stop
        }
    }

    private func start(
        _ body: UnsafeBufferPointer<UInt8>, of bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        guard !hasStarted else { throw MediaStreamError("a second start") }
        var custom: JSONMembers.Value?
        var mediaFormat: JSONMembers.Value?
        let isObject = JSONMembers.forEach(in: body) { key, value in
            if JSONMembers.equals(key, "custom_parameters") || JSONMembers.equals(key, "customParameters") {
                custom = value
            }
            if JSONMembers.equals(key, "media_format") || JSONMembers.equals(key, "mediaFormat") { mediaFormat = value }
        }
        guard isObject else { throw MediaStreamError("start is missing") }
        let members = WireJSON.scalars(body) ?? [:]
        let outer = WireJSON.scalars(bytes) ?? [:]
        guard
            let id = outer["stream_sid"] ?? outer["streamSid"] ?? members["stream_sid"] ?? members["streamSid"],
            !id.isEmpty, id == Self.plain(id)
        else { throw MediaStreamError("stream_sid is missing or odd") }
        try agree(mediaFormat, in: body, inbox)
        var parameters: [String: String] = [:]
        for (name, value) in query.prefix(WireJSON.memberLimit) where name != "sample-rate" {
            parameters[name] = value
        }
        if let custom, custom.kind == .object {
            let texts = WireJSON.scalars(UnsafeBufferPointer(rebasing: body[custom.range])) ?? [:]
            parameters.merge(texts) { $1 }
        }
        for name in ["from", "to"] where members[name] != nil { parameters[name] = members[name] }
        hasStarted = true
        begin(streamID: id)
        callID = members["call_sid"] ?? members["callSid"] ?? ""
        inbox.say(.start(StreamStart(streamID: id, callID: callID, parameters: parameters)))
    }

    private func agree(
        _ mediaFormat: JSONMembers.Value?, in body: UnsafeBufferPointer<UInt8>, _ inbox: DialectInbox
    ) throws(MediaStreamError) {
        guard let mediaFormat, mediaFormat.kind == .object else { return }
        let object = UnsafeBufferPointer(rebasing: body[mediaFormat.range])
        var encoding: JSONMembers.Value?
        var rate: JSONMembers.Value?
        _ = JSONMembers.forEach(in: object) { key, value in
            if JSONMembers.equals(key, "encoding") { encoding = value }
            if JSONMembers.equals(key, "sample_rate") || JSONMembers.equals(key, "sampleRate") { rate = value }
        }
        let hertz = rate == nil ? Int(format.sampleRate) : WireJSON.number(rate, in: object) ?? 0
        guard let known = ExotelFormat.named(WireJSON.scalar(encoding, in: object) ?? "", rate: hertz) else {
            throw MediaStreamError("start.media_format is not one of Exotel's", refusal: .format)
        }
        try inbox.agree(ExotelFormat.terms(known, role))
        format = known
    }

    // MARK: Encoding

    public func capacity(for message: MediaStreamMessage) -> Int {
        switch message {
        case .start(let start):
            start.parameters.reduce(1_024 + start.callID.utf8.count * 6) {
                $0 + ($1.key.utf8.count + $1.value.utf8.count) * 12 + 16
            }
        case .stop: 1_024 + callID.utf8.count * 6
        case .mark(let name): 512 + name.utf8.count * 6
        case .media, .connected, .dtmf, .clear: 512
        }
    }

    public func encode(_ message: MediaStreamMessage, into target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        if role == .application, let count = prepared.write(message, target) { return count }
        return object(for: message).flatMap { WireJSON.write($0, target) }
    }

    public func encode(_ word: DialectWord) -> [UInt8]? {
        // Exotel gives its reason in `stop`; an application has no such word, and closes.
        guard role == .carrier, case .refused(let refusal) = word else { return nil }
        let reason: String =
            switch refusal {
            case .format: "unsupported media format"
            case .malformed: "invalid message"
            case .unauthorized: "unauthorized"
            }
        return Self.data(stop(reason)).map { Array($0) }
    }

    private static func data(_ object: [String: Any]) -> Data? {
        try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
    }

    public func capacity(forSound byteCount: Int) -> Int {
        prepared.sound.count + Base64.encodedLength(byteCount) + 192
    }

    /// Both ends number and time their messages: without that some streams end early, say the vendor's samples.
    public func encode(
        sound: UnsafeBufferPointer<UInt8>, timestampMs: UInt32, into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        sequence &+= 1
        chunk &+= 1
        let ms = role == .carrier ? Int(timestampMs) : sentUs / 1_000
        sentUs &+= format.microseconds(ofBytes: sound.count)
        var at = WireText.write(prepared.sound, target, 0)
        at = WireText.write(sequence, target, at)
        at = WireText.write(#"","media":{"#, target, at)
        if role == .carrier, tracks.count > 1 {
            at = WireText.write(
                track == .inbound ? #""track":"inbound","# : #""track":"outbound","#, target, at)
        }
        at = WireText.write(#""chunk":""#, target, at)
        at = WireText.write(chunk, target, at)
        at = WireText.write(#"","timestamp":""#, target, at)
        at = WireText.write(ms, target, at)
        at = WireText.write(#"","payload":""#, target, at)
        at = Base64.encode(sound.span, into: target, at: at)
        return WireText.write(#""}}"#, target, at)
    }

    private static let accountID = "trunkline"

    private func object(for message: MediaStreamMessage) -> [String: Any]? {
        switch (role, message) {
        case (.carrier, .connected): return ["event": "connected"]
        case (.carrier, .start(let start)):
            begin(streamID: Self.plain(start.streamID))
            callID = start.callID
            return numbered(
                "start",
                [
                    "stream_sid": streamID, "call_sid": callID, "account_sid": Self.accountID,
                    "from": start.parameters["from"] ?? "", "to": start.parameters["to"] ?? "",
                    "custom_parameters": start.parameters,
                    "media_format": [
                        "encoding": ExotelFormat.encoding(of: format), "sample_rate": String(format.sampleRate),
                        "bit_rate": format == .muLaw8k ? "8" : "16",
                    ],
                ])
        case (.carrier, .dtmf(let digit)): return numbered("dtmf", ["digit": String(digit), "duration": "100"])
        case (.carrier, .mark(let name)): return numbered("mark", ["name": name])
        case (.carrier, .stop): return stop("callended")
        case (.application, .mark(let name)): return ["event": "mark", "stream_sid": streamID, "mark": ["name": name]]
        // `clear` has been written; Exotel is told the end by the socket's.
        case (_, .media), (_, .clear), (.application, .connected), (.application, .start), (.application, .dtmf),
            (.application, .stop):
            return nil
        }
    }

    private func stop(_ reason: String) -> [String: Any] {
        numbered("stop", ["call_sid": callID, "account_sid": Self.accountID, "reason": reason])
    }

    private func numbered(_ event: String, _ body: [String: Any]) -> [String: Any] {
        sequence &+= 1
        return ["event": event, "sequence_number": String(sequence), "stream_sid": streamID, event: body]
    }
}
