internal import Foundation
public import Net

/// Telnyx media streaming, both ends (developers.telnyx.com/api-reference/websockets/stream-call-media-over-websocket).
///
/// What comes is in the call's own codec (`start.media_format`), what is sent in the one that the stream was asked for
/// (`stream_bidirectional_codec`, PCMU where nothing was said), of which `start` says nothing. So they may differ: a
/// European call sends PCMA and plays PCMU. See `outgoing`. As carrier there is one format for both.
///
/// Sound may come out of order: `ChunkWindow`. The order of L16's bytes is documented nowhere; the least significant
/// first is what working servers send, RFC 3551 wants the other: `ByteOrderVotes` and `DialectOptions.byteOrder`.
public final class TelnyxDialect: MediaStreamDialect {
    /// `stream_bidirectional_sampling_rate`, hertz.
    static let sampleRates: [Int32] = [8_000, 16_000, 22_050, 24_000, 48_000]
    /// Milliseconds of the smallest and the largest message of sound that Telnyx takes.
    static let smallestMs = 20
    static let largestMs = 30_000
    /// `stream_auth_token`, in the upgrade and in `connected`.
    static let tokenName = "x-telnyx-streaming-auth-token"
    /// Characters of a token.
    static let tokenLimit = 4_000
    static let codecName = "stream_bidirectional_codec"
    static let rateName = "stream_bidirectional_sampling_rate"
    /// The account, where we are the carrier and there is none.
    private static let userID = "00000000-0000-0000-0000-000000000000"

    public static let traits: DialectTraits = {
        let linear = sampleRates.map { WireFormat(.linear16(.little), sampleRate: $0) }
        var traits = DialectTraits(
            name: "telnyx", paths: ["/media/telnyx"], accepts: [.text], soundKind: .text,
            formats: [.muLaw8k, .aLaw8k] + linear)
        traits.leavesByteOrderOpen = true
        traits.tokens = [.header(tokenName), .parameter(tokenName), .parameter("token"), .query("token")]
        return traits
    }()

    public let terms: WireTerms
    public var track = MediaTrack.inbound
    private let role: MediaStreamRole
    private let query: [(name: String, value: String)]
    private let byteOrder: WireFormat.ByteOrder?
    private let format: WireFormat
    private var streamID: [UInt8] = []
    private var callID = ""
    private var token: String?
    private var hasStarted = false
    private var sequence = 0
    private var chunk = 0
    private var prepared = PreparedMessages()

    private var window = ChunkWindow()
    private var isLinearIn: Bool
    private var isLinearOut: Bool
    /// nil: the order of the bytes is settled.
    private var votes: ByteOrderVotes?
    /// The order is the other one than that in the terms.
    private var isOtherOrder = false

    public init(_ options: DialectOptions) {
        role = options.role
        query = options.handshake?.query ?? []
        byteOrder = options.byteOrder
        format = options.role == .carrier ? options.format ?? .muLaw8k : .muLaw8k
        terms = Self.terms(format, format, options.role)
        isLinearIn = format.isLinear
        isLinearOut = format.isLinear
        begin(streamID: WireText.plainID(options.streamID))
    }

    private func begin(streamID id: String) {
        streamID = Array(id.utf8)
        // As carrier the id is plain.
        prepared = PreparedMessages(
            sound: role == .application
                ? #"{"event":"media","media":{"payload":""#
                : #"{"event":"media","stream_id":"\#(id)","sequence_number":""#,
            mark: (#"{"event":"mark","mark":{"name":""#, #""}}"#), clear: #"{"event":"clear"}"#)
    }

    private static func terms(_ incoming: WireFormat, _ outgoing: WireFormat, _ role: MediaStreamRole) -> WireTerms {
        let least = outgoing.bytes(ofMs: smallestMs)
        let chunks: ChunkRule
        switch role {
        // Frames of our own have 20 ms and pass as they are. A tenth of a second: there is little left to save.
        case .application where outgoing.law != nil: chunks = .any(frames: 5)
        case .application:
            chunks = ChunkRule(
                minimum: least, maximum: outgoing.bytes(ofMs: largestMs), multiple: outgoing.stride, frames: 5)
        case .carrier: chunks = outgoing.law != nil ? .any(frames: 1) : .exactly(least)
        }
        return WireTerms(
            incoming: incoming, outgoing: outgoing, chunks: chunks, longestMs: role == .carrier ? largestMs : 1_000)
    }

    // MARK: Decoding

    public func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        let message = try EventMessage(bytes, id: "stream_id")
        if message.isEvent("media") { return try take(message, into: inbox) }
        if message.isEvent("mark") { return inbox.say(.mark(try message.mark())) }
        try other(bytes, into: inbox)
    }

    private func take(_ message: EventMessage, into inbox: DialectInbox) throws(MediaStreamError) {
        guard role == .carrier || hasStarted else { throw MediaStreamError("media came before start") }
        guard message.isOf(streamID) else { throw MediaStreamError("stream_id is another stream's") }
        let media = try message.media()
        if media.isOutbound {  // our own voice, where both tracks were asked for
            window.mayHold = false
            return
        }
        switch window.place(media.chunk) {
        case .late: return
        case .early:
            try open(media, inbox) { (sound) throws(MediaStreamError) in
                window.hold(sound, chunk: media.chunk, timestampMs: media.timestampMs)
            }
        case .now where isLinearIn:
            try open(media, inbox) { (sound) throws(MediaStreamError) in
                try inbox.sound(sound, timestampMs: media.timestampMs)
            }
        case .now:
            try inbox.sound(base64: media.payload, hasEscapes: media.hasEscapes, timestampMs: media.timestampMs)
        }
        while let held = window.due() { try release(held, into: inbox) }
    }

    private func release(_ held: ChunkWindow.Held, into inbox: DialectInbox) throws(MediaStreamError) {
        var failure: MediaStreamError?
        held.sound.withUnsafeBufferPointer { sound in
            do throws(MediaStreamError) { try inbox.sound(sound, timestampMs: held.timestampMs) } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    /// The bytes of a message's sound, in the order of the terms.
    private func open(
        _ media: EventMessage.Media, _ inbox: DialectInbox,
        _ body: (UnsafeBufferPointer<UInt8>) throws(MediaStreamError) -> Void
    ) throws(MediaStreamError) {
        try inbox.withSound(base64: media.payload, hasEscapes: media.hasEscapes) { (sound) throws(MediaStreamError) in
            if isLinearIn {
                // A message is a packet's: samples are not cut, and the next may be another's.
                guard sound.count % 2 == 0 else { throw MediaStreamError("media.payload has half a sample") }
                votes?.hear(UnsafeBufferPointer(sound))
                if let votes {
                    isOtherOrder = votes.isOther
                    if votes.isSettled { self.votes = nil }
                }
                if isOtherOrder { Self.swap(sound) }
            }
            try body(UnsafeBufferPointer(sound))
        }
    }

    private static func swap(_ sound: UnsafeMutableBufferPointer<UInt8>) {
        for index in stride(from: 0, to: sound.count - 1, by: 2) { sound.swapAt(index, index + 1) }
    }

    private struct Wire: Decodable {
        struct Start: Decodable {
            var callControlID: String?
            var from: LenientText?
            var to: LenientText?
            var parameters: [String: LenientText]?
            var format: Format?
            enum CodingKeys: String, CodingKey {
                case callControlID = "call_control_id"
                case from, to
                case parameters = "custom_parameters"
                case format = "media_format"
            }
        }
        struct Format: Decodable {
            var encoding: String
            var rate: LenientText?
            var channels: LenientText?
            enum CodingKeys: String, CodingKey {
                case encoding, channels
                case rate = "sample_rate"
            }
        }
        struct DTMF: Decodable { var digit: String }
        struct Failure: Decodable { var code: LenientText? }
        var event: String
        var streamID: String?
        var connected: [String: LenientText]?
        var start: Start?
        var dtmf: DTMF?
        var payload: Failure?
        enum CodingKeys: String, CodingKey {
            case event, connected, start, dtmf, payload
            case streamID = "stream_id"
        }
    }

    private func other(_ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox) throws(MediaStreamError) {
        let wire = try WireJSON.decode(Wire.self, bytes)
        switch wire.event {
        case "connected":
            if let text = wire.connected?[Self.tokenName]?.text, text.count <= Self.tokenLimit { token = text }
            inbox.say(.connected)
        case "start" where role == .application: inbox.say(.start(try begin(wire, inbox)))
        case "dtmf":
            guard let digit = wire.dtmf?.digit.first, TelephoneEvent.digits.contains(digit) else {
                throw MediaStreamError("dtmf.digit is missing or no digit")
            }
            inbox.say(.dtmf(digit))
        case "clear" where role == .carrier: inbox.say(.clear)
        case "error":
            let code = wire.payload?.code?.number.map { " \($0)" } ?? ""
            throw MediaStreamError("the far end reports an error" + code)
        case "stop":
            for held in window.end() { try release(held, into: inbox) }
            inbox.say(.stop)
        default: break  // a later version's
        }
    }

    private func begin(_ wire: Wire, _ inbox: DialectInbox) throws(MediaStreamError) -> StreamStart {
        guard !hasStarted else { throw MediaStreamError("a second start") }
        guard let id = wire.streamID, id.utf8.count <= EventMessage.idLimit else {
            throw MediaStreamError("stream_id is missing or too long")
        }
        var parameters: [String: String] = [:]
        if let from = wire.start?.from?.text { parameters["from"] = from }
        if let to = wire.start?.to?.text { parameters["to"] = to }
        if let token { parameters[Self.tokenName] = token }
        for (name, value) in wire.start?.parameters ?? [:] { parameters[name] = value.text }
        let format = wire.start?.format
        let incoming = try read(
            format?.encoding ?? "PCMU", rate: format?.rate?.number ?? 8_000,
            channels: format?.channels?.number ?? 1, "start.media_format")
        let terms = Self.terms(incoming, try outgoing(incoming, parameters), role)
        try inbox.agree(terms)
        hasStarted = true
        isLinearIn = terms.incoming.isLinear
        isLinearOut = terms.outgoing.isLinear
        if isLinearIn, byteOrder == nil { votes = ByteOrderVotes(incoming) }
        begin(streamID: id)
        return StreamStart(streamID: id, callID: wire.start?.callControlID ?? "", parameters: parameters)
    }

    /// What the stream was asked for, as its URL or its own parameters say; else L16 where L16 comes, for no call has
    /// that by itself, and PCMU, Telnyx's own default.
    private func outgoing(
        _ incoming: WireFormat, _ parameters: [String: String]
    ) throws(MediaStreamError) -> WireFormat {
        func said(_ name: String) -> String? { query.first { $0.name == name }?.value ?? parameters[name] }
        guard let codec = said(Self.codecName) else {
            return incoming.isLinear ? WireFormat(incoming.encoding, sampleRate: incoming.sampleRate) : .muLaw8k
        }
        let rate = said(Self.rateName).map { Int($0) ?? 0 } ?? 8_000
        return try read(codec, rate: rate, channels: 1, Self.codecName)
    }

    private func read(
        _ codec: String, rate: Int, channels: Int, _ place: String
    ) throws(MediaStreamError) -> WireFormat {
        let encoding: WireFormat.Encoding
        switch codec.uppercased() {
        case "PCMU": encoding = .muLaw
        case "PCMA": encoding = .aLaw
        case "L16": encoding = .linear16(byteOrder ?? .little)
        // G722, OPUS, AMR-WB
        default: throw MediaStreamError("\(place) is not PCMU, PCMA or L16", refusal: .format)
        }
        guard let rate = Int32(exactly: rate), (8_000...48_000).contains(rate), (1...2).contains(channels) else {
            throw MediaStreamError("\(place) has a rate or channels that are not spoken", refusal: .format)
        }
        return WireFormat(encoding, sampleRate: rate, channels: channels)
    }

    // MARK: Encoding

    public func capacity(for message: MediaStreamMessage) -> Int {
        switch message {
        case .start(let start):
            start.parameters.reduce(2_048 + start.callID.utf8.count * 6) {
                // "from" and "to" are said twice.
                $0 + ($1.key.utf8.count + $1.value.utf8.count * 2) * 6 + 8
            }
        case .mark(let name): 512 + name.utf8.count * 6
        case .stop: 512 + callID.utf8.count * 6
        case .media, .connected, .dtmf, .clear: 512
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
        if isLinearOut, isOtherOrder {
            at = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: sound.count) { swapped in
                _ = swapped.update(fromContentsOf: sound)
                Self.swap(swapped)
                return Base64.encode(UnsafeBufferPointer(swapped).span, into: target, at: at)
            }
        } else {
            at = Base64.encode(sound.span, into: target, at: at)
        }
        return WireText.write(#""}}"#, target, at)
    }

    private func object(for message: MediaStreamMessage) -> [String: Any]? {
        guard role == .carrier else {
            guard case .mark(let name) = message else { return nil }
            return ["event": "mark", "mark": ["name": name]]
        }
        switch message {
        case .media, .clear: return nil
        case .connected: return ["event": "connected", "version": "1.0.0"]
        case .start(let start):
            begin(streamID: WireText.plainID(start.streamID))
            callID = start.callID
            var parameters = start.parameters
            // Without it an application that hears PCMA answers in PCMU.
            if format == .aLaw8k { parameters[Self.codecName] = "PCMA" }
            let body: [String: Any] = [
                "user_id": Self.userID, "call_control_id": callID, "call_session_id": callID,
                "from": start.parameters["from"] ?? "", "to": start.parameters["to"] ?? "", "tags": [String](),
                "client_state": "", "custom_parameters": parameters,
                "media_format": [
                    "encoding": format.isLinear ? "L16" : format.encoding == .aLaw ? "PCMA" : "PCMU",
                    "sample_rate": Int(format.sampleRate), "channels": format.channels,
                ] as [String: Any],
            ]
            return numbered("start", ["start": body])
        case .dtmf(let digit): return numbered("dtmf", ["dtmf": ["digit": String(digit)]])
        case .mark(let name): return numbered("mark", ["mark": ["name": name]])
        case .stop: return numbered("stop", ["stop": ["user_id": Self.userID, "call_control_id": callID]])
        }
    }

    private func numbered(_ event: String, _ body: [String: Any]) -> [String: Any] {
        sequence &+= 1
        var object = body
        object["event"] = event
        object["sequence_number"] = String(sequence)
        object["stream_id"] = String(decoding: streamID, as: UTF8.self)
        return object
    }

    /// As carrier: Telnyx reports what it cannot take; an application has no word for that and closes.
    public func encode(_ word: DialectWord) -> [UInt8]? {
        guard role == .carrier, case .refused(let reason) = word else { return nil }
        let (code, title) =
            switch reason {
            case .malformed: (100_003, "malformed_frame")
            case .format: (100_004, "invalid_media")
            case .unauthorized: (100_002, "unknown_error")
            }
        let id = String(decoding: streamID, as: UTF8.self)  // plain: it is ours
        return Array(
            #"{"event":"error","payload":{"code":\#(code),"detail":"","title":"\#(title)"},"stream_id":"\#(id)"}"#.utf8)
    }
}
