public import Bridge
internal import Realtime

/// Telnyx: how to reach it, and how it reaches us. Calls that come in are of Call Control or of TeXML, as the number's
/// application is; those that we place are of Call Control.
public struct TelnyxCarrier: Carrier {
    public static let name = "telnyx"
    public static let title = "Telnyx"
    public static var dialect: String { TelnyxDialect.traits.name }
    public static func owns(callID: String) -> Bool { TelnyxREST.isCallID(callID) }
    /// A call of Call Control goes on without its stream.
    public static var endsWithStream: Bool { false }

    public var signature: TelnyxSignature
    /// Our address as Telnyx sees it, without a slash at the end.
    public var publicURL: String
    /// nil: Telnyx is asked for nothing, and only TeXML is taken.
    public var rest: TelnyxREST?
    /// Ask Telnyx who answered; a machine's call is ended.
    public var detectsMachines: Bool
    /// Its media streams.
    public var stream: TelnyxStream
    /// Of TeXML's calls: their markup goes on when the stream has ended.
    public let transfers = PendingTransfers()

    /// - Parameter streamURL: nil: `publicURL` and the dialect's path.
    public init(
        signature: TelnyxSignature, publicURL: String, rest: TelnyxREST? = nil, detectsMachines: Bool = true,
        format: TelnyxFormat = .muLaw8k, streamURL: String? = nil
    ) {
        self.signature = signature
        self.publicURL = publicURL
        self.rest = rest
        self.detectsMachines = detectsMachines
        stream = TelnyxStream(url: streamURL ?? Self.streamURL(at: publicURL), format: format)
    }

    public var api: (any CarrierAPI)? {
        rest.map {
            TelnyxAPI(
                rest: $0, webhook: publicURL + "/telnyx/voice", detectsMachines: detectsMachines, transfers: transfers)
        }
    }
}

/// Calls by Telnyx's Call Control, whose events come to `/telnyx/voice`.
struct TelnyxAPI: CarrierAPI {
    let rest: TelnyxREST
    let webhook: String
    let detectsMachines: Bool
    let transfers: PendingTransfers

    func place(_ placement: CarrierPlacement) async throws(CarrierFailure) -> String {
        let call = TelnyxREST.Placement(
            to: placement.to, from: placement.from, webhook: webhook, state: .placed(callID: placement.callID),
            detectsMachines: detectsMachines, ringSeconds: placement.ringSeconds, timeLimit: placement.timeLimit)
        return try await CarrierFailure.translated { try await rest.place(call) }
    }

    /// Telnyx does not tell how a call has ended.
    func report(of callID: String) async throws(CarrierFailure) -> CarrierReport {
        let isAlive = try await CarrierFailure.translated { try await rest.isAlive(callID) }
        return CarrierReport(callID: callID, state: isAlive ? nil : .noAnswer)
    }

    func cancel(_ callID: String) async throws(CarrierFailure) { try await hangUp(callID) }

    func hangUp(_ callID: String) async throws(CarrierFailure) {
        try await CarrierFailure.translated { try await rest.hangUp(callID) }
    }

    func transfer(_ callID: String, _ transfer: CarrierTransfer) async throws(CarrierFailure) {
        if transfers.set(transfer, of: callID) { return }
        let wanted = TelnyxREST.Transfer(
            to: transfer.target, from: transfer.callerID, webhook: webhook,
            state: .transfer(of: callID, language: transfer.language), ringSeconds: transfer.ringSeconds)
        try await CarrierFailure.translated { try await rest.transfer(callID, wanted) }
    }
}

extension CarrierReport {
    /// What an event of Call Control tells of a call.
    public init(telnyx event: TelnyxEvent) {
        let state: State? =
            switch event.kind {
            case .answered: .answered
            case .ended: Self.state(telnyxCause: event.hangupCause, sipCode: event.sipCode)
            case .begun, .recognised, .spoken, .streamFailed, .other: nil
            }
        let whom: AnsweredBy? =
            switch event.result {
            case "human", "human_residence", "human_business": .human
            case "machine", "fax_detected": .voicemail
            default: nil  // "silence", "not_sure"
            }
        // Telnyx's own words for what it did not hear a code of.
        let code = event.sipCode ?? ["call_rejected": 603, "not_found": 404][event.hangupCause ?? ""]
        self.init(
            callID: event.callID, state: state, sipCode: event.kind == .ended ? code : nil,
            answeredBy: event.kind == .recognised ? whom : nil)
    }

    /// developers.telnyx.com/docs/voice/programmable-voice/voice-api-webhooks, `hangup_cause` of `call.hangup`.
    private static func state(telnyxCause cause: String?, sipCode: Int?) -> State {
        switch cause {
        case "user_busy": .busy
        case "timeout", "no_answer": .noAnswer
        case "originator_cancel": .cancelled
        case "call_rejected", "not_found": .failed
        case "normal_clearing", "time_limit": .completed
        // "unspecified", and what a later version has.
        default: (sipCode ?? 200) >= 400 ? .failed : .completed
        }
    }
}
