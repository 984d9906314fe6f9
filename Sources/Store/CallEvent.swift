public import Foundation

/// Something that happened in a call.
public struct CallEvent: Sendable, Equatable {
    /// Grows by one an event; 0 until stored.
    public var id: Int64
    /// `outbound_queued`, `outbound_transcript`, …
    public var name: String
    public var at: Date
    public var callID: String
    /// Of the call.
    public var direction: CallDirection
    /// The payload's members as a JSON object.
    public var payload: String
    /// Of the call; set where it is stored.
    public internal(set) var company = CompanyID.default

    public init(
        id: Int64 = 0, name: String, at: Date, callID: String, direction: CallDirection, payload: String
    ) {
        self.id = id
        self.name = name
        self.at = at
        self.callID = callID
        self.direction = direction
        self.payload = payload
    }

    /// RFC 3339 with milliseconds.
    public static func time(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
