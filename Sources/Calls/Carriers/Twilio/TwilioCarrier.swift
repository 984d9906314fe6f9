public import Bridge
internal import Realtime

/// Twilio: how to reach it, and how it reaches us.
public struct TwilioCarrier: Carrier {
    public static let name = "twilio"
    public static let title = "Twilio"
    public static var dialect: String { TwilioDialect.traits.name }
    public static func owns(callID: String) -> Bool { TwilioREST.isSID(callID) }

    public var signature: TwilioSignature
    /// Our address as Twilio sees it, without a slash at the end.
    public var publicURL: String
    /// nil: Twilio is asked for nothing.
    public var rest: TwilioREST?
    /// Ask Twilio who answered; a machine's call is ended.
    public var detectsMachines: Bool
    /// Calls are turn-based, for trunks without streams.
    public var isTurnBased: Bool
    /// Where its media streams go.
    public var streamURL: String

    /// - Parameter streamURL: nil: `publicURL` and the dialect's path.
    public init(
        signature: TwilioSignature, publicURL: String, rest: TwilioREST? = nil, detectsMachines: Bool = true,
        isTurnBased: Bool = false, streamURL: String? = nil
    ) {
        self.signature = signature
        self.publicURL = publicURL
        self.rest = rest
        self.detectsMachines = detectsMachines
        self.isTurnBased = isTurnBased
        self.streamURL = streamURL ?? Self.webSocket(publicURL) + TwilioDialect.traits.paths[0]
    }

    private static func webSocket(_ url: String) -> String {
        url.hasPrefix("https://")
            ? "wss://" + url.dropFirst(8) : url.hasPrefix("http://") ? "ws://" + url.dropFirst(7) : url
    }

    public func isSigned(path: String, query: [(name: String, value: String)], headers: [String: String]) -> Bool {
        guard let given = headers[TwilioSignature.header] else { return false }
        return signature.isValid(given, url: publicURL + path)
    }

    public var api: (any CarrierAPI)? {
        rest.map { TwilioAPI(rest: $0, publicURL: publicURL, detectsMachines: detectsMachines) }
    }
}

/// Calls by Twilio's REST API, reported to `/twilio/status` and asked about at `/twilio/voice`.
struct TwilioAPI: CarrierAPI {
    let rest: TwilioREST
    let publicURL: String
    let detectsMachines: Bool

    /// Webhook of one call; Twilio's signature covers the query.
    private func webhook(_ path: String, of callID: String) -> String {
        "\(publicURL)/twilio/\(path)?call=\(callID)"
    }

    func place(_ placement: CarrierPlacement) async throws(CarrierFailure) -> String {
        let status = webhook("status", of: placement.callID)
        let call = TwilioREST.Placement(
            to: placement.to, from: placement.from, url: webhook("voice", of: placement.callID), statusCallback: status,
            machineCallback: detectsMachines ? status : nil, ringSeconds: placement.ringSeconds,
            timeLimit: placement.timeLimit)
        return try await ask { try await rest.place(call) }.sid
    }

    func report(of callID: String) async throws(CarrierFailure) -> CarrierReport {
        CarrierReport(twilioCall: callID, status: try await ask { try await rest.call(callID) }.status)
    }

    func cancel(_ callID: String) async throws(CarrierFailure) { _ = try await ask { try await rest.cancel(callID) } }

    func hangUp(_ callID: String) async throws(CarrierFailure) { _ = try await ask { try await rest.complete(callID) } }

    func transfer(_ callID: String, _ transfer: CarrierTransfer) async throws(CarrierFailure) {
        let twiML = TwiML.dial(
            transfer.target, callerID: transfer.callerID, ringSeconds: transfer.ringSeconds,
            next: "\(publicURL)/twilio/transferred?language=\(transfer.language)")
        _ = try await ask { try await rest.redirect(callID, to: twiML) }
    }

    private func ask(
        _ question: () async throws -> TwilioREST.CallResource
    ) async throws(CarrierFailure) -> TwilioREST.CallResource {
        do { return try await question() } catch {
            guard let failure = error as? TwilioREST.Failure else { throw CarrierFailure("\(error)") }
            throw CarrierFailure(failure.message, code: failure.code, status: failure.status)
        }
    }
}

extension CarrierReport {
    /// What Twilio tells of a call (twilio.com/docs/voice/api/call-resource#statuscallback).
    ///
    /// - Parameters:
    ///   - status: `queued`, `initiated`, `ringing`, `in-progress`, `completed`, `busy`, `no-answer`, `canceled` or
    ///     `failed`.
    ///   - answeredBy: `human`, `machine_start`, `machine_end_beep` …, `fax` or `unknown`.
    public init(twilioCall sid: String, status: String?, sipCode: Int? = nil, answeredBy: String? = nil) {
        let state: State? =
            switch status {
            case "ringing": .ringing
            case "in-progress": .answered
            case "completed": .completed
            case "busy": .busy
            case "no-answer": .noAnswer
            case "canceled": .cancelled
            case "failed": .failed
            default: nil
            }
        let whom: AnsweredBy? =
            switch answeredBy {
            case "human": .human
            case let told? where told.hasPrefix("machine") || told == "fax": .voicemail
            default: nil
            }
        self.init(callID: sid, state: state, sipCode: sipCode, answeredBy: whom)
    }
}
