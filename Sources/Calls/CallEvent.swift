public import Foundation

/// Something that happened, as the event WebSocket tells it (SPEC §1.6).
public struct CallEvent: Sendable, Equatable {
    /// Grows by one an event; 0 until stored.
    public var id: Int64
    /// `outbound_queued`, `outbound_transcript`, …
    public var name: String
    public var at: Date
    public var outboundID: String
    /// The payload's members as a JSON object.
    public var payload: String

    public init(id: Int64 = 0, name: String, at: Date, outboundID: String, payload: String) {
        self.id = id
        self.name = name
        self.at = at
        self.outboundID = outboundID
        self.payload = payload
    }

    /// An event of a call, named by its direction: `outbound_ringing`, `inbound_ringing`.
    init(kind: String, at: Date, outboundID: String, payload: String) {
        self.init(name: (Call.isInbound(outboundID) ? "inbound_" : "outbound_") + kind, at: at, outboundID: outboundID, payload: payload)
    }

    /// RFC 3339 with milliseconds.
    static func time(_ date: Date) -> String { date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }

    /// Builds a payload from values `JSONEncoder` takes.
    static func payload(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}
