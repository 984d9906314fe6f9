import Foundation
import Net
import Pipeline

@testable import Bridge

/// JSON with Base64: linear 16-bit PCM at 16 kHz, the high byte first, in messages of an odd length; a carrier that
/// forgets its marks when it clears.
final class BigEndianDialect: MediaStreamDialect {
    static let sound = WireFormat(.linear16(.big), sampleRate: 16_000)
    /// Bytes of a message of sound: 21.9 ms.
    static let chunk = 700
    static let traits: DialectTraits = {
        var traits = DialectTraits(
            name: "bigendian", paths: ["/media/bigendian"], accepts: [.text], soundKind: .text, formats: [sound])
        traits.marks = .echoed(afterClear: false)
        traits.tokens = [.header("x-token")]
        return traits
    }()

    let terms = WireTerms(
        incoming: BigEndianDialect.sound, outgoing: BigEndianDialect.sound, chunks: .exactly(BigEndianDialect.chunk))

    init(_ options: DialectOptions) {}

    private struct Wire: Codable {
        var type: String
        var id: String?
        var key: String?
        var name: String?
    }

    func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, into inbox: DialectInbox
    ) throws(MediaStreamError) {
        var audio: JSONMembers.Value?
        let isObject = JSONMembers.forEach(in: bytes) { key, value in
            if JSONMembers.equals(key, "audio") { audio = value }
        }
        guard isObject else { throw MediaStreamError("no JSON object") }
        if let audio {
            return try inbox.sound(
                base64: UnsafeBufferPointer(rebasing: bytes[audio.range]), hasEscapes: audio.hasEscapes)
        }
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(bytes)) else {
            throw MediaStreamError("not this protocol")
        }
        switch wire.type {
        case "hello": inbox.say(.start(StreamStart(streamID: wire.id ?? "", callID: wire.id ?? "")))
        case "key": if let key = wire.key?.first { inbox.say(.dtmf(key)) }
        case "mark": inbox.say(.mark(wire.name ?? ""))
        case "drop": inbox.say(.clear)
        case "bye": inbox.say(.stop)
        default: break
        }
    }

    func capacity(for message: MediaStreamMessage) -> Int { 512 }

    func encode(_ message: MediaStreamMessage, into target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        let wire: Wire
        switch message {
        case .start(let start): wire = Wire(type: "hello", id: start.streamID)
        case .dtmf(let digit): wire = Wire(type: "key", key: String(digit))
        case .mark(let name): wire = Wire(type: "mark", name: name)
        case .clear: wire = Wire(type: "drop")
        case .stop: wire = Wire(type: "bye")
        case .connected, .media: return nil
        }
        return (try? JSONEncoder().encode(wire))?.copyBytes(to: target)
    }

    func capacity(forSound byteCount: Int) -> Int { Base64.encodedLength(byteCount) + 16 }

    func encode(
        sound: UnsafeBufferPointer<UInt8>, timestampMs: UInt32, into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        let at = WireText.write(#"{"audio":""#, target, 0)
        return WireText.write(#""}"#, target, Base64.encode(sound.span, into: target, at: at))
    }
}

/// Binary sound and plain-text words: 24 kHz, or what the carrier's first word says, in messages of exactly 20 ms; no
/// marks; the carrier may hold us back; pings of its own; it wants to be told that it was let in, and asked to end.
final class BinaryDialect: MediaStreamDialect {
    static func sound(_ rate: Int32) -> WireTerms {
        let format = WireFormat(.linear16(.little), sampleRate: rate)
        return WireTerms(incoming: format, outgoing: format, chunks: .exactly(format.bytes(ofMs: 20)))
    }
    static let traits: DialectTraits = {
        var traits = DialectTraits(
            name: "binary", paths: ["/media/binary"], accepts: [.text, .binary], soundKind: .binary,
            formats: [sound(24_000).incoming])
        traits.marks = .none
        traits.keepAlive = .word(everyMs: 5_000)
        traits.ending = .asking(limitMs: 1_000)
        return traits
    }()

    let terms = BinaryDialect.sound(24_000)
    private let role: MediaStreamRole

    init(_ options: DialectOptions) { role = options.role }

    func decode(
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

    func capacity(for message: MediaStreamMessage) -> Int { 512 }

    func encode(_ message: MediaStreamMessage, into target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
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

    func capacity(forSound byteCount: Int) -> Int { byteCount }

    func encode(
        sound: UnsafeBufferPointer<UInt8>, timestampMs: UInt32, into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int { target.update(fromContentsOf: sound) }

    func encode(_ word: DialectWord) -> [UInt8]? {
        switch word {
        case .keepAlive: Array("PING".utf8)
        case .pause: Array("XOFF".utf8)
        case .resume: Array("XON".utf8)
        case .refused(let reason): Array("ERROR \(reason)".utf8)
        }
    }
}
