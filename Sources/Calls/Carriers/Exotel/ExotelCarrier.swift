public import Bridge
internal import Net

/// Exotel: how to reach it, and how it reaches us.
public struct ExotelCarrier: Carrier {
    public static let name = "exotel"
    public static let title = "Exotel"
    public static var dialect: String { ExotelDialect.traits.name }
    public static func owns(callID: String) -> Bool { ExotelREST.isCallID(callID) }

    /// Stands in the URLs that Exotel is given: it signs nothing.
    public var webhookToken: String
    /// Our address as Exotel sees it, without a slash at the end.
    public var publicURL: String
    /// nil: Exotel is asked for nothing.
    public var rest: ExotelREST?
    /// Where its media streams go, and their hertz.
    public var streamURL: String
    public var sampleRate: Int32

    /// - Parameter streamURL: nil: `publicURL` and the dialect's path.
    public init(
        webhookToken: String, publicURL: String, rest: ExotelREST? = nil, streamURL: String? = nil,
        sampleRate: Int32 = 8_000
    ) {
        self.webhookToken = webhookToken
        self.publicURL = publicURL
        self.rest = rest
        self.streamURL = streamURL ?? Self.streamURL(at: publicURL)
        self.sampleRate = sampleRate
    }

    public var api: (any CarrierAPI)? {
        rest.map { ExotelAPI(rest: $0, publicURL: publicURL, webhookToken: webhookToken) }
    }

    /// The URL of one call's stream. Of an URL Exotel takes three parameters with 256 characters at most.
    ///
    /// - Parameter token: lets that call in.
    public func streamURL(token: String) -> String {
        streamURL + "?" + HTTPForm.encode([("token", token), ("sample-rate", String(sampleRate))])
    }
}

/// Calls by Exotel's API, reported to `/exotel/status`; the flow that they are taken to asks at `/exotel/stream`.
struct ExotelAPI: CarrierAPI {
    let rest: ExotelREST
    let publicURL: String
    let webhookToken: String

    var canTransfer: Bool { false }

    func place(_ placement: CarrierPlacement) async throws(CarrierFailure) -> String {
        let query = HTTPForm.encode([("token", webhookToken), ("call", placement.callID)])
        let call = ExotelREST.Placement(
            to: placement.to, from: placement.from, customField: placement.callID,
            statusURL: "\(publicURL)/exotel/status?" + query, ringSeconds: placement.ringSeconds,
            timeLimit: placement.timeLimit)
        return try await CarrierFailure.translated { try await rest.place(call) }
    }

    func report(of callID: String) async throws(CarrierFailure) -> CarrierReport {
        let status = try await CarrierFailure.translated { try await rest.status(of: callID) }
        return CarrierReport(exotelCall: callID, status: status)
    }

    /// A call that rings goes on ringing. If it is answered, its stream is refused, and the call ends.
    func cancel(_ callID: String) async throws(CarrierFailure) { throw Self.missing("give up a call") }

    /// Nothing is to be asked for: the call ends with its stream.
    func hangUp(_ callID: String) async throws(CarrierFailure) {}

    func transfer(_ callID: String, _ transfer: CarrierTransfer) async throws(CarrierFailure) {
        throw Self.missing("transfer a call")
    }

    private static func missing(_ what: String) -> CarrierFailure { CarrierFailure("Exotel's API cannot \(what)") }
}

extension CarrierReport {
    /// What Exotel tells of a call (developer.exotel.com/api/statuscallback).
    ///
    /// - Parameters:
    ///   - status: `queued`, `ringing`, `in-progress`, `completed`, `failed`, `busy`, `no-answer` or `canceled`.
    ///   - event: `answered` or `terminal`.
    public init(exotelCall sid: String, status: String?, event: String? = nil) {
        self.init(callID: sid, status: status)
        if state == nil, event == "answered" { state = .answered }
    }
}
