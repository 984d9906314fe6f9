public import Net

/// Genesys AudioHook and its two-way form Audio Connector, version 2, both ends
/// (developer.genesys.cloud/devapps/audiohook; what its pages leave open as in, on GitHub,
/// purecloudlabs/audiohook-reference-implementation and
/// GenesysCloudBlueprints/audioconnector-server-reference-implementation).
///
/// Words are JSON in text messages, numbered without a gap on each side. Sound is binary: PCMU, or L16 with the low
/// byte first, 8 kHz, one channel (`external`: the caller) or two interleaved (`external`, `internal`). None is sent
/// before `opened`.
///
/// Lenient in what it takes: unknown words and members mean nothing. Strict about order: a wrong number or id ends the
/// stream, as it does at the vendor's. What a carrier drops while it is paused stands in `resumed`.
public final class GenesysDialect: MediaStreamDialect {
    /// Bytes of the largest text and of the largest binary message.
    static let textLimit = 65_535
    static let soundLimit = 64_000
    /// Milliseconds of sound in a message to Genesys: five messages a second, more of them are refused with 429.
    static let packetMs = 200
    /// Milliseconds between pings; one that has not been answered by the next is late.
    static let pingMs: UInt64 = 5_000
    /// Milliseconds for Genesys to close after `disconnect`, and to begin to play what it was sent.
    static let closeLimitMs: UInt64 = 5_000
    static let playbackLimitMs: UInt64 = 500
    /// Messages of sound whose end a leg has yet to tell: a minute of frames.
    static let unplayedLimit = 3_000
    /// Bytes of names and values of `outputVariables`: in JSON no more than a text message holds.
    static let outputBytes = 8_192

    public static let traits: DialectTraits = {
        var traits = DialectTraits(
            name: "genesys", paths: ["/media/genesys"], accepts: [.text, .binary], soundKind: .binary,
            formats: GenesysMedia.formats)
        traits.marks = .playback(limitMs: playbackLimitMs)
        traits.keepAlive = .word(everyMs: pingMs)
        traits.ending = .asking(limitMs: closeLimitMs)
        traits.confirmationLimitMs = closeLimitMs
        traits.answersStart = true
        traits.tokens = [.header("x-api-key"), .parameter("token"), .query("token")]
        traits.signatureHeader = GenesysSignature.header
        traits.keyPlace = .header(GenesysSignature.keyHeader)
        // With the API key, which is the token.
        traits.sign = { upgrade, secret in
            let key = upgrade.headers[GenesysSignature.keyHeader] ?? ""
            return GenesysSignature(apiKey: key, clientSecret: secret)?.headers(
                target: upgrade.url.path, authority: upgrade.url.authority, headers: upgrade.headers,
                nonce: upgrade.nonce, at: upgrade.now) ?? []
        }
        traits.largestMessage = textLimit
        return traits
    }()

    /// `probed`: a test of the connection, without a call.
    enum Phase { case new, opening, probed, open, closing, closed }

    public internal(set) var terms: WireTerms
    let role: MediaStreamRole
    var phase = Phase.new
    /// The session's, a UUID; text that needs no escapes in JSON.
    var id = GenesysMedia.nullID
    var idBytes: [UInt8] = []
    /// Number of our last message, and of the far end's.
    var sequence = 0
    var heard = 0
    public var results: [String: String] = [:]
    /// As application: what the upgrade's header says of the customer.
    let organizationID: String?
    /// As application: we have asked the far end to send no sound, so its `paused` says nothing of ours.
    var hasAskedPause = false
    /// As application: where the next sound stands, where it does not follow what came before.
    var nextMs: UInt32?

    // As carrier.
    let offered: [WireFormat]
    var start = StreamStart(streamID: "", callID: "")
    /// Samples that were sent or dropped since `opened`.
    var position = 0
    var pausedAtMs: UInt64?
    /// Number of the ping that has not been answered.
    var ping: Int?
    var isPlaying = false
    /// Messages of sound, and those whose end has been played.
    var received = 0
    var played = 0

    public init(_ options: DialectOptions) {
        role = options.role
        organizationID = options.handshake?.headers["audiohook-organization-id"]
        offered = options.format.map { [$0] } ?? Array(GenesysMedia.formats.prefix(2))
        terms = GenesysMedia.terms(offered[0], options.role)
        if let announced = options.handshake?.headers["audiohook-session-id"], GenesysMedia.isID(announced) {
            name(announced)
        }
    }

    func name(_ id: String) {
        self.id = id
        idBytes = Array(id.utf8)
    }

    public static func headers(of start: StreamStart) -> [(name: String, value: String)] {
        [
            ("audiohook-organization-id", GenesysMedia.organizationID),
            ("audiohook-session-id", GenesysMedia.uuid(of: start.streamID)),
            ("audiohook-correlation-id", GenesysMedia.uuid(of: start.callID)),
        ]
    }

    // MARK: Decoding

    public func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        guard kind == .text else { return try hear(bytes, into: inbox) }
        guard bytes.count <= Self.textLimit else { throw MediaStreamError("a text message is too long") }
        let envelope = try GenesysEnvelope(bytes, ownSequence: role == .application ? "serverseq" : "clientseq")
        try admit(envelope)
        if role == .application { try client(envelope, into: inbox) } else { try server(envelope, into: inbox) }
    }

    /// What goes for every message, whatever it says.
    private func admit(_ envelope: GenesysEnvelope) throws(MediaStreamError) {
        let (expected, isLast) = heard.addingReportingOverflow(1)
        guard envelope.sequence == expected, !isLast else {
            throw MediaStreamError("seq does not follow the message before", refusal: .malformed)
        }
        heard = envelope.sequence
        guard envelope.acknowledged <= sequence else {
            throw MediaStreamError("a message of ours is acknowledged that was never sent", refusal: .malformed)
        }
        guard idBytes.isEmpty || idBytes.elementsEqual(envelope.id) else {
            throw MediaStreamError("id is another session's", refusal: .malformed)
        }
    }

    /// A binary message.
    private func hear(_ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox) throws(MediaStreamError) {
        switch phase {
        case .open: break
        case .closing: return  // on its way when the end was said
        case .new, .opening, .probed, .closed: throw MediaStreamError("sound came before opened or after the end")
        }
        guard !bytes.isEmpty, bytes.count <= Self.soundLimit, bytes.count % terms.incoming.stride == 0 else {
            throw MediaStreamError("a binary message is empty, too long or ends within a sample")
        }
        if role == .carrier {
            if !isPlaying { inbox.reply(message("playback_started")) }
            isPlaying = true
        }
        let time = nextMs
        nextMs = nil
        try inbox.sound(bytes, timestampMs: time)
        // The leg gives this back when it has played what came before.
        guard role == .carrier, received - played < Self.unplayedLimit else { return }
        received += 1
        inbox.say(.mark(String(received)))
    }

    // MARK: Encoding

    public func capacity(for message: MediaStreamMessage) -> Int {
        if message == .stop { return 1_024 + 6 * Self.outputBytes }
        guard case .start(let start) = message else { return 1_024 }
        return start.parameters.reduce(2_048) { $0 + ($1.key.utf8.count + $1.value.utf8.count) * 6 + 8 }
    }

    public func encode(_ message: MediaStreamMessage, into target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        let count = sequence
        guard let text = role == .application ? answer(message) : report(message) else { return nil }
        guard text.count <= target.count else {
            sequence = count
            return nil
        }
        return target.update(fromContentsOf: text)
    }

    public func capacity(forSound byteCount: Int) -> Int { byteCount }

    public func encode(
        sound: UnsafeBufferPointer<UInt8>, timestampMs: UInt32, into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        guard phase == .open else { return -1 }
        position &+= sound.count / terms.outgoing.stride
        return target.update(fromContentsOf: sound)
    }

    public func encode(_ word: DialectWord) -> [UInt8]? {
        switch (role, word) {
        case (.carrier, .keepAlive) where phase == .open: return keepAlive()
        case (.application, .pause) where phase == .open:
            hasAskedPause = true
            return message("pause")
        case (.application, .resume) where phase == .open:
            hasAskedPause = false
            return message("resume")
        case (_, .refused(let reason)): return refused(reason)
        case (_, .keepAlive), (_, .pause), (_, .resume): return nil
        }
    }

    /// A message of ours, which is counted with that.
    ///
    /// - Parameter parameters: a JSON object.
    func message(_ type: StaticString, _ parameters: String = "{}") -> [UInt8] {
        sequence &+= 1
        let other =
            role == .application
            ? #""clientseq":\#(heard)"#
            : #""serverseq":\#(heard),"position":"\#(GenesysMedia.duration(ofSamples: position))""#
        let text = #"{"version":"2","type":"\#(type)","id":"\#(id)","seq":\#(sequence),"# + other
        return Array((text + #","parameters":\#(parameters)}"#).utf8)
    }

    private func refused(_ reason: StreamRefusal) -> [UInt8] {
        phase = .closing
        guard role == .application else {
            return reason == .format
                ? message("error", #"{"code":415,"message":"Selected media not one of the offered"}"#)
                : message("error", #"{"code":400,"message":"Message not an AudioHook server message"}"#)
        }
        return switch reason {
        case .unauthorized: message("disconnect", #"{"reason":"unauthorized"}"#)
        case .format:
            message("disconnect", #"{"reason":"error","info":"No supported media type was found."}"#)
        case .malformed:
            message("disconnect", #"{"reason":"error","info":"Message not a well-formed client message"}"#)
        }
    }
}
