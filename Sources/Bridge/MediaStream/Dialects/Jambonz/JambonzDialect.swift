public import Net

/// The verb `listen`, also called `stream`, of jambonz (docs.jambonz.org/verbs/verbs/listen; its other end is
/// mod_audio_fork of jambonz/freeswitch-modules), both ends, with `bidirectionalAudio.streaming`.
///
/// The first message is a text: the call's attributes, `sampleRate`, `mixType` and the members of the verb's
/// `metadata`, all beside each other. From then on sound is binary, linear 16-bit PCM, the low byte first. What comes
/// is mono or, of a bridge, mixed or stereo with the caller first; what is sent is mono.
///
/// The rate of what is sent (`bidirectionalAudio.sampleRate`) is not told: it is taken to be `sampleRate`, unless the
/// metadata repeats the verb's object `bidirectionalAudio`.
public final class JambonzDialect: MediaStreamDialect {
    /// Hertz, best first: 8 000 is the verb's default and what a trunk has; marks get lost where jambonz resamples.
    static let sampleRates: [Int32] = [8_000, 16_000, 24_000, 48_000, 64_000]
    /// Milliseconds of sound in a message of jambonz.
    static let messageMs = 20
    /// Milliseconds of sound that jambonz waits for before it plays: what is shorter, an utterance's end, would wait
    /// for the next one. (320 samples of 8 kHz, twice: `streamingPreBufSize`.)
    static let playoutMs = 80
    /// Milliseconds of sound in a message after a stall: the largest MOD_AUDIO_FORK_BUFFER_SECS.
    static let burstLimitMs = 5_000
    /// Marks that wait to be played: jambonz keeps no more.
    static let markLimit = 30
    /// Bytes of the name of a mark.
    static let nameLimit = 256
    /// Bytes of the call's id: of a SIP leg it is the far end's Call-ID.
    static let idLimit = 1_024

    public static let traits: DialectTraits = {
        var traits = DialectTraits(
            name: "jambonz", paths: ["/media/jambonz"], accepts: [.text, .binary], soundKind: .binary,
            formats: sampleRates.map { WireFormat(.linear16(.little), sampleRate: $0) })
        traits.subprotocols = ["audio.jambonz.org", "audio.drachtio.org"]
        // `disconnect`: jambonz closes the socket and goes on with the next verb.
        traits.ending = .asking(limitMs: 2_000)
        // The verb's wsAuth, its metadata, its URL.
        traits.tokens = [.basic, .parameter("token"), .query("token")]
        // Two seconds, the default MOD_AUDIO_FORK_BUFFER_SECS, of stereo at 64 kHz.
        traits.largestMessage = 512 << 10
        return traits
    }()

    public let terms: WireTerms
    private let role: MediaStreamRole
    private var hasStarted = false

    /// As carrier: a mark that was asked for, and what becomes of it.
    private struct Mark {
        enum Fate { case waits, isCleared, wasTold }
        var name: String
        var fate = Fate.waits
    }
    private var marks: [Mark] = []

    public init(_ options: DialectOptions) {
        role = options.role
        let formats = Self.traits.formats
        let format = formats.first { $0 == options.format } ?? formats[0]
        terms = Self.terms(role, incoming: format, outgoing: format)
    }

    private static func terms(
        _ role: MediaStreamRole, incoming: WireFormat, outgoing: WireFormat
    ) -> WireTerms {
        let chunks: ChunkRule
        switch role {
        case .carrier: chunks = .exactly(outgoing.bytes(ofMs: messageMs))
        case .application:
            let least = outgoing.bytes(ofMs: playoutMs)
            chunks = ChunkRule(minimum: least, multiple: least, frames: playoutMs / messageMs)
        }
        return WireTerms(incoming: incoming, outgoing: outgoing, chunks: chunks, longestMs: burstLimitMs)
    }

    // MARK: Decoding

    /// Of a text message, what is looked at.
    private struct Members {
        var callSid: JSONMembers.Value?
        var sampleRate: JSONMembers.Value?
        var mixType: JSONMembers.Value?
        var back: JSONMembers.Value?
        var event: JSONMembers.Value?
        var dtmf: JSONMembers.Value?
        var type: JSONMembers.Value?
        var data: JSONMembers.Value?
        var name: JSONMembers.Value?

        mutating func note(_ key: UnsafeBufferPointer<UInt8>, _ value: JSONMembers.Value) {
            if JSONMembers.equals(key, "callSid") { callSid = value }
            if JSONMembers.equals(key, "sampleRate") { sampleRate = value }
            if JSONMembers.equals(key, "mixType") { mixType = value }
            if JSONMembers.equals(key, "bidirectionalAudio") { back = value }
            if JSONMembers.equals(key, "event") { event = value }
            if JSONMembers.equals(key, "dtmf") { dtmf = value }
            if JSONMembers.equals(key, "type") { type = value }
            if JSONMembers.equals(key, "data") { data = value }
            if JSONMembers.equals(key, "name") { name = value }
        }
    }

    public func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        guard kind == .text else { return try sound(bytes, into: inbox) }
        var members = Members()
        guard JSONMembers.forEach(in: bytes, { members.note($0, $1) }) else {
            throw MediaStreamError("the message is no JSON object")
        }
        switch role {
        case .application: try event(members, bytes, into: inbox)
        case .carrier: try command(members, bytes, into: inbox)
        }
    }

    /// Samples may be cut between messages, as jambonz takes them too.
    private func sound(_ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox) throws(MediaStreamError) {
        guard role == .carrier || hasStarted else { throw MediaStreamError("sound came before the call's attributes") }
        try inbox.sound(bytes)
    }

    private func event(
        _ members: Members, _ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        // Metadata may have members of any name; no other message tells the call.
        if members.callSid != nil { return try start(members, bytes, into: inbox) }
        guard hasStarted else { throw MediaStreamError("a message came before the call's attributes") }
        if Self.equals(members.event, "dtmf", in: bytes) {
            inbox.say(.dtmf(try WireJSON.digit(members.dtmf.flatMap { WireJSON.text($0, in: bytes) })))
        }
        if Self.equals(members.type, "mark", in: bytes) { inbox.say(.mark(try name(members, bytes))) }
        // Else playDone, or a later version's.
    }

    private func start(
        _ members: Members, _ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        guard !hasStarted else { throw MediaStreamError("the call's attributes came a second time") }
        guard let callSid = members.callSid, let id = JSONMembers.text(callSid, in: bytes),
            id.utf8.count <= Self.idLimit
        else { throw MediaStreamError("callSid is no text, or too long") }
        guard let rate = Self.rate(members.sampleRate.flatMap { WireJSON.text($0, in: bytes) }) else {
            throw MediaStreamError("sampleRate is none of 8000, 16000, 24000, 48000 and 64000", refusal: .format)
        }
        let channels: Int
        switch members.mixType.flatMap({ WireJSON.text($0, in: bytes) }) {
        case nil, "mono", "mixed": channels = 1
        case "stereo": channels = 2
        default: throw MediaStreamError("mixType is none of mono, stereo and mixed", refusal: .format)
        }
        let back = WireJSON.text(of: "sampleRate", members.back, in: bytes)
        guard let backRate = back == nil ? rate : Self.rate(back) else {
            throw MediaStreamError("bidirectionalAudio.sampleRate is no rate of jambonz", refusal: .format)
        }
        let parameters = try WireJSON.parameters(in: bytes, without: ["callSid", "sampleRate", "mixType"])
        try inbox.agree(
            Self.terms(
                role, incoming: WireFormat(.linear16(.little), sampleRate: rate, channels: channels),
                outgoing: WireFormat(.linear16(.little), sampleRate: backRate)))
        hasStarted = true
        inbox.say(.start(StreamStart(streamID: id, callID: id, parameters: parameters)))
    }

    private static func rate(_ text: String?) -> Int32? {
        text.flatMap { Int32($0) }.flatMap { sampleRates.contains($0) ? $0 : nil }
    }

    private func command(
        _ members: Members, _ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        guard let type = members.type, type.kind == .string else { throw MediaStreamError("type is missing") }
        if Self.equals(type, "mark", in: bytes) {
            let name = try name(members, bytes)
            if marks.count == Self.markLimit { marks.removeFirst() }
            marks.append(Mark(name: name))
            inbox.say(.mark(name))
        } else if Self.equals(type, "clearMarks", in: bytes) {
            for index in marks.indices where marks[index].fate != .wasTold {
                inbox.reply(Self.text(ofMark: marks[index].name, isCleared: true))
                marks[index].fate = .wasTold
            }
        } else if Self.equals(type, "killAudio", in: bytes) {
            for index in marks.indices where marks[index].fate == .waits { marks[index].fate = .isCleared }
            inbox.say(.clear)
        } else if Self.equals(type, "disconnect", in: bytes) {
            inbox.say(.stop)
        } else if Self.equals(type, "error", in: bytes) {
            inbox.fail()
        } else if Self.equals(type, "transfer", in: bytes) {
            // The members of its data are the application's own: mod_audio_fork passes them on as they are.
            guard let target = WireJSON.text(of: "to", members.data, in: bytes), target.utf8.count <= Self.nameLimit
            else { throw MediaStreamError("data.to is missing or too long") }
            inbox.transfer(to: target)
        }
        // Else playAudio, which jambonz does not play where sound is streamed, or what is not for it: transcription,
        // json.
    }

    private static func equals(
        _ value: JSONMembers.Value?, _ word: StaticString, in bytes: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        guard let value, value.kind == .string else { return false }
        return JSONMembers.equals(UnsafeBufferPointer(rebasing: bytes[value.range]), word)
    }

    /// Of a mark. jambonz's Python SDK (0.4) puts the name where the type is.
    private func name(_ members: Members, _ bytes: UnsafeBufferPointer<UInt8>) throws(MediaStreamError) -> String {
        let bare = role == .carrier && members.data == nil ? members.name : nil
        let name = WireJSON.text(of: "name", members.data, in: bytes) ?? bare.flatMap { WireJSON.text($0, in: bytes) }
        guard let name, name.utf8.count <= Self.nameLimit else {
            throw MediaStreamError("data.name is missing or too long")
        }
        return name
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
            object["callSid"] = start.callID
            object["sampleRate"] = Int(terms.outgoing.sampleRate)
            object["mixType"] = "mono"
            return WireJSON.write(object, target)
        case (.carrier, .dtmf(let digit)):
            // 200 ms of the 8 000 Hz that RTP counts in: a carrier's leg does not tell how long a key was held.
            let at = WireText.write(#"{"event":"dtmf","dtmf":""#, target, 0)
            return WireText.write(#"","duration":"1600"}"#, target, WireText.write(String(digit).utf8, target, at))
        case (.carrier, .mark(let name)): return give(back: name, target)
        case (.application, .mark(let name)):
            guard WireText.isPlain(name) else {
                return WireJSON.write(["type": "mark", "data": ["name": name]], target)
            }
            let at = WireText.write(#"{"type":"mark","data":{"name":""#, target, 0)
            return WireText.write(#""}}"#, target, WireText.write(name.utf8, target, at))
        case (.application, .clear): return WireText.write(#"{"type":"killAudio"}"#, target, 0)
        case (.application, .stop): return WireText.write(#"{"type":"disconnect"}"#, target, 0)
        case (_, .media), (_, .connected), (.carrier, .clear), (.carrier, .stop), (.application, .start),
            (.application, .dtmf):
            return nil
        }
    }

    /// A mark has been played, or was dropped by a `killAudio`; nil: `clearMarks` was its answer already.
    private func give(back name: String, _ target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        var fate = Mark.Fate.waits
        if let index = marks.firstIndex(where: { $0.name == name }) { fate = marks.remove(at: index).fate }
        guard fate != .wasTold else { return nil }
        let text = Self.text(ofMark: name, isCleared: fate == .isCleared)
        return text.count <= target.count ? target.update(fromContentsOf: text) : nil
    }

    private static func text(ofMark name: String, isCleared: Bool) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 128 + name.utf8.count * 6) { target, count in
            let data = ["event": isCleared ? "cleared" : "playout", "name": name]
            count = WireJSON.write(["type": "mark", "data": data], target) ?? 0
        }
    }

    public func encode(_ word: DialectWord) -> [UInt8]? {
        guard role == .application, case .refused(let reason) = word else { return nil }
        let text =
            switch reason {
            case .unauthorized: "not authorized"
            case .format: "sampleRate or mixType is not supported"
            case .malformed: "the messages are not understood"
            }
        return Array(#"{"type":"error","data":{"reason":"\#(text)"}}"#.utf8)
    }

    public func capacity(forSound byteCount: Int) -> Int { byteCount }

    public func encode(
        sound: UnsafeBufferPointer<UInt8>, timestampMs: UInt32, into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        guard role == .application else { return target.update(fromContentsOf: sound) }
        // jambonz puts a sample of -1 (AUDIO_MARKER) into its buffer for a mark, and takes ours for one.
        var index = 0
        while index + 1 < sound.count {
            let isMarker = sound[index] & sound[index + 1] == 0xFF
            target[index] = isMarker ? 0 : sound[index]
            target[index + 1] = isMarker ? 0 : sound[index + 1]
            index += 2
        }
        return index
    }
}
