public import Bridge
internal import Net
internal import Realtime

/// Plivo: how to reach it, and how it reaches us.
public struct PlivoCarrier: Carrier {
    public static let name = "plivo"
    public static let title = "Plivo"
    public static var dialect: String { PlivoDialect.traits.name }
    public static func owns(callID: String) -> Bool { PlivoREST.isCallID(callID) }

    public var signature: PlivoSignature
    /// Our address as Plivo sees it, without a slash at the end.
    public var publicURL: String
    /// nil: Plivo is asked for nothing.
    public var rest: PlivoREST?
    /// Ask Plivo who answered; a machine's call is ended.
    public var detectsMachines: Bool
    /// Where its media streams go, and what they have.
    public var streamURL: String
    public var streamFormat: WireFormat

    /// - Parameter streamURL: nil: `publicURL` and the dialect's path.
    public init(
        signature: PlivoSignature, publicURL: String, rest: PlivoREST? = nil, detectsMachines: Bool = true,
        streamURL: String? = nil, streamFormat: WireFormat = .muLaw8k
    ) {
        self.signature = signature
        self.publicURL = publicURL
        self.rest = rest
        self.detectsMachines = detectsMachines
        self.streamURL = streamURL ?? Self.streamURL(at: publicURL)
        self.streamFormat = streamFormat
    }

    /// An upgrade is signed with its `wss:` URL; behind a proxy that writes it anew, with `https:`.
    public func isSigned(path: String, query: [(name: String, value: String)], headers: [String: String]) -> Bool {
        let spelt = streamURL.hasSuffix(path) ? streamURL : publicURL + path
        return Set([spelt, publicURL + path]).contains {
            signature.isValid("GET", url: $0, query: query, headers: headers)
        }
    }

    public var api: (any CarrierAPI)? {
        rest.map { PlivoAPI(rest: $0, publicURL: publicURL, detectsMachines: detectsMachines) }
    }
}

/// Calls by Plivo's REST API, reported to `/plivo/status` and asked about at `/plivo/answer`.
struct PlivoAPI: CarrierAPI {
    let rest: PlivoREST
    let publicURL: String
    let detectsMachines: Bool

    /// Webhook of one call; Plivo's signature covers the query.
    private func webhook(_ path: String, _ query: [(name: String, value: String)]) -> String {
        "\(publicURL)/plivo/\(path)?" + HTTPForm.encode(query)
    }

    func place(_ placement: CarrierPlacement) async throws(CarrierFailure) -> String {
        let query = [(name: "call", value: placement.callID)]
        let status = webhook("status", query)
        let call = PlivoREST.Placement(
            to: placement.to, from: placement.from, answerURL: webhook("answer", query), statusURL: status,
            machineURL: detectsMachines ? status : nil, ringSeconds: placement.ringSeconds,
            timeLimit: max(placement.timeLimit, PlivoCarrier.handedOverLimit))
        return try await CarrierFailure.translated { try await rest.place(call) }
    }

    func report(of callID: String) async throws(CarrierFailure) -> CarrierReport {
        let call = try await CarrierFailure.translated { try await rest.call(callID) }
        return CarrierReport(plivoCall: callID, status: call.status, hangupCode: call.hangupCode)
    }

    func cancel(_ callID: String) async throws(CarrierFailure) { try await hangUp(callID) }

    func hangUp(_ callID: String) async throws(CarrierFailure) {
        try await CarrierFailure.translated { try await rest.hangUp(callID) }
    }

    /// Plivo fetches the XML of a transfer: whom to call stands in the URL, which its signature covers.
    func transfer(_ callID: String, _ transfer: CarrierTransfer) async throws(CarrierFailure) {
        var query = [(name: "to", value: transfer.target), (name: "ring", value: String(transfer.ringSeconds))]
        if let callerID = transfer.callerID { query.append((name: "from", value: callerID)) }
        query.append((name: "language", value: transfer.language))
        let url = webhook("transfer", query)
        try await CarrierFailure.translated { try await rest.transfer(callID, to: url) }
    }
}

extension CarrierReport {
    /// What Plivo tells of a call (plivo.com/docs/voice/xml/request).
    ///
    /// - Parameters:
    ///   - requestID: of the placing; nil for a call that came in.
    ///   - status: `ringing`, `in-progress`, `completed`, `busy`, `no-answer`, `timeout`, `cancel` or `failed`.
    ///   - hangupCode: 1000 cancelled, 2… no such destination, 3010 busy line, 3020 rejected, 4… ended as calls do, 5…
    ///     and more failed (plivo.com/docs/voice/troubleshooting/hangup-causes). 3000, no answer, is as others' code
    ///     has it.
    ///   - isMachine: `Machine` of machine detection.
    public init(
        plivoCall id: String, requestID: String? = nil, status: String?, hangupCode: Int? = nil,
        isMachine: Bool? = nil
    ) {
        let state: State? =
            switch (status, hangupCode) {
            case ("ringing", _): .ringing
            case ("in-progress", _): .answered
            case (nil, nil): nil
            case (_, 1_000): .cancelled
            case (_, 3_000): .noAnswer
            case (_, 3_010): .busy
            case (_, 3_020): .failed
            case ("completed", _): .completed
            case ("busy", _): .busy
            case ("no-answer", _), ("timeout", _): .noAnswer
            case ("cancel", _), ("canceled", _), ("cancelled", _): .cancelled
            case ("failed", _): .failed
            case (nil, let code?): (4_000..<5_000).contains(code) ? .completed : .failed
            default: nil
            }
        self.init(
            callID: id, placementID: requestID, state: state,
            // Rejected: as SIP has it (RFC 3261 §21.6.2).
            sipCode: hangupCode == 3_020 ? 603 : nil, answeredBy: isMachine.map { $0 ? .voicemail : .human })
    }
}
