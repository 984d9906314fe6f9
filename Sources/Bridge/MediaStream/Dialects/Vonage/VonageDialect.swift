public import Net

/// WebSockets of the Vonage Voice API (developer.vonage.com/en/voice/voice-api/concepts/websockets), both ends.
///
/// Sound is binary: linear 16-bit PCM, the low byte first, 20 ms a message both ways, at the rate that the first
/// message names. That message has the `headers` of the endpoint (NCCO `connect`) among its own members: they are the
/// parameters. No member of it is Vonage's own id of the call: the NCCO must put it into the header `uuid`.
/// There is no word for the end: the socket closes.
public final class VonageDialect: MediaStreamDialect {
    /// Hertz, best first: 16 000 is what Vonage's guides ask for.
    static let sampleRates: [Int32] = [16_000, 24_000, 8_000]
    /// Milliseconds of sound in every message.
    static let messageMs = 20
    /// Bytes of the payload of a `notify`, which comes back as it went.
    static let payloadLimit = 4 << 10
    /// Bytes of the call's id: of a SIP leg it is the far end's Call-ID.
    static let idLimit = 1_024
    /// Milliseconds that a key was held: a carrier's leg does not tell, and this is the guide's own example.
    static let digitMs = 260

    public static let traits: DialectTraits = {
        var traits = DialectTraits(
            name: "vonage", paths: ["/media/vonage"], accepts: [.text, .binary], soundKind: .binary,
            formats: sampleRates.map { WireFormat(.linear16(.little), sampleRate: $0) })
        // Nobody says what becomes of a notification whose sound is cleared.
        traits.marks = .echoed(afterClear: false)
        // A header or the URI of the endpoint, or its `authorization` of type `custom`.
        traits.tokens = [.parameter("token"), .query("token"), .bearer]
        return traits
    }()

    public let terms: WireTerms
    private let role: MediaStreamRole
    private var hasStarted = false

    public init(_ options: DialectOptions) {
        role = options.role
        let formats = Self.traits.formats
        terms = Self.terms(formats.first { $0 == options.format } ?? formats[0])
    }

    private static func terms(_ format: WireFormat) -> WireTerms {
        WireTerms(incoming: format, outgoing: format, chunks: .exactly(format.bytes(ofMs: messageMs)))
    }

    // MARK: Decoding

    /// Of a text message, what is looked at.
    private struct Members {
        var name: JSONMembers.Value?
        var contentType: JSONMembers.Value?
        var digit: JSONMembers.Value?
        var dtmf: JSONMembers.Value?
        var payload: JSONMembers.Value?
    }

    public func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        guard kind == .text else { return try sound(bytes, into: inbox) }
        let nameKey: StaticString = role == .application ? "event" : "action"
        var members = Members()
        let isObject = JSONMembers.forEach(in: bytes) { key, value in
            if JSONMembers.equals(key, nameKey) { members.name = value }
            if JSONMembers.equals(key, "content-type") { members.contentType = value }
            if JSONMembers.equals(key, "digit") { members.digit = value }
            if JSONMembers.equals(key, "dtmf") { members.dtmf = value }
            if JSONMembers.equals(key, "payload") { members.payload = value }
        }
        guard isObject, let name = members.name, name.kind == .string else {
            throw MediaStreamError("the message is no JSON object with an \"\(nameKey)\"")
        }
        let word = UnsafeBufferPointer(rebasing: bytes[name.range])
        switch role {
        case .application: try event(word, members, bytes, into: inbox)
        case .carrier: try action(word, members, bytes, into: inbox)
        }
    }

    private func sound(_ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox) throws(MediaStreamError) {
        guard role == .carrier || hasStarted else { throw MediaStreamError("sound came before websocket:connected") }
        // Every message is 20 ms by itself: half a sample is not continued by the next one.
        guard bytes.count % 2 == 0 else { throw MediaStreamError("the sound has half a sample") }
        try inbox.sound(bytes)
    }

    private func event(
        _ word: UnsafeBufferPointer<UInt8>, _ members: Members, _ bytes: UnsafeBufferPointer<UInt8>,
        into inbox: DialectInbox
    ) throws(MediaStreamError) {
        if JSONMembers.equals(word, "websocket:connected") { return try start(members, bytes, into: inbox) }
        guard hasStarted else { throw MediaStreamError("a message came before websocket:connected") }
        if JSONMembers.equals(word, "websocket:dtmf") {
            // Nested in earlier versions.
            let nested = WireJSON.text(of: "digit", members.dtmf, in: bytes)
            let direct = (members.digit ?? members.dtmf).flatMap { WireJSON.text($0, in: bytes) }
            inbox.say(.dtmf(try WireJSON.digit(nested ?? direct)))
        }
        if JSONMembers.equals(word, "websocket:notify") { inbox.say(.mark(try mark(members.payload, bytes))) }
        // Else websocket:cleared, or a later version's.
    }

    private func action(
        _ word: UnsafeBufferPointer<UInt8>, _ members: Members, _ bytes: UnsafeBufferPointer<UInt8>,
        into inbox: DialectInbox
    ) throws(MediaStreamError) {
        if JSONMembers.equals(word, "notify") { inbox.say(.mark(try mark(members.payload, bytes))) }
        guard JSONMembers.equals(word, "clear") else { return }
        inbox.reply(Array(#"{"event":"websocket:cleared"}"#.utf8))
        inbox.say(.clear)
    }

    private func start(
        _ members: Members, _ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        guard !hasStarted else { throw MediaStreamError("a second websocket:connected") }
        guard let rate = Self.rate(members.contentType.flatMap { JSONMembers.text($0, in: bytes) }) else {
            throw MediaStreamError("content-type is not audio/l16 at 8000, 16000 or 24000 Hz", refusal: .format)
        }
        var parameters = try WireJSON.parameters(in: bytes, without: ["event", "content-type"])
        let id = parameters.removeValue(forKey: "uuid") ?? parameters["call_uuid"] ?? ""
        guard id.utf8.count <= Self.idLimit else { throw MediaStreamError("uuid is too long") }
        try inbox.agree(Self.terms(WireFormat(.linear16(.little), sampleRate: rate)))
        hasStarted = true
        inbox.say(.start(StreamStart(streamID: id, callID: id, parameters: parameters)))
    }

    /// Hertz of `audio/l16;rate=16000`, in any case and with spaces.
    static func rate(_ contentType: String?) -> Int32? {
        guard let contentType, contentType.utf8.count <= 64 else { return nil }
        let parts = contentType.lowercased().split(separator: ";").map { $0.filter { $0 != " " } }
        guard parts.first == "audio/l16",
            let rate = parts.dropFirst().first(where: { $0.hasPrefix("rate=") }).flatMap({ Int32($0.dropFirst(5)) }),
            sampleRates.contains(rate)
        else { return nil }
        return rate
    }

    // MARK: Marks

    private func mark(
        _ payload: JSONMembers.Value?, _ bytes: UnsafeBufferPointer<UInt8>
    ) throws(MediaStreamError) -> String {
        guard let payload else { return "{}" }
        guard payload.kind == .object, payload.range.count <= Self.payloadLimit,
            let mark = Self.mark(UnsafeBufferPointer(rebasing: bytes[payload.range]))
        else { throw MediaStreamError("payload is no object, or too large") }
        return mark
    }

    /// A payload of ours is a name and nothing else. Any other application's is a mark by its JSON, so that it comes
    /// back as it went.
    private static func mark(_ payload: UnsafeBufferPointer<UInt8>) -> String? {
        var name: String?
        var count = 0
        let isObject = JSONMembers.forEach(in: payload) { key, value in
            count += 1
            if JSONMembers.equals(key, "name") { name = JSONMembers.text(value, in: payload) }
        }
        guard isObject else { return nil }
        return count == 1 ? name ?? String(decoding: payload, as: UTF8.self) : String(decoding: payload, as: UTF8.self)
    }

    /// A mark that is another application's payload.
    private static func isPayload(_ name: String) -> Bool {
        guard name.utf8.first == UInt8(ascii: "{") else { return false }
        var text = name
        return text.withUTF8 { mark($0) } == name
    }

    // MARK: Encoding

    public func capacity(for message: MediaStreamMessage) -> Int {
        switch message {
        case .start(let start): 512 + start.callID.utf8.count * 6 + WireJSON.room(for: start.parameters)
        case .mark(let name): 128 + name.utf8.count * 6
        case .media, .connected, .dtmf, .clear, .stop: 128
        }
    }

    public func encode(_ message: MediaStreamMessage, into target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        switch (role, message) {
        case (.carrier, .start(let start)):
            var object: [String: Any] = start.parameters
            object["event"] = "websocket:connected"
            object["content-type"] = "audio/l16;rate=\(terms.outgoing.sampleRate)"
            if !start.callID.isEmpty { object["uuid"] = start.callID }
            return WireJSON.write(object, target)
        case (.carrier, .dtmf(let digit)):
            var at = WireText.write(#"{"event":"websocket:dtmf","digit":""#, target, 0)
            at = WireText.write(String(digit).utf8, target, at)
            at = WireText.write(#"","duration":"#, target, at)
            return WireText.write("}", target, WireText.write(Self.digitMs, target, at))
        case (.carrier, .mark(let name)): return write(name, #"{"event":"websocket:notify","payload":"#, target)
        case (.application, .mark(let name)): return write(name, #"{"action":"notify","payload":"#, target)
        case (.application, .clear): return WireText.write(#"{"action":"clear"}"#, target, 0)
        case (_, .media), (_, .connected), (_, .stop), (.carrier, .clear), (.application, .start),
            (.application, .dtmf):
            return nil
        }
    }

    private func write(
        _ name: String, _ prefix: StaticString, _ target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int? {
        var at = WireText.write(prefix, target, 0)
        if role == .carrier, Self.isPayload(name) {
            at = WireText.write(name.utf8, target, at)
        } else if WireText.isPlain(name) {
            at = WireText.write(name.utf8, target, WireText.write(#"{"name":""#, target, at))
            at = WireText.write(#""}"#, target, at)
        } else {
            let rest = UnsafeMutableBufferPointer(rebasing: target[at...])
            guard let count = WireJSON.write(["name": name], rest) else { return nil }
            at += count
        }
        return WireText.write("}", target, at)
    }

    public func capacity(forSound byteCount: Int) -> Int { byteCount }

    public func encode(
        sound: UnsafeBufferPointer<UInt8>, timestampMs: UInt32, into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int { target.update(fromContentsOf: sound) }
}
