internal import Bridge
public import Realtime

/// A provider of telephony: its streams come to `StreamServer`, and perhaps its API places, transfers and ends calls
/// for us. A folder of its own in `Bridge`, `Calls` and `API`; listed in `Carriers.all`.
public protocol Carrier: Sendable {
    /// In `outbound.default_gateway` and in records: lower case.
    static var name: String { get }
    /// In messages to people.
    static var title: String { get }
    /// Name of the dialect that its streams speak (`Dialects`).
    static var dialect: String { get }
    /// Whether an id is of the form of its calls.
    static func owns(callID: String) -> Bool
    /// Whether a call ends, or does what its markup says next, when we close its stream. False: its API ends it; and
    /// when that has transferred a call, the stream is left to us.
    static var endsWithStream: Bool { get }
    /// Whether an API of it places calls, so that it may be `outbound.default_gateway`.
    static var placesCalls: Bool { get }

    /// Whether the upgrade of a stream is signed by it; asked where `DialectTraits.signatureHeader` is there.
    func isSigned(path: String, query: [(name: String, value: String)], headers: [String: String]) -> Bool
    /// The same of a stream that is about to begin: asked once. A signature that is good for one stream is used up.
    func takes(path: String, query: [(name: String, value: String)], headers: [String: String]) -> Bool
    /// nil: it has none, or no keys for it are set. Then its webhooks and streams are taken, and no more.
    var api: (any CarrierAPI)? { get }
    /// nil: it sends no text messages, or no keys for it are set.
    var messenger: (any TextMessenger)? { get }
}

extension Carrier {
    public var name: String { Self.name }
    public var messenger: (any TextMessenger)? { nil }
    public var title: String { Self.title }
    public static var endsWithStream: Bool { true }
    public static var placesCalls: Bool { true }
    /// Most carriers sign no upgrades: their streams come in by the token of their call.
    public func isSigned(path: String, query: [(name: String, value: String)], headers: [String: String]) -> Bool {
        false
    }
    public func takes(path: String, query: [(name: String, value: String)], headers: [String: String]) -> Bool {
        isSigned(path: path, query: query, headers: headers)
    }

    /// Where its streams go: the first path of its dialect, by WebSocket.
    /// - Parameter publicURL: our address as the carrier sees it, without a slash at the end.
    static func streamURL(at publicURL: String) -> String {
        let address =
            publicURL.hasPrefix("https://")
            ? "wss://" + publicURL.dropFirst(8)
            : publicURL.hasPrefix("http://") ? "ws://" + publicURL.dropFirst(7) : publicURL
        return address + (Dialects.named(dialect)?.traits.paths.first ?? "")
    }

    /// Seconds that a transferred call may last. A carrier that takes no limit at the transfer gets it when it places
    /// the call; a call that we still hold ends with its stream.
    static var handedOverLimit: Int { 14_400 }

    /// Its API, for a call that can be one of its own: an id goes into a URL.
    func api(for callID: String) -> (any CarrierAPI)? { Self.owns(callID: callID) ? api : nil }
}

/// What a carrier does with calls for us.
public protocol CarrierAPI: Sendable {
    /// It can connect a call to another number in place of our stream.
    var canTransfer: Bool { get }
    /// Has a call placed.
    /// - Returns: the carrier's id of it.
    func place(_ placement: CarrierPlacement) async throws(CarrierFailure) -> String
    /// How a call stands: asked where the carrier is silent too long.
    func report(of callID: String) async throws(CarrierFailure) -> CarrierReport
    /// Ends a call that is not answered yet.
    func cancel(_ callID: String) async throws(CarrierFailure)
    /// Ends a call, whatever its state.
    func hangUp(_ callID: String) async throws(CarrierFailure)
    /// Connects a call in progress to another number in place of our stream.
    func transfer(_ callID: String, _ transfer: CarrierTransfer) async throws(CarrierFailure)
}

extension CarrierAPI {
    public var canTransfer: Bool { true }
}

/// A call to be placed.
public struct CarrierPlacement: Sendable {
    /// The call's id here, told back by the carrier's webhooks.
    public var callID: String
    /// E.164.
    public var to: String
    public var from: String
    /// Seconds of ringing.
    public var ringSeconds: Int
    /// Seconds from the answer after which the carrier hangs up, should we not.
    public var timeLimit: Int
}

/// Whom a call is transferred to.
public struct CarrierTransfer: Sendable {
    /// A number, or a `sip:` address.
    public var target: String
    /// The number shown; nil: the carrier chooses.
    public var callerID: String?
    public var ringSeconds: Int
    /// Of the announcement to the caller if the target does not answer, e.g. `ko`.
    public var language: String

    /// As markup.
    /// - Parameter next: asked when that is over, with the language in its query.
    public func markup(next: String) -> String {
        CallMarkup.dial(
            target, callerID: callerID, ringSeconds: ringSeconds, next: "\(next)?language=\(language)")
    }
}

/// What a carrier says is wrong, or the network.
public struct CarrierFailure: Error, Sendable, Equatable, CustomStringConvertible {
    public var message: String
    /// The carrier's own error code; nil where it told none.
    public var code: Int?
    /// Of HTTP.
    public var status: Int?
    /// The carrier may have done it all the same.
    public var isUncertain = false
    public init(_ message: String, code: Int? = nil, status: Int? = nil, isUncertain: Bool = false) {
        self.message = message
        self.code = code
        self.status = status
        self.isUncertain = isUncertain
    }
    public var description: String { message }
}

/// What a carrier tells of a call, in our words.
public struct CarrierReport: Sendable, Equatable {
    public enum State: Sendable, Equatable { case ringing, answered, completed, busy, noAnswer, cancelled, failed }
    /// The carrier's id.
    public var callID: String
    /// What `place` returned, where the carrier gives the call another id later (`callID`).
    public var placementID: String?
    /// nil: on its way, or nothing is said of it.
    public var state: State?
    /// Of the trunk, where the carrier tells it.
    public var sipCode: Int?
    /// nil: nothing is said of it.
    public var answeredBy: AnsweredBy?

    public init(
        callID: String, placementID: String? = nil, state: State? = nil, sipCode: Int? = nil,
        answeredBy: AnsweredBy? = nil
    ) {
        self.callID = callID
        self.placementID = placementID
        self.state = state
        self.sipCode = sipCode
        self.answeredBy = answeredBy
    }

    /// The call is over at the carrier.
    public var isFinal: Bool {
        switch state {
        case .completed, .busy, .noAnswer, .cancelled, .failed: true
        case .ringing, .answered, nil: false
        }
    }
}
