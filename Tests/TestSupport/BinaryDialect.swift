public import Bridge
public import Net

/// Binary sound and plain-text words: 24 kHz, or what the carrier's first word says, in messages of exactly 20 ms; no
/// marks; the carrier may hold us back; pings of its own; it wants to be told that it was let in, and asked to end.
public final class BinaryDialect: MediaStreamDialect {
    public static func sound(_ rate: Int32) -> WireTerms {
        let format = WireFormat(.linear16(.little), sampleRate: rate)
        return WireTerms(incoming: format, outgoing: format, chunks: .exactly(format.bytes(ofMs: 20)))
    }
    public static let traits: DialectTraits = {
        var traits = DialectTraits(
            name: "binary", paths: ["/media/binary"], accepts: [.text, .binary], soundKind: .binary,
            formats: [sound(24_000).incoming])
        traits.marks = .none
        traits.keepAlive = .word(everyMs: 5_000)
        traits.ending = .asking(limitMs: 1_000)
        return traits
    }()

    public let terms = BinaryDialect.sound(24_000)
    private let role: MediaStreamRole

    public init(_ options: DialectOptions) { role = options.role }

    public func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        if kind == .binary { return try inbox.sound(bytes) }
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
        switch words.first {
        case "START":
            guard words.count == 3, let rate = Int32(words[2]) else {
                throw MediaStreamError("START has no rate", refusal: .format)
            }
            try inbox.agree(Self.sound(rate))
            inbox.say(.start(StreamStart(streamID: String(words[1]), callID: String(words[1]))))
        case "KEY": if let digit = words.last?.first { inbox.say(.dtmf(digit)) }
        case "XOFF": inbox.pause(true)
        case "XON": inbox.pause(false)
        case "PING": inbox.reply(Array("PONG".utf8))
        case "FLUSH": inbox.say(.clear)
        case "HANGUP": inbox.say(.stop)
        default: break
        }
    }

    public func capacity(for message: MediaStreamMessage) -> Int { 512 }

    public func encode(_ message: MediaStreamMessage, into target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        let text: String
        switch (role, message) {
        case (.carrier, .start(let start)): text = "START \(start.streamID) 24000"
        case (.application, .start): text = "ACCEPTED"
        case (_, .dtmf(let digit)): text = "KEY \(digit)"
        case (.application, .clear): text = "FLUSH"
        case (_, .stop): text = "HANGUP"
        default: return nil
        }
        return target.update(fromContentsOf: text.utf8)
    }

    public func capacity(forSound byteCount: Int) -> Int { byteCount }

    public func encode(
        sound: UnsafeBufferPointer<UInt8>, timestampMs: UInt32, into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int { target.update(fromContentsOf: sound) }

    public func encode(_ word: DialectWord) -> [UInt8]? {
        switch word {
        case .keepAlive: Array("PING".utf8)
        case .pause: Array("XOFF".utf8)
        case .resume: Array("XON".utf8)
        case .refused(let reason): Array("ERROR \(reason)".utf8)
        }
    }
}
