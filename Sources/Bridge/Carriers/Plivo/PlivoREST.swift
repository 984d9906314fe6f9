internal import Foundation
public import Net

/// Plivo's REST API, as far as calls go (plivo.com/docs/voice/api/call).
///
/// A call that is placed is known by the id of its request until Plivo tells the id of the call (`CallUUID`).
public struct PlivoREST: Sendable {
    public struct Configuration: Sendable, Equatable {
        public var authID: String
        public var authToken: String
        /// Without a slash at the end.
        public var url = Self.vendorURL
        public static let vendorURL = "https://api.plivo.com"
        public init(authID: String, authToken: String) {
            self.authID = authID
            self.authToken = authToken
        }
    }

    /// A call to be placed.
    public struct Placement: Sendable {
        /// E.164.
        public var to: String
        public var from: String
        /// Asked for XML at the answer.
        public var answerURL: String
        /// Told when it rings and when it has ended.
        public var statusURL: String
        /// Told who answered, while the call goes on; nil: no machine detection.
        public var machineURL: String?
        /// Seconds of ringing.
        public var ringSeconds: Int
        /// Seconds from the answer after which Plivo hangs up, should we not.
        public var timeLimit: Int
        public init(
            to: String, from: String, answerURL: String, statusURL: String, machineURL: String?, ringSeconds: Int,
            timeLimit: Int
        ) {
            self.to = to
            self.from = from
            self.answerURL = answerURL
            self.statusURL = statusURL
            self.machineURL = machineURL
            self.ringSeconds = ringSeconds
            self.timeLimit = timeLimit
        }
    }

    /// Where a call stands.
    public struct CallResource: Sendable, Equatable {
        /// Of a live call: `ringing`, `in-progress`.
        public var status: String?
        /// Of one that has ended (plivo.com/docs/voice/troubleshooting/hangup-causes).
        public var hangupCode: Int?
    }

    private static let ringSeconds = 1...600

    private let configuration: Configuration
    private let rest: CarrierREST

    public init(_ configuration: Configuration, client: HTTPClient) {
        self.configuration = configuration
        rest = CarrierREST(title: "Plivo", client: client) { answer in
            let words = (answer["error"] ?? answer["message"]) as? String
            return (nil, words ?? (answer["error"] as? [String: Any])?["error"] as? String)
        }
    }

    /// - Returns: the id of the request.
    public func place(_ call: Placement) async throws(RESTFailure) -> String {
        let reply = try await rest.send(placing(call))
        let told = CarrierREST.object(reply)?["request_uuid"]
        guard let id = told as? String ?? (told as? [String])?.first, CarrierREST.isUUID(id) else {
            throw rest.unreadable(reply)
        }
        return id
    }

    func placing(_ call: Placement) -> HTTPClientRequest {
        var fields: [String: Any] = [
            "to": CarrierNumber.bare(call.to), "from": CarrierNumber.bare(call.from),
            "answer_url": call.answerURL, "answer_method": "POST", "ring_url": call.statusURL, "ring_method": "POST",
            "hangup_url": call.statusURL, "hangup_method": "POST",
            "ring_timeout": CarrierREST.within(Self.ringSeconds, call.ringSeconds),
            "time_limit": call.timeLimit,
        ]
        if let machineURL = call.machineURL {
            fields["machine_detection"] = "true"
            fields["machine_detection_url"] = machineURL
            fields["machine_detection_method"] = "POST"
        }
        return request("POST", "Call/", fields)
    }

    /// Ends a call, answered or not.
    public func hangUp(_ id: String) async throws(RESTFailure) {
        do throws(RESTFailure) { _ = try await rest.send(request("DELETE", "Call/\(id)/")) } catch {
            // Before it rings, it may be known by its request alone.
            guard error.status == 404 else { throw error }
            _ = try await rest.send(request("DELETE", "Request/\(id)/"))
        }
    }

    /// Takes a call in progress away from what it is doing, to the XML at this URL.
    public func transfer(_ id: String, to url: String) async throws(RESTFailure) {
        _ = try await rest.send(transferring(id, to: url))
    }

    func transferring(_ id: String, to url: String) -> HTTPClientRequest {
        var request = request("POST", "Call/\(id)/", ["legs": "aleg", "aleg_url": url, "aleg_method": "POST"])
        request.isRepeatable = true
        return request
    }

    public func call(_ id: String) async throws(RESTFailure) -> CallResource {
        let reply: HTTPClientReply
        do throws(RESTFailure) {
            reply = try await rest.send(request("GET", "Call/\(id)/?status=live"))
        } catch {
            guard error.status == 404 else { throw error }
            // It has ended.
            let ended = CarrierREST.object(try await rest.send(request("GET", "Call/\(id)/")))
            return CallResource(status: nil, hangupCode: ended?["hangup_cause_code"] as? Int)
        }
        return CallResource(status: CarrierREST.object(reply)?["call_status"] as? String, hangupCode: nil)
    }

    private func request(_ method: String, _ path: String, _ fields: [String: Any]? = nil) -> HTTPClientRequest {
        let url = "\(configuration.url)/v1/Account/\(configuration.authID)/\(path)"
        var request = fields.map { CarrierREST.json(method, url, $0) } ?? HTTPClientRequest(method, url)
        request.authenticate(user: configuration.authID, password: configuration.authToken)
        return request
    }

    /// A UUID, so that it may stand in a path.
    public static func isCallID(_ text: String) -> Bool { CarrierREST.isUUID(text) }
}
