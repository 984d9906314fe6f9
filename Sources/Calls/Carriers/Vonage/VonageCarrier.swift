public import Bridge
internal import Net
internal import Realtime

/// Vonage: how to reach it, and how it reaches us.
public struct VonageCarrier: Carrier {
    public static let name = "vonage"
    public static let title = "Vonage"
    public static var dialect: String { VonageDialect.traits.name }
    public static func owns(callID: String) -> Bool { VonageREST.isCallID(callID) }

    public var signature: VonageSignature
    /// Our address as Vonage sees it, without a slash at the end.
    public var publicURL: String
    /// nil: Vonage is asked for nothing.
    public var rest: VonageREST?
    /// Ends calls that a machine answers; nil: no machine detection.
    public var machineDetection: VonageREST.MachineDetection?
    /// Where its media streams go, and their hertz.
    public var streamURL: String
    public var sampleRate: Int32

    /// - Parameter streamURL: nil: `publicURL` and the dialect's path.
    public init(
        signature: VonageSignature, publicURL: String, rest: VonageREST? = nil,
        machineDetection: VonageREST.MachineDetection? = .standard, streamURL: String? = nil, sampleRate: Int32 = 16_000
    ) {
        self.signature = signature
        self.publicURL = publicURL
        self.rest = rest
        self.machineDetection = machineDetection
        self.streamURL = streamURL ?? Self.streamURL(at: publicURL)
        self.sampleRate = sampleRate
    }

    public var api: (any CarrierAPI)? {
        rest.map { VonageAPI(rest: $0, publicURL: publicURL, machineDetection: machineDetection) }
    }
}

/// Calls by Vonage's API, reported to `/vonage/event` and asked about at `/vonage/answer`.
struct VonageAPI: CarrierAPI {
    let rest: VonageREST
    let publicURL: String
    let machineDetection: VonageREST.MachineDetection?

    private func webhook(_ path: String, _ name: String, _ value: String) -> String {
        "\(publicURL)/vonage/\(path)?" + HTTPForm.encode([(name, value)])
    }

    func place(_ placement: CarrierPlacement) async throws(CarrierFailure) -> String {
        let call = VonageREST.Placement(
            to: placement.to, from: placement.from, answerURL: webhook("answer", "call", placement.callID),
            eventURL: webhook("event", "call", placement.callID), machineDetection: machineDetection,
            ringSeconds: placement.ringSeconds, timeLimit: max(placement.timeLimit, VonageCarrier.handedOverLimit))
        return try await CarrierFailure.translated { try await rest.place(call) }
    }

    func report(of callID: String) async throws(CarrierFailure) -> CarrierReport {
        let status = try await CarrierFailure.translated { try await rest.status(of: callID) }
        return CarrierReport(vonageCall: callID, status: status)
    }

    func cancel(_ callID: String) async throws(CarrierFailure) { try await hangUp(callID) }

    func hangUp(_ callID: String) async throws(CarrierFailure) {
        try await CarrierFailure.translated { try await rest.hangUp(callID) }
    }

    func transfer(_ callID: String, _ transfer: CarrierTransfer) async throws(CarrierFailure) {
        let ncco = VonageNCCO.dial(
            transfer.target, callerID: transfer.callerID, ringSeconds: transfer.ringSeconds,
            next: webhook("transferred", "language", transfer.language))
        try await CarrierFailure.translated { try await rest.transfer(callID, to: ncco) }
    }
}

extension CarrierReport {
    /// What Vonage tells of a call (developer.vonage.com/en/voice/voice-api/webhook-reference). It does not tell why a
    /// call has failed.
    ///
    /// - Parameter status: `started`, `ringing`, `answered`, `human`, `machine`, `completed`, `busy`, `timeout`,
    ///   `unanswered`, `cancelled`, `rejected`, `failed` or `disconnected` (a WebSocket's).
    public init(vonageCall uuid: String, status: String?) {
        let state: State? =
            switch status {
            case "ringing": .ringing
            case "answered", "human", "machine": .answered
            case "completed": .completed
            case "busy": .busy
            case "timeout", "unanswered": .noAnswer
            case "cancelled": .cancelled
            case "rejected", "failed": .failed
            default: nil
            }
        let whom: AnsweredBy? =
            switch status {
            case "human": .human
            case "machine": .voicemail
            default: nil
            }
        // Rejected by the destination, as Vonage's page on call statuses has it (the reference: by Vonage): RFC 3261
        // §21.6.2.
        self.init(callID: uuid, state: state, sipCode: status == "rejected" ? 603 : nil, answeredBy: whom)
    }
}
