public import Foundation
internal import Problems
internal import Realtime
internal import Store

/// The rules that can hold or block a call before it is dialled.
public enum DialRule: String, Sendable, Codable, CaseIterable {
    // For good.
    case emergency = "emergency_number"
    case premium = "premium_number"
    case prefix = "prefix_not_allowed"
    case doNotCall = "do_not_call"
    case callerNotAllowed = "caller_not_allowed"
    case noRoute = "no_route"
    // For a while.
    case callingHours = "calling_hours"
    case dailyCap = "daily_cap"
    case duplicate = "duplicate_callee"
}

/// Decides whether and when a call may be dialled. A pure value: time and history are passed in.
public struct DiallingPolicy: Sendable {
    /// Seconds for which dials are remembered: two days hold every window and every day.
    static let historySeconds: TimeInterval = 2 * 86_400
    /// Seconds; the longest duplicate window.
    public static let windowLimit = 86_400

    public var routing = Routing()
    public var callingHours: CallingHours?
    /// nil: those of the callee's country, or ours if the number does not tell the country.
    public var hoursZone: TimeZone?
    /// Where a day begins, for daily caps; and the calling hours of a callee without a country.
    public var homeZone = TimeZone.current
    /// Calls of one caller number in a day; nil: any number.
    public var dailyCap: Int?
    /// Seconds between two calls to one callee; 0: only not at once.
    public var duplicateWindow: TimeInterval = 60
    /// Dials begun in a second; 0: any number.
    public var callsPerSecond: Double = 5
    public init() {}

    /// As it is for a company: its day begins in its own time zone.
    func of(_ company: Company) -> DiallingPolicy {
        var policy = self
        if let zone = company.timeZone.flatMap({ TimeZone(identifier: $0) }) { policy.homeZone = zone }
        return policy
    }

    /// What the store knows.
    struct History: Sendable, Equatable {
        var isOnDoNotCallList = false
        /// By another call.
        var calleeDialledAt: Date?
        var callerDialsToday = 0
        /// The caller number's own cap.
        var callerCap: Int?
    }

    enum Verdict: Sendable, Equatable {
        /// By this way, for the attempt that begins now.
        case dial(Routing.Route)
        case hold(DialRule, until: Date, detail: String)
        case block(DialRule, detail: String)
    }

    /// Midnight in `homeZone`.
    public func dayBegins(_ now: Date) -> Date {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = homeZone
        return calendar.startOfDay(for: now)
    }

    private func dayAfter(_ now: Date) -> Date {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = homeZone
        return calendar.date(byAdding: .day, value: 1, to: dayBegins(now)) ?? now.addingTimeInterval(86_400)
    }

    func verdict(on call: Call, history: History, at now: Date) -> Verdict {
        if history.isOnDoNotCallList { return .block(.doNotCall, detail: Problem(.onDoNotCallList).message) }
        let route: Routing.Route
        do throws(Routing.Refusal) { route = try routing.route(to: call.remoteNumber) } catch {
            return .block(error.code.rule ?? .noRoute, detail: error.message)
        }
        // Calls to the requester's own browser disturb no callee.
        if case .browser = route { return .dial(route) }
        if let hours = callingHours {
            let zones = zones(of: call.remoteNumber)
            guard let next = hours.next(from: now, in: zones) else {
                return .block(.callingHours, detail: "the calling hours leave no time in \(Self.names(zones))")
            }
            if next > now {
                return .hold(
                    .callingHours, until: next, detail: "it is outside of the calling hours in \(Self.names(zones))")
            }
        }
        if let cap = history.callerCap ?? dailyCap, history.callerDialsToday >= cap {
            return .hold(
                .dailyCap, until: dayAfter(now),
                detail: "the caller number has been shown \(history.callerDialsToday) times today")
        }
        if duplicateWindow > 0, let last = history.calleeDialledAt, now.timeIntervalSince(last) < duplicateWindow {
            return .hold(
                .duplicate, until: last.addingTimeInterval(duplicateWindow),
                detail: "another call was for the same callee")
        }
        return .dial(route)
    }

    /// The first time from `date` on at which a callee may be called; nil: never within two weeks.
    func opening(for callee: String, from date: Date) -> Date? {
        guard let callingHours else { return date }
        return callingHours.next(from: date, in: zones(of: callee))
    }

    /// The zones of a callee, for dates and hours.
    func zones(of callee: String) -> [TimeZone] {
        if let hoursZone { return [hoursZone] }
        let own = routing.plan.zones(of: callee)
        return own.isEmpty ? [homeZone] : own
    }

    private static func names(_ zones: [TimeZone]) -> String { zones.map(\.identifier).joined(separator: ", ") }
}

extension Call {
    /// A rule that stood in the way.
    public struct Block: Sendable, Equatable, Codable {
        public var at: Date
        public var rule: DialRule
        public var detail: String
        /// nil: for good.
        public var until: Date?
    }
    /// Blocks that are kept of a call.
    private static let blockLimit = 20

    private mutating func note(_ block: Block) {
        // Held by the same rule again: the later end counts.
        if let last = blocks?.last, last.rule == block.rule, last.until != nil,
            attempts.last.map({ $0.startedAt < last.at }) ?? true
        {
            blocks?.removeLast()
        }
        blocks = (blocks ?? []).suffix(Self.blockLimit - 1) + [block]
    }

    /// An attempt begins.
    mutating func dial(at now: Date) throws(CallStateMachine.ImpossibleTransition) -> CallEvent {
        try apply(.dial)
        startedAt = now
        nextAttemptAt = nil
        attemptsThisRound += 1
        attempts.append(.init(startedAt: now))
        answers = TaskTracker(questions: brief.questions).answers
        endReason = nil
        failureReason = nil
        providerCallID = nil
        return CallEvent(
            kind: "dialing", at: now, of: self, payload: CallEvent.payload(["attempt": attempts.count]))
    }

    /// Not now.
    mutating func hold(by rule: DialRule, until: Date, detail: String, at now: Date) -> [CallEvent] {
        note(Block(at: now, rule: rule, detail: detail, until: until))
        nextAttemptAt = until
        return [
            CallEvent(
                kind: "retry_scheduled", at: now, of: self,
                payload: CallEvent.payload(["at": CallEvent.time(until), "blocked_by": rule.rawValue]))
        ]
    }

    /// Never.
    mutating func block(by rule: DialRule, detail: String, at now: Date) throws(CallStateMachine.ImpossibleTransition)
        -> [CallEvent]
    {
        try apply(.attemptEnded(.failed, willRetry: false))
        note(Block(at: now, rule: rule, detail: detail, until: nil))
        nextAttemptAt = nil
        completedAt = now
        failureReason = "blocked by \(rule.rawValue): \(detail)"
        closeAnswers()
        return [CallEvent.terminal(of: self, at: now)]
    }

    /// Closes the questions that were not answered.
    mutating func closeAnswers() {
        var tracker = TaskTracker(questions: brief.questions)
        tracker.close()
        answers = tracker.answers
    }
}
