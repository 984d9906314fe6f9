public import Foundation
public import Net

/// Vonage's Voice API (developer.vonage.com/en/api/voice), as far as we use it.
public struct VonageREST: Sendable {
    public struct Configuration: Sendable {
        public var applicationID: String
        public var key: VonageKey
        /// Of the region, without a slash at the end.
        public var url = Self.vendorURL
        public static let vendorURL = "https://api.nexmo.com"
        public init(applicationID: String, key: VonageKey) {
            self.applicationID = applicationID
            self.key = key
        }
    }

    /// How Vonage finds out who answered.
    public enum MachineDetection: Sendable, Equatable {
        case standard
        /// Quicker and surer, and costs extra.
        case advanced
    }

    /// A call to be placed.
    public struct Placement: Sendable {
        /// E.164, or a `sip:` address.
        public var to: String
        /// E.164.
        public var from: String
        /// Asked for an NCCO at the answer.
        public var answerURL: String
        public var eventURL: String
        /// nil: no machine detection.
        public var machineDetection: MachineDetection?
        /// Seconds of ringing.
        public var ringSeconds: Int
        /// Seconds from the answer after which Vonage hangs up, should we not.
        public var timeLimit: Int
        public init(
            to: String, from: String, answerURL: String, eventURL: String, machineDetection: MachineDetection?,
            ringSeconds: Int, timeLimit: Int
        ) {
            self.to = to
            self.from = from
            self.answerURL = answerURL
            self.eventURL = eventURL
            self.machineDetection = machineDetection
            self.ringSeconds = ringSeconds
            self.timeLimit = timeLimit
        }
    }

    private static let ringSeconds = 1...120
    private static let timeLimit = 1...86_400

    private let configuration: Configuration
    private let rest: CarrierREST
    private let now: @Sendable () -> Date

    public init(_ configuration: Configuration, client: HTTPClient, now: @escaping @Sendable () -> Date = { Date() }) {
        self.configuration = configuration
        self.now = now
        rest = CarrierREST(title: "Vonage", client: client) { answer in
            (nil, (answer["detail"] ?? answer["title"] ?? answer["error_title"]) as? String)
        }
    }

    /// - Returns: the call's id.
    public func place(_ call: Placement) async throws(RESTFailure) -> String {
        let reply = try await rest.send(placing(call))
        guard let id = CarrierREST.object(reply)?["uuid"] as? String, CarrierREST.isUUID(id) else {
            throw rest.unreadable(reply)
        }
        return id
    }

    func placing(_ call: Placement) -> HTTPClientRequest {
        var fields: [String: Any] = [
            "to": [VonageNCCO.endpoint(call.to)], "from": VonageNCCO.endpoint(call.from),
            "answer_url": [call.answerURL], "answer_method": "POST", "event_url": [call.eventURL],
            "event_method": "POST", "ringing_timer": CarrierREST.within(Self.ringSeconds, call.ringSeconds),
            "length_timer": CarrierREST.within(Self.timeLimit, call.timeLimit),
        ]
        switch call.machineDetection {
        case .standard: fields["machine_detection"] = "continue"
        case .advanced: fields["advanced_machine_detection"] = ["behavior": "continue", "mode": "detect"]
        case nil: break
        }
        return request("POST", "", fields)
    }

    /// Ends a call, answered or not.
    public func hangUp(_ id: String) async throws(RESTFailure) {
        _ = try await rest.send(request("PUT", "/" + id, ["action": "hangup"]))
    }

    /// Takes a call in progress away from what it is doing, to this NCCO.
    public func transfer(_ id: String, to ncco: VonageNCCO) async throws(RESTFailure) {
        _ = try await rest.send(transferring(id, to: ncco))
    }

    func transferring(_ id: String, to ncco: VonageNCCO) -> HTTPClientRequest {
        let destination: [String: Any] = ["type": "ncco", "ncco": ncco.actions]
        return request("PUT", "/" + id, ["action": "transfer", "destination": destination])
    }

    /// - Returns: the call's status, as an event has it.
    public func status(of id: String) async throws(RESTFailure) -> String? {
        CarrierREST.object(try await rest.send(request("GET", "/" + id)))?["status"] as? String
    }

    private func request(_ method: String, _ path: String, _ fields: [String: Any]? = nil) -> HTTPClientRequest {
        let url = configuration.url + "/v1/calls" + path
        var request = fields.map { CarrierREST.json(method, url, $0) } ?? HTTPClientRequest(method, url)
        let token = configuration.key.token(applicationID: configuration.applicationID, at: now())
        request.headers.append(("authorization", "Bearer " + token))
        return request
    }

    /// A UUID, so that it may stand in a path.
    public static func isCallID(_ text: String) -> Bool { CarrierREST.isUUID(text) }
}
