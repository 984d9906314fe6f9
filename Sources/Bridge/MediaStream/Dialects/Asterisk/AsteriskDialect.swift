public import Net

/// Asterisk's WebSocket channel, `chan_websocket`, both ends
/// (docs.asterisk.org/Configuration/Channel-Drivers/WebSocket; what the page leaves open as in
/// channels/chan_websocket.c of Asterisk 20, 22 and 23).
///
/// Sound is binary, without a header, in the channel's codec: G.711, or signed linear with the low byte first
/// (`slin`, the byte order of the machines that Asterisk runs on). Words are texts of one line or JSON, as the channel
/// is configured; they are answered in the form in which they come.
///
/// Asterisk drops what does not fill a frame, so whole frames are sent. There is no word for the end of a call: the
/// socket closes.
///
/// A leg of ours may also be streamed to Asterisk itself, whose channel `WebSocket/INCOMING` is the server. Its
/// MEDIA_START tells: from then on the leg hears what an application hears, and commands the channel likewise. No
/// command presses a key there.
public final class AsteriskDialect: MediaStreamDialect {
    /// Bytes of a message, either way; more hangs the call up.
    static let messageLimit = 65_500
    /// Bytes of a command; a longer one is not looked at.
    static let commandLimit = 128
    /// Frames that best go into one message to Asterisk.
    static let framesPerMessage = 5
    /// Milliseconds for Asterisk to close after `HANGUP`.
    static let hangupLimitMs: UInt64 = 2_000
    /// Milliseconds of the largest frame that is taken for one.
    static let frameLimitMs = 200

    public static let traits: DialectTraits = {
        var traits = DialectTraits(
            name: "asterisk", paths: ["/media/asterisk"], accepts: [.text, .binary], soundKind: .binary,
            formats: AsteriskFormat.all.map(\.format))
        traits.subprotocols = ["media"]
        traits.marks = .echoed(afterClear: false)
        traits.ending = .asking(limitMs: hangupLimitMs)
        traits.tokens = [.query("token"), .basic, .bearer, .parameter("token")]
        traits.largestMessage = messageLimit
        return traits
    }()

    public internal(set) var terms: WireTerms
    let role: MediaStreamRole
    private let handshake: WebSocket.Handshake?
    var hasStarted = false
    /// As carrier: the far end is a channel of Asterisk's.
    private var isJoined = false
    /// The form of the last word that came. A carrier begins with JSON, which alone has room for variables, unless its
    /// URL has `control_message_format=plain-text` (the name is that of chan_websocket.conf).
    var isJSON: Bool
    /// Ids of the connection and of the channel; empty: not known.
    var connectionID = ""
    var channelID = ""
    /// As carrier: what waits to be played.
    var queue = AsteriskQueue()

    public init(_ options: DialectOptions) {
        role = options.role
        handshake = options.handshake
        let asked = options.handshake?.query.last { $0.name == "control_message_format" }?.value
        isJSON = options.role == .carrier && asked != "plain-text"
        terms = Self.terms(options.format ?? .muLaw8k, options.role)
    }

    /// - Parameter frame: bytes of a frame, as the channel wants it; nil: 20 ms.
    static func terms(_ format: WireFormat, _ role: MediaStreamRole, frame: Int? = nil) -> WireTerms {
        let usual = format.bytes(ofMs: 20)
        let size = frame ?? usual
        let frames = role == .carrier ? 1 : framesPerMessage
        // Our own frames pass as they are.
        let chunks =
            format.law != nil && size == usual
            ? ChunkRule.any(frames: frames)
            : ChunkRule(
                minimum: size, maximum: role == .carrier ? size : messageLimit / size * size, multiple: size,
                frames: frames)
        // As many bytes as a message may have, of whatever format.
        let longestMs = messageLimit / max(1, format.bytes(ofMs: 20)) * 20 + 20
        return WireTerms(incoming: format, outgoing: format, chunks: chunks, longestMs: longestMs)
    }

    // MARK: Decoding

    public func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        guard bytes.count <= Self.messageLimit else { throw MediaStreamError("a message is longer than 65500 bytes") }
        guard kind == .text else {
            return facesChannel ? try hear(bytes, into: inbox) : try play(bytes, into: inbox)
        }
        if facesChannel || Self.isStart(bytes) { return try event(bytes, into: inbox) }
        guard bytes.count <= Self.commandLimit else { throw MediaStreamError("a command is longer than 128 bytes") }
        guard hasStarted else { throw MediaStreamError("a command came before MEDIA_START") }
        let word = try AsteriskWord(bytes, "command")
        isJSON = word.isJSON
        try command(word, into: inbox)
    }

    /// Events come from the far end, and commands go there.
    private var facesChannel: Bool { role == .application || isJoined }

    private static func isStart(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        (try? AsteriskWord(bytes, "event"))?.isNamed("MEDIA_START") ?? false
    }

    /// Sound of a channel. What overtakes its MEDIA_START (asterisk issue 1712) is in a format not known yet.
    private func hear(_ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox) throws(MediaStreamError) {
        guard hasStarted else { return }
        guard bytes.count % terms.incoming.stride == 0 else {
            throw MediaStreamError("a binary message ends within a sample")
        }
        try inbox.sound(bytes)
    }

    private func event(_ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox) throws(MediaStreamError) {
        let word = try AsteriskWord(bytes, "event")
        isJSON = word.isJSON
        if word.isNamed("MEDIA_START") { return try start(word, into: inbox) }
        guard hasStarted else { throw MediaStreamError("an event came before MEDIA_START") }
        let isMark = word.isNamed("MEDIA_MARK_PROCESSED")
        // On a line, all that follows a mark is its id.
        if !channelID.isEmpty, word.isJSON || !isMark, let channel = word.text("channel_id"), channel != channelID {
            throw MediaStreamError("channel_id is another channel's")
        }
        if isMark {
            if let name = word.correlation { inbox.say(.mark(name)) }
        } else if word.isNamed("DTMF_END") {
            guard let text = word.text("digit"), text.count == 1, let digit = text.first,
                TelephoneEvent.digits.contains(digit)
            else { throw MediaStreamError("DTMF_END has no digit") }
            inbox.say(.dtmf(digit))
        } else if word.isNamed("MEDIA_XOFF") {
            inbox.pause(true)
        } else if word.isNamed("MEDIA_XON") {
            inbox.pause(false)
        } else if word.isNamed("STATUS") {
            if let isFull = word.text("queue_full") { inbox.pause(isFull == "true") }
        } else if word.isNamed("ERROR") {
            throw MediaStreamError("the far end reports an error")
        }
        // QUEUE_DRAINED and MEDIA_BUFFERING_COMPLETED answer what we do not ask.
    }

    private func start(_ word: AsteriskWord, into inbox: DialectInbox) throws(MediaStreamError) {
        guard !hasStarted || !facesChannel else { throw MediaStreamError("a second MEDIA_START") }
        guard let connection = word.text("connection_id"), !connection.isEmpty else {
            throw MediaStreamError("MEDIA_START has no connection_id")
        }
        guard let format = word.text("format").flatMap({ AsteriskFormat.named($0) }) else {
            throw MediaStreamError("MEDIA_START names a format that is not ours", refusal: .format)
        }
        // A frame size of 0 passes packets through, with neither marks nor flush.
        let frames = format.sampleBytes...format.bytes(ofMs: Self.frameLimitMs)
        guard let size = word.text("optimal_frame_size").flatMap({ Int($0) }), frames.contains(size),
            size % format.sampleBytes == 0, word.text("passthrough") != "true", word.text("unbuffered") != "true"
        else { throw MediaStreamError("MEDIA_START is of a channel that passes packets through", refusal: .format) }
        terms = Self.terms(format, role, frame: size)
        try inbox.agree(terms)
        hasStarted = true
        connectionID = connection
        channelID = word.text("channel_id") ?? ""
        if role == .carrier {
            isJoined = true
            inbox.reply(command("ANSWER"))
        }
        // A connection that Asterisk opens has its configuration's name for an id.
        let call = channelID.isEmpty ? word.text("channel") ?? connection : channelID
        inbox.say(.start(StreamStart(streamID: connection, callID: call, parameters: parameters(word))))
    }

    /// Custom data: what the dial string's `v()` has put into the URL, and the channel's variables.
    private func parameters(_ word: AsteriskWord) -> [String: String] {
        var all: [String: String] = [:]
        for (name, value) in handshake?.query ?? [] { all[name] = value }
        return all.merging(word.variables) { _, variable in variable }
    }

    // MARK: Encoding

    public func capacity(for message: MediaStreamMessage) -> Int {
        switch message {
        case .start(let start):
            start.parameters.reduce(1_024 + (start.streamID.utf8.count * 2 + start.callID.utf8.count) * 6) {
                $0 + ($1.key.utf8.count + $1.value.utf8.count) * 6 + 8
            }
        case .mark(let name): 256 + (channelID.utf8.count + name.utf8.count) * 6
        case .media, .connected, .dtmf, .clear, .stop: 256 + channelID.utf8.count * 6
        }
    }

    public func encode(_ message: MediaStreamMessage, into target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        guard facesChannel else {
            guard let text = event(for: message), text.count <= target.count else { return nil }
            return target.update(fromContentsOf: text)
        }
        guard hasStarted else { return nil }
        return switch message {
        case .start: write("ANSWER", target)
        case .clear: write("FLUSH_MEDIA", target)
        case .stop: write("HANGUP", target)
        case .mark(let name) where role == .application: write(mark: name, target)
        case .connected, .media, .dtmf, .mark: nil
        }
    }

    private func write(_ command: StaticString, _ target: UnsafeMutableBufferPointer<UInt8>) -> Int {
        guard isJSON else { return WireText.write(command, target, 0) }
        let at = WireText.write(command, target, WireText.write(#"{"command":""#, target, 0))
        return WireText.write(#""}"#, target, at)
    }

    /// - Returns: nil for a name that a command has no room for, or that does not come back as it was.
    private func write(mark name: String, _ target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        let (head, tail): (StaticString, StaticString) =
            isJSON ? (#"{"command":"MARK_MEDIA","correlation_id":""#, #""}"#) : ("MARK_MEDIA ", "")
        let length = head.utf8CodeUnitCount + name.utf8.count + tail.utf8CodeUnitCount
        guard length <= Self.commandLimit, !name.isEmpty, name.first != " ", name.last != " ", WireText.isPlain(name)
        else { return nil }
        return WireText.write(tail, target, WireText.write(name.utf8, target, WireText.write(head, target, 0)))
    }

    public func capacity(forSound byteCount: Int) -> Int { byteCount }

    public func encode(
        sound: UnsafeBufferPointer<UInt8>, timestampMs: UInt32, into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        guard hasStarted else { return -1 }
        return target.update(fromContentsOf: sound)
    }

    public func encode(_ word: DialectWord) -> [UInt8]? {
        switch word {
        case .refused where facesChannel: command("HANGUP")
        case .refused: text("ERROR", [("error_text", "Unable to parse command")], namesChannel: true)
        case .pause where hasStarted && !facesChannel: text("MEDIA_XOFF")
        case .resume where hasStarted && !facesChannel: text("MEDIA_XON")
        case .keepAlive, .pause, .resume: nil
        }
    }

    private func command(_ name: String) -> [UInt8] {
        Array((isJSON ? "{\"command\":\"\(name)\"}" : name).utf8)
    }
}
