internal import Foundation
public import Net

/// Exotel's Voice API v1, as far as we use it (developer.exotel.com/docs/agentstream/connect-voice-ai-flow,
/// developer.exotel.com/api/call-details).
///
/// It places calls and tells how they stand. It has no request that ends a call or takes it elsewhere: a call ends, or
/// goes on to the next applet of its flow, when our stream closes.
public struct ExotelREST: Sendable {
    public struct Configuration: Sendable, Equatable {
        public var accountSID: String
        public var key: String
        public var token: String
        /// Number of the flow (App Bazaar) that a call is taken to: its Voicebot applet asks us for the stream.
        public var appID: String
        /// Of the region, without a slash at the end.
        public var url = Self.vendorURL
        public static let vendorURL = "https://api.exotel.com"
        public init(accountSID: String, key: String, token: String, appID: String) {
            self.accountSID = accountSID
            self.key = key
            self.token = token
            self.appID = appID
        }
    }

    /// A call to be placed.
    public struct Placement: Sendable {
        /// E.164.
        public var to: String
        /// An ExoPhone of the account's.
        public var from: String
        /// Told to the applets of the flow, and back to us.
        public var customField: String
        public var statusURL: String
        /// Seconds of ringing.
        public var ringSeconds: Int
        /// Seconds from the answer after which Exotel hangs up, should we not.
        public var timeLimit: Int
        public init(
            to: String, from: String, customField: String, statusURL: String, ringSeconds: Int, timeLimit: Int
        ) {
            self.to = to
            self.from = from
            self.customField = customField
            self.statusURL = statusURL
            self.ringSeconds = ringSeconds
            self.timeLimit = timeLimit
        }
    }

    private static let ringSeconds = 1...600
    private static let timeLimit = 1...14_400
    /// Letters and digits of a call's id; most have 32.
    private static let idLengths = 20...64

    private let configuration: Configuration
    private let rest: CarrierREST

    public init(_ configuration: Configuration, client: HTTPClient) {
        self.configuration = configuration
        rest = CarrierREST(title: "Exotel", client: client) { answer in
            (nil, (answer["RestException"] as? [String: Any])?["Message"] as? String)
        }
    }

    /// - Returns: the call's id.
    public func place(_ call: Placement) async throws(RESTFailure) -> String {
        let reply = try await rest.send(placing(call))
        guard let id = Self.call(in: reply)?["Sid"] as? String, Self.isCallID(id) else {
            throw rest.unreadable(reply)
        }
        return id
    }

    func placing(_ call: Placement) -> HTTPClientRequest {
        let flow = "http://my.exotel.com/\(configuration.accountSID)/exoml/start_voice/\(configuration.appID)"
        var request = HTTPClientRequest.form(
            url("connect.json"),
            [
                ("From", call.to), ("CallerId", call.from), ("Url", flow), ("CallType", "trans"),
                ("TimeOut", String(CarrierREST.within(Self.ringSeconds, call.ringSeconds))),
                ("TimeLimit", String(CarrierREST.within(Self.timeLimit, call.timeLimit))),
                ("CustomField", call.customField), ("StatusCallback", call.statusURL),
                ("StatusCallbackContentType", "application/json"), ("StatusCallbackEvents[0]", "answered"),
                ("StatusCallbackEvents[1]", "terminal"),
            ])
        authenticate(&request)
        return request
    }

    /// - Returns: the call's status: `queued`, `ringing`, `in-progress`, `completed`, `failed`, `busy` or `no-answer`.
    public func status(of id: String) async throws(RESTFailure) -> String? {
        var request = HTTPClientRequest("GET", url(id + ".json"))
        authenticate(&request)
        return Self.call(in: try await rest.send(request))?["Status"] as? String
    }

    private static func call(in reply: HTTPClientReply) -> [String: Any]? {
        CarrierREST.object(reply)?["Call"] as? [String: Any]
    }

    private func url(_ path: String) -> String {
        "\(configuration.url)/v1/Accounts/\(configuration.accountSID)/Calls/\(path)"
    }

    private func authenticate(_ request: inout HTTPClientRequest) {
        request.authenticate(user: configuration.key, password: configuration.token)
    }

    /// Letters and digits, so that it may stand in a path.
    public static func isCallID(_ text: String) -> Bool {
        idLengths.contains(text.utf8.count) && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
    }
}
