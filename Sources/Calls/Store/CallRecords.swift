internal import Agents
internal import Foundation
public import Problems
internal import Realtime
internal import Store
internal import Synchronization

extension CallStore {
    // MARK: A request

    public enum Insertion: Sendable, Equatable {
        case stored
        /// Asked before: the first answer.
        case known(answer: String)
        /// Asked before under this key was something else.
        case keyIsTaken
        /// The rule that forbids it.
        case blocked(DialRule, Problem)
        /// The company has used up what it may use.
        case overQuota(QuotaUse)
    }

    /// Stores a new call with its first events, unless a rule forbids it; on return all is on disk.
    ///
    /// - Parameters:
    ///   - window: seconds between two calls to one number; 0: any number of calls may wait for it; nil: the call came
    ///     by itself, and no rule is asked.
    ///   - audit: the entry of the audit log, stored with it.
    func insert(
        _ call: Call, events: [CallEvent], request: RepeatableRequest? = nil, window: TimeInterval? = nil,
        audit: AuditEntry? = nil, at now: Date = Date()
    ) async throws(StoreError) -> Insertion {
        try await write { [self] work in
            if let request, let known = try work.requests.known(call.company, request.key, at: now) {
                return (known.request == request.request ? .known(answer: known.answer) : .keyIsTaken, [])
            }
            if let window, let blocked = try Self.block(on: call, window: window, at: now, work) {
                return (blocked, [])
            }
            let uses = try quotaUses(of: call, at: now, work)
            if let over = uses.first(where: \.isUsedUp) { return (.overQuota(over), []) }
            try work.calls.insert(try StoredCall.row(call))
            if let request { try work.requests.keep(call.company, request, at: now) }
            if let audit { try work.audit.append(call.company, audit) }
            if let agent = call.agent {
                try work.agents.note(call.company, call: call.id, slug: agent.slug, version: agent.version)
            }
            let warnings = uses.filter(\.isNearWithOneMore).map { $0.event(of: call, at: now) }
            return (.stored, try (events + warnings).map { try append($0, of: call, work) })
        }
    }

    /// Checks the do-not-call list and calls to the same number before the request is stored.
    private static func block(on call: Call, window: TimeInterval, at now: Date, _ work: Work) throws -> Insertion? {
        let number = call.remoteNumber
        if try work.dials.isOnDoNotCallList(call.company, number) {
            return .blocked(.doNotCall, Problem(.onDoNotCallList))
        }
        guard window > 0 else { return nil }
        let due = call.scheduledAt ?? now
        if let other = try work.calls.open(call.company, to: number, dueWithin: window, of: due, at: now) {
            return .blocked(.duplicate, Problem(.calleeTaken, ["id": .text(other)]))
        }
        let before = try work.dials.lastCall(call.company, to: number, after: due.addingTimeInterval(-window))
        guard let last = before else { return nil }
        return .blocked(
            .duplicate, Problem(.calleeCalledBefore, ["id": .text(last), "seconds": .number(Int(window))]))
    }

    // MARK: Dialling

    /// What stands in the way of a dial now.
    public enum Admission: Sendable {
        /// It is on disk that the call is being dialled, by this way.
        case dial(Call, Routing.Route)
        /// Not before its `nextAttemptAt`.
        case held(Call)
        /// A rule forbids it for good.
        case ended(Call)
        /// It is not waiting any more.
        case gone
    }

    /// Decides on a dial and marks it as begun in one transaction, before the first packet leaves: whatever happens to
    /// us then, the number is not dialled by this attempt again.
    func admit(_ callID: String, by policy: DiallingPolicy, at now: Date) async throws(StoreError) -> Admission {
        try await write { [self] work in
            guard let record = try work.calls.record(callID) else { return (.gone, []) }
            var call = try StoredCall.call(record)
            guard call.state == .queued else { return (.gone, []) }
            let number = call.remoteNumber, localKey = record.localKey, company = call.company
            let policy = companies.known(company).map { policy.of($0) } ?? policy
            let history = try Self.history(of: call, localKey: localKey, by: policy, at: now, work)
            var events: [CallEvent] = []
            let admission: Admission
            switch policy.verdict(on: call, history: history, at: now) {
            case .dial(let route):
                events = [try call.dial(at: now)]
                try work.texts.clear(callID)
                try work.dials.remove(before: now.addingTimeInterval(-DiallingPolicy.historySeconds))
                // A browser's call dials no number.
                if !call.isForBrowser { try work.dials.insert(company, callID, at: now, to: number, from: localKey) }
                admission = .dial(call, route)
            case .hold(let rule, let until, let detail):
                events = call.hold(by: rule, until: until, detail: detail, at: now)
                admission = .held(call)
            case .block(let rule, let detail):
                events = try call.block(by: rule, detail: detail, at: now)
                try noteEnded(callID, work)
                try countUsage(from: nil, to: call, at: now, work)
                admission = .ended(call)
            }
            try work.calls.update(try StoredCall.row(call))
            return (admission, try events.map { try append($0, of: call, work) })
        }
    }

    /// Changes a call and stores the events that tell of it, in one transaction. Returns the call as stored.
    @discardableResult
    func update(_ callID: String, _ change: @escaping @Sendable (inout Call) throws -> [CallEvent])
        async throws(StoreError) -> Call
    {
        try await write { [self] work in
            guard let record = try work.calls.record(callID) else {
                throw StoreError(.notFound, .noCallNamed, ["id": .text(callID)])
            }
            var call = try StoredCall.call(record)
            let before = call, wasOver = call.state.isTerminal
            let events: [CallEvent]
            do { events = try change(&call) } catch let error as CallStateMachine.ImpossibleTransition {
                throw StoreError(
                    .conflict, .cannotFollow, ["event": "\(error.event)", "state": .text(error.from.rawValue)])
            }
            try work.calls.update(try StoredCall.row(call))
            if call.state.isTerminal, !wasOver { try noteEnded(callID, work) }
            let warnings = try countUsage(from: before, to: call, at: Date(), work)
            return (call, try (events + warnings).map { try append($0, of: call, work) })
        }
    }

    /// Whosever it is: for the server's own work on a call that it knows.
    func call(_ callID: String) async throws(StoreError) -> Call? {
        try await storage.read { try $0.calls.record(callID).map { try StoredCall.call($0) } }
    }

    /// Calls of all companies in one of these states, oldest first.
    func calls(in states: [CallState]) async throws(StoreError) -> [Call] {
        try await storage.read { try Storage.opened(try $0.calls.records(in: states)) { try StoredCall.call($0) } }
    }

    /// By what calls to one number are known.
    func calleeKey(_ number: String) -> String { storage.key(number) }

    /// Calls that wait to be dialled, without opening their records.
    func waiting() async throws(StoreError) -> [DialQueue.Entry] {
        try await storage.read { work in
            try work.calls.waiting().map {
                DialQueue.Entry(
                    callID: $0.id, company: $0.company, priority: $0.priority, createdAt: $0.createdAt,
                    notBefore: $0.dueAt,
                    callee: $0.remoteKey)
            }
        }
    }

    // MARK: Transcript

    func append(_ entry: TranscriptEntry, at position: Int, to callID: String, event: CallEvent)
        async throws(StoreError)
    {
        try await write { [self] work in
            try work.texts.append(entry, at: position, to: callID)
            return ((), [try append(event, of: nil, work)])
        }
    }

    func transcript(of callID: String) async throws(StoreError) -> [TranscriptEntry] {
        try await storage.read { try $0.texts.transcript(of: callID) }
    }

    // MARK: The list of ended calls that are not analysed yet (`CallAnalyst`)

    /// Whether calls are put on that list as they end.
    func keepEnded(_ keeps: Bool) { subscribers.withLock { $0.wantsEndedCalls = keeps } }

    /// In the transaction that ends the call.
    private func noteEnded(_ callID: String, _ work: Work) throws {
        guard subscribers.withLock({ $0.wantsEndedCalls }) else { return }
        try work.calls.noteEnded(callID)
    }

    func endedCalls(limit: Int) async throws(StoreError) -> [String] {
        try await storage.read { try $0.calls.listEnded(limit: limit) }
    }

    func forgetEnded(_ callID: String) async throws(StoreError) {
        try await storage.write { try $0.calls.forgetEnded(callID) }
    }
}
