internal import Foundation
public import Net

/// Twilio's REST API, as far as calls go (twilio.com/docs/voice/api/call-resource).
public struct TwilioREST: Sendable {
    public struct Configuration: Sendable, Equatable {
        public var accountSID: String
        /// The auth token; or an API key's secret, where `keySID` is that key.
        public var secret: String
        public var keySID: String?
        /// Without a slash at the end.
        public var url = Self.vendorURL
        public static let vendorURL = "https://api.twilio.com"
        public init(accountSID: String, secret: String, keySID: String? = nil) {
            self.accountSID = accountSID
            self.secret = secret
            self.keySID = keySID
        }
    }

    /// What Twilio says is wrong (twilio.com/docs/api/errors), or the network.
    public struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
        public var message: String
        /// Twilio's error code, e.g. 21211; nil where it told none.
        public var code: Int?
        public var status: Int?
        /// The call may have been placed all the same: the answer was lost.
        public var isUncertain = false
        public var description: String { message }
    }

    /// A call to be placed.
    public struct Placement: Sendable {
        /// E.164.
        public var to: String
        public var from: String
        /// Asked for TwiML at the answer.
        public var url: String
        public var statusCallback: String
        /// Told who answered, while the call goes on; nil: no machine detection.
        public var machineCallback: String?
        /// Seconds of ringing, at most 600.
        public var ringSeconds: Int
        /// Seconds from the answer after which Twilio hangs up, should we not.
        public var timeLimit: Int
        public init(
            to: String, from: String, url: String, statusCallback: String, machineCallback: String?, ringSeconds: Int,
            timeLimit: Int
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

    /// Where a call of Twilio's stands.
    public struct CallResource: Sendable, Equatable {
        public var sid: String
        /// `queued`, `ringing`, `in-progress`, `completed`, `busy`, `no-answer`, `canceled` or `failed`.
        public var status: String
    }

    private let configuration: Configuration
    private let client: HTTPClient

    public init(_ configuration: Configuration, client: HTTPClient) {
        self.configuration = configuration
        self.client = client
    }

    public func place(_ call: Placement) async throws -> CallResource {
        var fields = [
            ("To", call.to), ("From", call.from), ("Url", call.url), ("Method", "POST"),
            ("Timeout", String(min(600, max(1, call.ringSeconds)))),
            ("TimeLimit", String(call.timeLimit)), ("StatusCallback", call.statusCallback),
            ("StatusCallbackMethod", "POST"),
        ]
        fields += ["initiated", "ringing", "answered", "completed"].map { ("StatusCallbackEvent", $0) }
        if let machineCallback = call.machineCallback {
            fields += [
                ("MachineDetection", "Enable"), ("AsyncAmd", "true"), ("AsyncAmdStatusCallback", machineCallback),
                ("AsyncAmdStatusCallbackMethod", "POST"),
            ]
        }
        return try await ask(.form(url("Calls.json"), fields))
    }

    /// Ends a call that nobody has answered yet; one that was answered goes on.
    public func cancel(_ sid: String) async throws -> CallResource { try await set(sid, status: "canceled") }

    /// Ends a call, whatever its state.
    public func complete(_ sid: String) async throws -> CallResource { try await set(sid, status: "completed") }

    /// Seconds that a call may last which we have no part in any more; Twilio's own limit is 24 h.
    private static let handedOverLimit = 14_400

    /// Takes a call in progress away from what it is doing, to this TwiML. How long it may last is not ours to say any
    /// more.
    public func redirect(_ sid: String, to twiML: String) async throws -> CallResource {
        try await set(sid, [("Twiml", twiML), ("TimeLimit", String(Self.handedOverLimit))])
    }

    private func set(_ sid: String, status: String) async throws -> CallResource {
        try await set(sid, [("Status", status)])
    }

    private func set(_ sid: String, _ fields: [(String, String)]) async throws -> CallResource {
        var request = HTTPClientRequest.form(url("Calls/\(sid).json"), fields)
        request.isRepeatable = true
        return try await ask(request)
    }

    public func call(_ sid: String) async throws -> CallResource {
        try await ask(HTTPClientRequest("GET", url("Calls/\(sid).json")))
    }

    /// Downloads a recording as WAV (twilio.com/docs/voice/api/recording#fetch-a-recordings-media): 16 bit, 8 kHz,
    /// mono.
    ///
    /// - Parameter url: as told by Twilio. It must be the API's own address: our key is sent there.
    public func recording(_ url: String, limit: Int) async throws -> [UInt8] {
        guard url.hasPrefix(configuration.url + "/"), !url.contains("..") else {
            throw Failure(message: "the recording is not at \(configuration.url)")
        }
        // It may be told before it can be had.
        for wait in [0, 150, 300, 600, 1_200] {
            if wait > 0 { try await Task.sleep(for: .milliseconds(wait)) }
            var request = HTTPClientRequest("GET", url + ".wav")
            request.redirectLimit = 2
            let reply = try await reply(to: request, limit: limit)
            if reply.isSuccess { return reply.body }
            guard reply.status == 404 else { throw failure(reply) }
        }
        throw Failure(message: "the recording cannot be had", status: 404)
    }

    private func url(_ path: String) -> String {
        "\(configuration.url)/2010-04-01/Accounts/\(configuration.accountSID)/\(path)"
    }

    private func reply(to request: HTTPClientRequest, limit: Int = 1 << 20) async throws -> HTTPClientReply {
        var request = request
        request.authenticate(user: configuration.keySID ?? configuration.accountSID, password: configuration.secret)
        request.responseTimeoutMs = 10_000
        do { return try await client.fetch(request, limit: limit) } catch let error as NetError {
            let isSent = ![.cannotResolve, .cannotConnect, .refused, .unavailable].contains(error.code)
            throw Failure(message: "Twilio cannot be reached: \(error.message)", isUncertain: isSent)
        }
    }

    private func ask(_ request: HTTPClientRequest) async throws -> CallResource {
        let reply = try await reply(to: request)
        guard reply.isSuccess else { throw failure(reply) }
        guard let answer = (try? JSONSerialization.jsonObject(with: Data(reply.body))) as? [String: Any],
            let sid = answer["sid"] as? String,
            let status = answer["status"] as? String, Self.isSID(sid)
        else { throw Failure(message: "Twilio's answer is not one of a call", status: reply.status, isUncertain: true) }
        return CallResource(sid: sid, status: status)
    }

    /// `CA` and 32 hex digits, so that it may stand in a path.
    public static func isSID(_ text: String) -> Bool {
        text.utf8.count == 34 && text.hasPrefix("CA") && text.dropFirst(2).allSatisfy { $0.isHexDigit && $0.isASCII }
    }

    private func failure(_ reply: HTTPClientReply) -> Failure {
        let answer = (try? JSONSerialization.jsonObject(with: Data(reply.body))) as? [String: Any]
        let words = (answer?["message"] as? String).map { String($0.prefix(300)) } ?? "no reason given"
        return Failure(
            message: "Twilio refused (\(reply.status)): \(words)", code: answer?["code"] as? Int, status: reply.status)
    }
}
