internal import Foundation
internal import Net

/// The outline of a JSON message with an "event", found without a decoder: what a message of sound needs, and the name
/// of any other. Its values point into the message.
struct EventMessage {
    /// Bytes of a stream's id that is kept; a longer one is refused.
    static let idLimit = 256

    /// A message of sound.
    struct Media {
        /// Base64, as it stands in its JSON string.
        var payload: UnsafeBufferPointer<UInt8>
        var hasEscapes: Bool
        /// Milliseconds of its first sample: since the stream began, or since 1970.
        var timestamp: Int?
        var timestampMs: UInt32? { timestamp.flatMap { UInt32(exactly: $0) } }
        /// The number of the message among those of sound.
        var chunk: Int?
        /// It is what the far end of the call hears.
        var isOutbound: Bool
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    /// Its "event".
    let event: UnsafeBufferPointer<UInt8>
    private let id: JSONMembers.Value?
    private let mediaValue: JSONMembers.Value?
    private let markValue: JSONMembers.Value?

    /// - Parameters:
    ///   - key: of the stream's id.
    ///   - other: another spelling of that key.
    init(
        _ bytes: UnsafeBufferPointer<UInt8>, id key: StaticString, or other: StaticString? = nil
    ) throws(MediaStreamError) {
        var event: JSONMembers.Value?
        var id: JSONMembers.Value?
        var media: JSONMembers.Value?
        var mark: JSONMembers.Value?
        let isObject = JSONMembers.forEach(in: bytes) { name, value in
            if JSONMembers.equals(name, "event") { event = value }
            if JSONMembers.equals(name, key) { id = value }
            if let other, JSONMembers.equals(name, other) { id = value }
            if JSONMembers.equals(name, "media") { media = value }
            if JSONMembers.equals(name, "mark") { mark = value }
        }
        guard isObject, let event, event.kind == .string else {
            throw MediaStreamError("the message is no JSON object with an \"event\"")
        }
        self.bytes = bytes
        self.event = UnsafeBufferPointer(rebasing: bytes[event.range])
        self.id = id
        mediaValue = media
        markValue = mark
    }

    func isEvent(_ name: StaticString) -> Bool { JSONMembers.equals(event, name) }

    /// It names this stream, or none.
    func isOf(_ stream: [UInt8]) -> Bool {
        guard let id, id.kind == .string else { return true }
        guard id.range.count == stream.count, let base = bytes.baseAddress else { return false }
        return stream.withUnsafeBufferPointer { ours in
            ours.baseAddress.map { memcmp($0, base + id.range.lowerBound, ours.count) == 0 } ?? true
        }
    }

    /// The object "media".
    func mediaObject() throws(MediaStreamError) -> UnsafeBufferPointer<UInt8> {
        guard let mediaValue, mediaValue.kind == .object else { throw MediaStreamError("media is missing") }
        return UnsafeBufferPointer(rebasing: bytes[mediaValue.range])
    }

    func media() throws(MediaStreamError) -> Media {
        let media = try mediaObject()
        var payload: JSONMembers.Value?
        var timestamp: Int?
        var chunk: Int?
        var isOutbound = false
        _ = JSONMembers.forEach(in: media) { key, value in
            if JSONMembers.equals(key, "payload") { payload = value }
            if JSONMembers.equals(key, "track") { isOutbound = media[value.range].starts(with: "outbound".utf8) }
            if JSONMembers.equals(key, "chunk") { chunk = WireJSON.number(value, in: media) }
            if JSONMembers.equals(key, "timestamp") { timestamp = WireJSON.number(value, in: media) }
        }
        guard let payload, payload.kind == .string else { throw MediaStreamError("media.payload is missing") }
        return Media(
            payload: UnsafeBufferPointer(rebasing: media[payload.range]), hasEscapes: payload.hasEscapes,
            timestamp: timestamp, chunk: chunk, isOutbound: isOutbound)
    }

    func mark() throws(MediaStreamError) -> String {
        var name: String?
        if let markValue {
            let mark = UnsafeBufferPointer(rebasing: bytes[markValue.range])
            _ = JSONMembers.forEach(in: mark) { key, value in
                if JSONMembers.equals(key, "name") { name = JSONMembers.text(value, in: mark) }
            }
        }
        guard let name else { throw MediaStreamError("mark.name is missing") }
        return name
    }
}

/// A value that carriers write as a string or as a number.
struct LenientText: Decodable {
    /// nil: it is null, an object or a list.
    var text: String?

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let string = try? value.decode(String.self) {
            text = string
        } else if let flag = try? value.decode(Bool.self) {
            text = String(flag)
        } else if let number = try? value.decode(Int64.self) {
            text = String(number)
        } else if let number = try? value.decode(Double.self) {
            text = String(number)
        }
    }

    var number: Int? { text.flatMap { Int($0) } }
}
