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
