public import Store

/// How an attempt that was not answered ended.
public struct AttemptOutcome: Sendable, Equatable, Codable {
    /// `no_answer`, `busy`, `rejected` or `failed`.
    public var state: CallState
    /// SIP or provider code; nil where the reason is ours.
    public var code: Int?
    public var reason: String
    /// The call may have rung all the same, so it is not dialled again.
    public var isUncertain = false

    public init(state: CallState, code: Int? = nil, reason: String, isUncertain: Bool = false) {
        self.state = state
        self.code = code
        self.reason = reason
        self.isUncertain = isUncertain
    }

    /// Maps a final SIP status (RFC 3261 §21, RFC 8197 for 607, RFC 8688 for 608) to a state.
    public init(sipStatus: Int, phrase: String) {
        let state: CallState =
            switch sipStatus {
            case 408, 480, 487: .noAnswer
            case 486, 600: .busy
            case 603, 607, 608: .rejected
            default: .failed
            }
        let detail =
            switch sipStatus {
            case 401, 407, 904: "the gateway refused our credentials"
            case 503: "the gateway or trunk is unavailable"
            default: phrase.isEmpty ? "SIP \(sipStatus)" : phrase
            }
        self.init(state: state, code: sipStatus, reason: detail)
    }
}

/// Makes every transition of a call's state; one that cannot follow is refused, never stored.
public struct CallStateMachine: Sendable, Equatable {
    public private(set) var state: CallState

    public init(_ state: CallState = .queued) { self.state = state }

    public enum Event: Sendable, Equatable {
        case dial
        case ringing
        case answered
        /// The attempt ended before an answer; with another one to come the call is queued again.
        case attemptEnded(CallState, willRetry: Bool)
        /// The conversation ended as it should, or something broke in it.
        case conversationEnded(isFailure: Bool)
        /// An operator gave the call up before it was connected.
        case cancel
        /// An operator asks for another attempt of an ended call.
        case retry
        /// The server came up again and found the call live.
        case recovered
    }

    public struct ImpossibleTransition: Error, Sendable, Equatable, CustomStringConvertible {
        public var from: CallState
        public var event: Event
        public var description: String { "\(event) cannot follow \(from.rawValue)" }
    }

    /// The state after the event.
    @discardableResult
    public mutating func apply(_ event: Event) throws(ImpossibleTransition) -> CallState {
        let next: CallState
        switch (state, event) {
        case (.queued, .dial): next = .dialing
        case (.dialing, .ringing), (.ringing, .ringing): next = .ringing
        case (.dialing, .answered), (.ringing, .answered): next = .connected
        case (.dialing, .attemptEnded(let outcome, let willRetry)),
            (.ringing, .attemptEnded(let outcome, let willRetry)),
            (.queued, .attemptEnded(let outcome, let willRetry)):
            guard [.noAnswer, .busy, .rejected, .failed, .cancelled].contains(outcome) else {
                throw ImpossibleTransition(from: state, event: event)
            }
            next = willRetry ? .queued : outcome
        // A machine had the call, and it is tried again.
        case (.connected, .attemptEnded(.noAnswer, willRetry: true)): next = .queued
        case (.connected, .conversationEnded(let isFailure)): next = isFailure ? .failed : .completed
        case (.queued, .cancel), (.dialing, .cancel), (.ringing, .cancel): next = .cancelled
        case (.completed, .retry), (.noAnswer, .retry), (.busy, .retry), (.rejected, .retry), (.failed, .retry),
            (.cancelled, .retry):
            next = .queued
        case (.connected, .recovered): next = .failed
        default: throw ImpossibleTransition(from: state, event: event)
        }
        state = next
        return next
    }
}
