internal import Crypto
internal import Foundation
internal import Net

/// An entry of `media`: how sound is written.
struct GenesysMedia: Decodable {
    /// Best first: what passes as it is, then one channel before two.
    static let formats = [
        WireFormat(.muLaw), WireFormat(.linear16(.little)), WireFormat(.muLaw, channels: 2),
        WireFormat(.linear16(.little), channels: 2),
    ]
    static let nullID = "00000000-0000-0000-0000-000000000000"
    /// Stands for us where Genesys names the customer's organization.
    static let organizationID = uuid(of: "trunkline")
    /// Characters of an id: a UUID's.
    private static let idLength = 36
    static let samplesPerMs = 8
    /// Milliseconds of the longest pause or position that is told: a day.
    static let longestMs: UInt64 = 86_400_000

    private let type: String?
    private let encoding: String?
    private let channels: [String]?
    private let rate: Double?
    private enum CodingKeys: String, CodingKey { case type, encoding = "format", channels, rate }

    init(_ format: WireFormat) {
        type = "audio"
        encoding = format.encoding == .muLaw ? "PCMU" : "L16"
        channels = format.channels == 2 ? ["external", "internal"] : ["external"]
        rate = 8_000
    }

    /// nil: not sound that we take. The caller must be in it, and first.
    var format: WireFormat? {
        guard type == "audio", rate == 8_000, channels == ["external"] || channels == ["external", "internal"] else {
            return nil
        }
        return switch encoding {
        case "PCMU": WireFormat(.muLaw, channels: channels?.count ?? 1)
        case "L16": WireFormat(.linear16(.little), channels: channels?.count ?? 1)
        default: nil
        }
    }

    var object: [String: Any] {
        ["type": "audio", "format": encoding ?? "", "channels": channels ?? [], "rate": 8_000]
    }

    var text: String {
        let names = (channels ?? []).map { "\"\($0)\"" }.joined(separator: ",")
        return #"{"type":"audio","format":"\#(encoding ?? "")","channels":[\#(names)],"rate":8000}"#
    }

    /// A server sends a few large messages, a client each frame.
    static func terms(_ format: WireFormat, _ role: MediaStreamRole) -> WireTerms {
        let multiple = format.bytes(ofMs: 20)
        let longest = GenesysDialect.soundLimit / multiple
        let chunks: ChunkRule =
            role == .carrier
            ? .any(frames: 1)
            : ChunkRule(
                minimum: format.bytes(ofMs: GenesysDialect.packetMs), maximum: longest * multiple, multiple: multiple,
                frames: GenesysDialect.packetMs / 20)
        return WireTerms(incoming: format, outgoing: format, chunks: chunks, longestMs: longest * 20)
    }

    // MARK: Ids

    static func isID(_ text: String) -> Bool {
        text.utf8.count == idLength && UUID(uuidString: text) != nil
    }

    /// A UUID as it is; of any other text its own, version 5 (RFC 9562 §5.5, no name space).
    static func uuid(of text: String) -> String {
        if isID(text), let version = text.dropFirst(14).first, "12345".contains(version) { return text }
        var bytes = Array(Insecure.SHA1.hash(data: Data(text.utf8)).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x50
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
        let ends = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16]
        return ends.map { digits[$0].joined() }.joined(separator: "-")
    }

    // MARK: Durations

    /// ISO 8601, seconds alone: `PT1.23S`.
    static func duration(ofSamples samples: Int) -> String {
        let ms = max(0, samples) / samplesPerMs
        let digits = String(ms % 1_000 + 1_000).dropFirst()
        return "PT\(ms / 1_000).\(digits)S"
    }

    /// Milliseconds; nil: not `PT…S`, or longer than `longestMs`.
    static func milliseconds(of text: String) -> UInt32? {
        guard text.utf8.count <= 32, text.hasPrefix("PT"), text.hasSuffix("S") else { return nil }
        let number = text.dropFirst(2).dropLast()
        guard !number.isEmpty, number.utf8.allSatisfy({ (48...57).contains($0) || $0 == UInt8(ascii: ".") }),
            let seconds = Double(number), seconds * 1_000 <= Double(longestMs)
        else { return nil }
        return UInt32(seconds * 1_000)
    }
}

/// A value of custom data: what is not nested has a text.
struct GenesysValue: Decodable {
    let text: String?

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self.text = text
        } else if let flag = try? container.decode(Bool.self) {
            text = flag ? "true" : "false"
        } else if let whole = try? container.decode(Int.self) {
            text = String(whole)
        } else {
            text = (try? container.decode(Double.self)).map { String($0) }
        }
    }
}

/// What every text message has.
struct GenesysEnvelope {
    let type: UnsafeBufferPointer<UInt8>
    let id: UnsafeBufferPointer<UInt8>
    let sequence: Int
    /// Number of our last message that the far end had heard.
    let acknowledged: Int
    /// A JSON object.
    let parameters: UnsafeBufferPointer<UInt8>

    init(_ bytes: UnsafeBufferPointer<UInt8>, ownSequence: StaticString) throws(MediaStreamError) {
        var version: JSONMembers.Value?
        var type: JSONMembers.Value?
        var id: JSONMembers.Value?
        var sequence: JSONMembers.Value?
        var acknowledged: JSONMembers.Value?
        var parameters: JSONMembers.Value?
        let isObject = JSONMembers.forEach(in: bytes) { key, value in
            if JSONMembers.equals(key, "version") { version = value }
            if JSONMembers.equals(key, "type") { type = value }
            if JSONMembers.equals(key, "id") { id = value }
            if JSONMembers.equals(key, "seq") { sequence = value }
            if JSONMembers.equals(key, ownSequence) { acknowledged = value }
            if JSONMembers.equals(key, "parameters") { parameters = value }
        }
        guard isObject, let type, type.kind == .string, let id, id.kind == .string,
            let number = sequence.flatMap({ Self.number($0, bytes) }), let parameters, parameters.kind == .object
        else { throw MediaStreamError("the message is no JSON object with type, id, seq and parameters") }
        guard let version, version.kind == .string,
            JSONMembers.equals(UnsafeBufferPointer(rebasing: bytes[version.range]), "2")
        else { throw MediaStreamError("version is not 2", refusal: .malformed) }
        self.type = UnsafeBufferPointer(rebasing: bytes[type.range])
        self.id = UnsafeBufferPointer(rebasing: bytes[id.range])
        self.sequence = number
        self.acknowledged = acknowledged.flatMap { Self.number($0, bytes) } ?? 0
        self.parameters = UnsafeBufferPointer(rebasing: bytes[parameters.range])
    }

    private static func number(_ value: JSONMembers.Value, _ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        guard value.kind == .other, value.range.count <= 19 else { return nil }
        return Int(String(decoding: bytes[value.range], as: UTF8.self)).flatMap { $0 >= 0 ? $0 : nil }
    }

    func isType(_ name: StaticString) -> Bool { JSONMembers.equals(type, name) }

    private func parameter(_ name: StaticString) -> JSONMembers.Value? {
        var found: JSONMembers.Value?
        _ = JSONMembers.forEach(in: parameters) { key, value in if JSONMembers.equals(key, name) { found = value } }
        return found
    }

    func hasReason(_ name: StaticString) -> Bool {
        guard let reason = parameter("reason"), reason.kind == .string else { return false }
        return JSONMembers.equals(UnsafeBufferPointer(rebasing: parameters[reason.range]), name)
    }

    func digit() throws(MediaStreamError) -> Character {
        guard let text = parameter("digit").flatMap({ JSONMembers.text($0, in: parameters) }), text.count == 1,
            let digit = text.first, TelephoneEvent.digits.contains(digit)
        else { throw MediaStreamError("dtmf.digit is missing or no digit") }
        return digit
    }

    /// Of sound that was left out: where it ends, in milliseconds since the stream began.
    func end() throws(MediaStreamError) -> UInt32 {
        let (start, discarded) = (duration("start"), duration("discarded"))
        guard let start, let discarded else { throw MediaStreamError("start or discarded is no duration") }
        return start &+ discarded
    }

    private func duration(_ name: StaticString) -> UInt32? {
        parameter(name).flatMap { JSONMembers.text($0, in: parameters) }.flatMap { GenesysMedia.milliseconds(of: $0) }
    }

    /// Of an event.
    func hasEntity(_ type: StaticString) -> Bool {
        guard let entities = parameter("entities"), entities.kind == .array else { return false }
        let all = UnsafeBufferPointer(rebasing: parameters[entities.range])
        var isThere = false
        _ = JSONMembers.forEachElement(in: all) { value in
            guard value.kind == .object else { return }
            let entity = UnsafeBufferPointer(rebasing: all[value.range])
            _ = JSONMembers.forEach(in: entity) { key, value in
                if JSONMembers.equals(key, "type"), value.kind == .string,
                    JSONMembers.equals(UnsafeBufferPointer(rebasing: entity[value.range]), type)
                {
                    isThere = true
                }
            }
        }
        return isThere
    }
}
