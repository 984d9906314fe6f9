internal import Foundation
public import Net

/// Telnyx's Call Control (developers.telnyx.com/docs/voice/programmable-voice/sending-commands).
///
/// A command has an id, by which Telnyx does what is asked twice once: so each may be sent again.
public struct TelnyxREST: Sendable {
    public struct Configuration: Sendable, Equatable {
        public var apiKey: String
        /// Of the Voice API application that calls are placed with; nil: none can be placed.
        public var connectionID: String?
        /// Without a slash at the end.
        public var url = Self.vendorURL
        public static let vendorURL = "https://api.telnyx.com/v2"
        public init(apiKey: String, connectionID: String? = nil) {
            self.apiKey = apiKey
            self.connectionID = connectionID
        }
    }

    /// A call to be placed.
    public struct Placement: Sendable {
        /// E.164.
        public var to: String
        public var from: String
        /// Told what becomes of it.
        public var webhook: String
        public var state: TelnyxState
        public var detectsMachines: Bool
        public var ringSeconds: Int
        /// Seconds from the answer after which Telnyx hangs up, should we not.
        public var timeLimit: Int
        public init(
            to: String, from: String, webhook: String, state: TelnyxState, detectsMachines: Bool, ringSeconds: Int,
            timeLimit: Int
        ) {
            self.to = to
            self.from = from
            self.webhook = webhook
            self.state = state
            self.detectsMachines = detectsMachines
            self.ringSeconds = ringSeconds
            self.timeLimit = timeLimit
        }
    }

    /// Whom a call is transferred to.
    public struct Transfer: Sendable {
        /// A number, or a `sip:` address.
        public var to: String
        /// nil: the number that was called.
        public var from: String?
        public var webhook: String
        /// Of the new leg.
        public var state: TelnyxState
        public var ringSeconds: Int
        public init(to: String, from: String?, webhook: String, state: TelnyxState, ringSeconds: Int) {
            self.to = to
            self.from = from
            self.webhook = webhook
            self.state = state
            self.ringSeconds = ringSeconds
        }
    }

    /// Error code of a command to a call that has ended.
    private static let alreadyEnded = 90_018
    /// Seconds of ringing, and of a call, that Telnyx takes.
    private static let ringing = 5...600
    private static let longest = 14_400
    private static let idLimit = 256

    private let configuration: Configuration
    private let rest: CarrierREST

    public init(_ configuration: Configuration, client: HTTPClient) {
        self.configuration = configuration
        // developers.telnyx.com/api-reference/errors: a list, each with a code of digits.
        rest = CarrierREST(title: "Telnyx", client: client) { answer in
            let error = (answer["errors"] as? [[String: Any]])?.first
            let code = (error?["code"] as? String).flatMap { Int($0) }
            return (code, (error?["detail"] ?? error?["title"]) as? String)
        }
    }

    /// `v2:` or `v3:` and letters, digits, `-` and `_`, so that it may stand in a path as it is (RFC 3986 §3.3).
    public static func isCallID(_ text: String) -> Bool {
        guard (5...idLimit).contains(text.utf8.count), text.hasPrefix("v2:") || text.hasPrefix("v3:") else {
            return false
        }
        return text.dropFirst(3).allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
    }

    /// - Returns: the call control id.
    public func place(_ call: Placement) async throws(RESTFailure) -> String {
        guard let connectionID = configuration.connectionID else {
            throw RESTFailure("telnyx.connection_id is not set")
        }
        var fields: [String: Any] = [
            "connection_id": connectionID, "to": call.to, "from": call.from, "client_state": call.state.text,
            "webhook_url": call.webhook, "webhook_url_method": "POST",
            "timeout_secs": CarrierREST.within(Self.ringing, call.ringSeconds),
            "time_limit_secs": min(Self.longest, call.timeLimit), "command_id": UUID().uuidString,
        ]
        if call.detectsMachines { fields["answering_machine_detection"] = "detect" }
        let reply = try await ask("POST", "/calls", fields)
        guard let id = Self.data(reply)["call_control_id"] as? String, Self.isCallID(id) else {
            throw rest.unreadable(reply)
        }
        return id
    }

    /// Answers a call that comes in.
    /// - Parameter stream: begins at once; nil: it is asked for later.
    public func answer(
        _ callID: String, stream: (stream: TelnyxStream, token: String)?
    ) async throws(RESTFailure) {
        var fields = stream.map { $0.stream.answerFields(token: $0.token) } ?? [:]
        fields["client_state"] = TelnyxState.arrived.text
        fields["command_id"] = "answer"
        try await command("answer", callID, fields)
    }

    /// Begins the stream of an answered call.
    public func stream(_ callID: String, _ stream: TelnyxStream, token: String) async throws(RESTFailure) {
        var fields = stream.startFields(token: token)
        fields["command_id"] = "stream"
        try await command("streaming_start", callID, fields)
    }

    /// Refuses a call that comes in.
    public func reject(_ callID: String, isBusy: Bool) async throws(RESTFailure) {
        try await command(
            "reject", callID, ["cause": isBusy ? "USER_BUSY" : "CALL_REJECTED", "command_id": "reject"])
    }

    /// Ends a call, whatever its state. One that has ended is no failure.
    public func hangUp(_ callID: String) async throws(RESTFailure) {
        do { try await command("hangup", callID, ["command_id": UUID().uuidString]) } catch {
            guard error.code == Self.alreadyEnded else { throw error }
        }
    }

    /// Rings a number, and joins it with the caller at the answer. Without an answer the call goes on as it is.
    public func transfer(_ callID: String, _ transfer: Transfer) async throws(RESTFailure) {
        var fields: [String: Any] = [
            "to": transfer.to, "timeout_secs": CarrierREST.within(Self.ringing, transfer.ringSeconds),
            "time_limit_secs": Self.longest,
            "webhook_url": transfer.webhook, "webhook_url_method": "POST",
            "target_leg_client_state": transfer.state.text, "command_id": UUID().uuidString,
        ]
        if let from = transfer.from { fields["from"] = from }
        try await command("transfer", callID, fields)
    }

    /// Says something in Telnyx's own voice.
    /// - Parameter state: told with the end of it.
    public func speak(_ callID: String, _ text: String, language: String, state: TelnyxState) async throws(RESTFailure)
    {
        let fields: [String: Any] = [
            "payload": text, "voice": "female", "language": language, "client_state": state.text,
            "command_id": UUID().uuidString,
        ]
        try await command("speak", callID, fields)
    }

    /// Whether a call has not ended yet.
    public func isAlive(_ callID: String) async throws(RESTFailure) -> Bool {
        let reply = try await ask("GET", "/calls/\(callID)")
        guard let isAlive = Self.data(reply)["is_alive"] as? Bool else { throw rest.unreadable(reply) }
        return isAlive
    }

    private func command(_ name: String, _ callID: String, _ fields: [String: Any]) async throws(RESTFailure) {
        _ = try await ask("POST", "/calls/\(callID)/actions/\(name)", fields)
    }

    private func ask(
        _ method: String, _ path: String, _ fields: [String: Any]? = nil
    ) async throws(RESTFailure) -> HTTPClientReply {
        let url = configuration.url + path
        var request = fields.map { CarrierREST.json(method, url, $0) } ?? HTTPClientRequest(method, url)
        request.headers.append(("authorization", "Bearer " + configuration.apiKey))
        request.isRepeatable = true
        return try await rest.send(request)
    }

    /// The answer proper.
    private static func data(_ reply: HTTPClientReply) -> [String: Any] {
        CarrierREST.object(reply)?["data"] as? [String: Any] ?? [:]
    }
}
