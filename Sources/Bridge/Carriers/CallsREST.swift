public import Net

/// The API for calls that several carriers share: forms in, JSON out, the version `2010-04-01` in its paths.
public struct CallsREST: Sendable {
    public struct Configuration: Sendable {
        /// The carrier, for messages.
        public var title: String
        /// What is before the version, without a slash at the end.
        public var url: String
        /// Whose calls they are.
        public var account: String
        public var user: String
        public var password: String
        /// Whether an id is of the form of the carrier's calls, so that it may stand in a path.
        public var isCallID: @Sendable (String) -> Bool
    }

    /// A call to be placed.
    public struct Placement: Sendable {
        /// E.164.
        public var to: String
        public var from: String
        /// Asked for markup at the answer.
        public var url: String
        public var statusCallback: String
        /// Told who answered, while the call goes on; nil: no machine detection.
        public var machineCallback: String?
        /// Seconds of ringing, at most 600.
        public var ringSeconds: Int
        /// Seconds from the answer after which the carrier hangs up, should we not; nil: it cannot be told.
        public var timeLimit: Int?
        public init(
            to: String, from: String, url: String, statusCallback: String, machineCallback: String?, ringSeconds: Int,
            timeLimit: Int?
        ) {
            self.to = to
            self.from = from
            self.url = url
            self.statusCallback = statusCallback
            self.machineCallback = machineCallback
            self.ringSeconds = ringSeconds
            self.timeLimit = timeLimit
        }
    }

    /// Where a call of the carrier's stands.
    public struct CallResource: Sendable, Equatable {
        public var sid: String
        /// `queued`, `ringing`, `in-progress`, `completed`, `busy`, `no-answer`, `canceled` or `failed`.
        public var status: String
    }

    private static let ringSeconds = 1...600

    let configuration: Configuration
    let rest: CarrierREST

    public init(_ configuration: Configuration, client: HTTPClient) {
        self.configuration = configuration
        rest = CarrierREST(title: configuration.title, client: client) { answer in
            (answer["code"] as? Int, answer["message"] as? String)
        }
    }

    public func place(_ call: Placement) async throws(RESTFailure) -> CallResource {
        var fields = [
            ("To", call.to), ("From", call.from), ("Url", call.url), ("Method", "POST"),
            ("Timeout", String(CarrierREST.within(Self.ringSeconds, call.ringSeconds))),
            ("StatusCallback", call.statusCallback),
            ("StatusCallbackMethod", "POST"),
        ]
        if let timeLimit = call.timeLimit { fields.append(("TimeLimit", String(timeLimit))) }
        fields += ["initiated", "ringing", "answered", "completed"].map { ("StatusCallbackEvent", $0) }
        if let machineCallback = call.machineCallback {
            fields += [
                ("MachineDetection", "Enable"), ("AsyncAmd", "true"), ("AsyncAmdStatusCallback", machineCallback),
                ("AsyncAmdStatusCallbackMethod", "POST"),
            ]
        }
        return try await ask(.form(url("Calls.json"), fields))
    }

    /// Ends a call that is not answered yet; an answered one goes on.
    public func cancel(_ sid: String) async throws(RESTFailure) -> CallResource {
        try await set(sid, [("Status", "canceled")])
    }

    /// Ends a call, whatever its state.
    public func complete(_ sid: String) async throws(RESTFailure) -> CallResource {
        try await set(sid, [("Status", "completed")])
    }

    /// Changes a call in progress.
    public func set(_ sid: String, _ fields: [(String, String)]) async throws(RESTFailure) -> CallResource {
        var request = HTTPClientRequest.form(url("Calls/\(sid).json"), fields)
        request.isRepeatable = true
        return try await ask(request)
    }

    public func call(_ sid: String) async throws(RESTFailure) -> CallResource {
        try await ask(HTTPClientRequest("GET", url("Calls/\(sid).json")))
    }

    private func url(_ path: String) -> String {
        "\(configuration.url)/2010-04-01/Accounts/\(configuration.account)/\(path)"
    }

    /// A request with the account's key.
    func authenticated(_ request: HTTPClientRequest) -> HTTPClientRequest {
        var request = request
        request.authenticate(user: configuration.user, password: configuration.password)
        return request
    }

    private func ask(_ request: HTTPClientRequest) async throws(RESTFailure) -> CallResource {
        let reply = try await rest.send(authenticated(request))
        guard let answer = CarrierREST.object(reply), let sid = answer["sid"] as? String,
            let status = answer["status"] as? String, configuration.isCallID(sid)
        else { throw rest.unreadable(reply) }
        return CallResource(sid: sid, status: status)
    }
}
