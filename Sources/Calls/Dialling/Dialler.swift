public import Bridge
public import Foundation
internal import Logging
public import Net
public import Pipeline
internal import Problems
internal import Realtime
public import Store

/// Takes requests, dials them when their turn comes, and answers for every call that is not ended.
public actor Dialler {
    /// Longest time between two looks at the queue, seconds: a clock that was set is noticed after this.
    private static let longestNap: TimeInterval = 5
    /// Seconds that calls may take to end at shutdown.
    public static let drainLimit: TimeInterval = 20

    private let store: CallStore
    private let line: CallLine
    private let loops: [EventLoop]
    private let settings: CallSettings
    private let now: @Sendable () -> Date
    private var queue: DialQueue
    private var live: [String: (attempt: any CallAttempt, callee: String, loop: Int?)] = [:]
    private var runner: Task<Void, Never>?
    private let alarm = Alarm()
    /// When the next dial may begin (`callsPerSecond`).
    private var mayDialAt = ContinuousClock.now
    private var isStopping = false

    public init(
        line: CallLine, loops: [EventLoop], settings: CallSettings, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.store = line.store
        self.line = line
        self.loops = loops
        self.settings = settings
        self.now = now
        queue = DialQueue(priorityAgeing: settings.priorityAgeing)
    }

    public var liveCount: Int { live.count }
    public var queuedCount: Int { queue.count }

    /// Begins to dial; `recover` comes first.
    public func start() { runner = Task { await self.dialLoop() } }

    /// Restart recovery: queued calls go on; dialing and ringing ones have used up that attempt; connected
    /// ones end as failed with what they had.
    ///
    /// To be called before any request is served, so that no client sees a call that a crash left live.
    public func recover() async throws(StoreError) {
        let at = now()
        let retry = RetryPolicy(settings.retry)
        for call in try await store.calls(in: [.dialing, .ringing, .connected]) {
            switch call.state {
            case .dialing, .ringing:
                try await store.update(call.id) { call in
                    let state: CallState = call.direction == .inbound ? .failed : .noAnswer
                    return try retry.conclude(
                        &call,
                        with: AttemptOutcome(state: state, reason: "the server was restarted during the attempt"),
                        at: at)
                }
            case .connected:
                try await store.update(call.id) { call in
                    try call.apply(.recovered)
                    call.completedAt = at
                    call.endReason = .serverRestart
                    call.failureReason = EndReason.serverRestart.rawValue
                    for index in call.answers.indices where call.answers[index].status == .pending {
                        call.answers[index].status = .unclear
                    }
                    call.summary = TemplateSummary.of(call)
                    if !call.attempts.isEmpty {
                        call.attempts[call.attempts.count - 1].endedAt = at
                        call.attempts[call.attempts.count - 1].outcome = "connected"
                    }
                    return [CallEvent.terminal(of: call, at: at)]
                }
            default: break
            }
        }
        for entry in try await store.waiting() { queue.add(entry) }
    }

    private func enqueue(_ call: Call) {
        queue.add(
            DialQueue.Entry(
                callID: call.id, priority: call.priority, createdAt: call.createdAt,
                notBefore: call.nextAttemptAt,
                callee: store.calleeKey(call.remoteNumber)))
        alarm.ring()
    }

    // MARK: Requests

    /// Stores and queues a call, unless a rule forbids it; on return it is on disk.
    public func create(
        _ call: Call, request: RepeatableRequest? = nil, audit: AuditEntry? = nil
    ) async throws(StoreError) -> CallStore.Insertion {
        guard !isStopping else { throw StoreError(.unavailable, .shuttingDown) }
        guard !queue.isFull else {
            throw StoreError(.unavailable, .queueFull, ["count": .number(DialQueue.capacity)])
        }
        let event = CallEvent(
            kind: "queued", at: call.createdAt, of: call,
            payload: CallEvent.payload(["callee_number": call.remoteNumber, "purpose": call.brief.purpose]))
        let insertion = try await store.insert(
            call, events: [event], request: request, window: call.isForBrowser ? nil : settings.policy.duplicateWindow,
            audit: audit, at: now())
        if insertion == .stored { enqueue(call) }
        return insertion
    }

    /// Gives up a call that is not connected yet.
    public func cancel(_ callID: String) async throws(StoreError) {
        guard let call = try await store.call(callID) else {
            throw StoreError(.notFound, .noCallNamed, ["id": .text(callID)])
        }
        guard [.queued, .dialing, .ringing].contains(call.state) else {
            throw StoreError(.conflict, .cannotCancel, ["state": .text(call.state.rawValue)])
        }
        if let active = live[callID] { return await active.attempt.cancel() }
        queue.remove(callID)
        let at = now()
        try await store.update(callID) { call in
            try call.apply(.cancel)
            call.completedAt = at
            call.nextAttemptAt = nil
            call.closeAnswers()
            return [CallEvent.terminal(of: call, at: at)]
        }
    }

    /// Dials an ended call anew.
    /// - Parameter change: before that, e.g. another version of its agent.
    public func retry(_ callID: String, _ change: @escaping @Sendable (inout Call) -> Void = { _ in })
        async throws(StoreError) -> Call
    {
        let at = now()
        let call = try await store.update(callID) { call in
            try call.apply(.retry)
            call.completedAt = nil
            call.answeredAt = nil
            call.endReason = nil
            call.failureReason = nil
            call.summary = nil
            call.isSummaryByModel = nil
            call.sentiment = nil
            call.recording = nil
            call.nextAttemptAt = nil
            call.attemptsThisRound = 0
            change(&call)
            call.answers = TaskTracker(questions: call.brief.questions).answers
            return [
                CallEvent(
                    kind: "queued", at: at, of: call,
                    payload: CallEvent.payload(["callee_number": call.remoteNumber, "purpose": call.brief.purpose]))
            ]
        }
        // While the ended attempt is still being wound up (its BYE is under way), `ended` queues it.
        if live[callID] == nil { enqueue(call) }
        return call
    }

    /// Ends a connected call.
    public func hangUp(_ callID: String) async throws(StoreError) {
        guard let call = try await store.call(callID) else {
            throw StoreError(.notFound, .noCallNamed, ["id": .text(callID)])
        }
        guard call.state == .connected else {
            throw StoreError(.conflict, .cannotHangUp, ["state": .text(call.state.rawValue)])
        }
        guard let live = inProgress(callID) else {
            throw StoreError(.conflict, .cannotHangUp, ["state": .text(call.state.rawValue)])
        }
        await live.hangUp(.operatorHangup)
    }

    /// Has something said in a connected call, at once.
    public func say(_ text: String, in callID: String) async throws(StoreError) {
        guard let call = try await store.call(callID) else {
            throw StoreError(.notFound, .noCallNamed, ["id": .text(callID)])
        }
        guard call.state == .connected else {
            throw StoreError(.conflict, .nobodyHears, ["state": .text(call.state.rawValue)])
        }
        guard await inProgress(callID)?.say(text) == true else {
            throw StoreError(.conflict, .cannotSay)
        }
    }

    /// Transfers the other party of a connected call to an operator, with a spoken briefing.
    public func transfer(_ callID: String, to choice: TransferChoice, mode: CallSettings.TransferMode?)
        async throws(StoreError)
    {
        guard let call = try await store.call(callID) else {
            throw StoreError(.notFound, .noCallNamed, ["id": .text(callID)])
        }
        guard call.state == .connected else {
            throw StoreError(.conflict, .nobodyToHandOver, ["state": .text(call.state.rawValue)])
        }
        guard await inProgress(callID)?.transfer(to: choice, mode: mode) == true else {
            throw StoreError(.conflict, .cannotHandOver)
        }
    }

    /// The operators to whom a call can be transferred now.
    public nonisolated func canHand(to choice: TransferChoice) -> Bool {
        !line.targets(settings, choice: choice).isEmpty
    }

    /// Whether a call waits to be answered in this user's browser.
    public nonisolated func rings(_ callID: String, inBrowserOf user: String) -> Bool {
        line.calls.isAwaited(callID, from: user)
    }

    /// The stages and queues of a live call; nil when it is not live.
    public func graph(of callID: String) async -> GraphReading? {
        await inProgress(callID)?.reading
    }

    private func inProgress(_ callID: String) -> (any LiveCall)? {
        live[callID]?.attempt ?? line.calls.call(callID)
    }

    /// A person on another media stream takes the AI's place. False: not possible now.
    public func takeOver(_ callID: String, by name: String, _ stream: Confined<any MediaStream>, on loop: EventLoop)
        async -> Bool
    {
        await inProgress(callID)?.takeOver(StreamedPerson(name: name, stream: stream, loop: loop)) ?? false
    }

    /// Adds a listener to a connected call. False: not possible now.
    public func listen(to callID: String, _ listener: CallListener) async -> Bool {
        await inProgress(callID)?.listen(listener) ?? false
    }
    public func stopListening(to callID: String, _ id: CallListener.ID) async {
        await inProgress(callID)?.stopListening(id)
    }

    /// Stops dialling and lets the calls in progress end, up to `drainLimit`; the rest is hung up.
    public func stop() async {
        isStopping = true
        runner?.cancel()
        alarm.ring()
        let deadline = ContinuousClock.now + .seconds(Self.drainLimit)
        for entry in live.values { await entry.attempt.cancel() }
        while !live.isEmpty || line.calls.count > 0, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(100))
        }
        for entry in live.values { await entry.attempt.hangUp(.serverRestart) }
        line.calls.hangUpAll(.serverRestart)
        for _ in 0..<30 where !live.isEmpty || line.calls.count > 0 { try? await Task.sleep(for: .milliseconds(100)) }
    }

    // MARK: Dialling

    private func dialLoop() async {
        while !Task.isCancelled {
            while settings.isEnabled, !isStopping, live.count < settings.maxConcurrentCalls,
                let entry = queue.next(at: now(), busyCallees: Set(live.values.map(\.callee)))
            {
                await keepPace()
                await dial(entry)
            }
            let due = queue.nextDue(after: now()).map { max(0.05, $0.timeIntervalSince(now())) } ?? Self.longestNap
            await alarm.wait(seconds: min(due, Self.longestNap))
        }
    }

    /// No more dials in a second than the trunk bears.
    private func keepPace() async {
        guard settings.policy.callsPerSecond > 0 else { return }
        if mayDialAt > .now { try? await Task.sleep(until: mayDialAt) }
        mayDialAt = max(mayDialAt, .now) + .seconds(1 / settings.policy.callsPerSecond)
    }

    private func dial(_ entry: DialQueue.Entry) async {
        let call: Call, route: Routing.Route
        do {
            switch try await store.admit(entry.callID, by: settings.policy, at: now()) {
            case .dial(let admitted, let way): (call, route) = (admitted, way)
            case .held(let held):
                log(held.blocks?.last, of: held)
                return enqueue(held)
            case .ended(let ended): return log(ended.blocks?.last, of: ended)
            case .gone: return
            }
        } catch {
            line.logger.error("cannot read a queued call: \(error)", metadata: ["call": "\(entry.callID)"])
            var later = entry
            later.notBefore = now().addingTimeInterval(Self.longestNap)
            queue.add(later)
            return
        }
        guard let (attempt, loop) = attempt(of: call, by: route) else { return await cannotCarry(call) }
        live[call.id] = (attempt, entry.callee, loop)
        Task {
            await attempt.run()
            await self.ended(call.id)
        }
    }

    /// nil: no carrier for this route is configured.
    /// - Returns: also the place of its event loop in `loops`, where the attempt has one.
    private func attempt(of call: Call, by route: Routing.Route) -> (any CallAttempt, loop: Int?)? {
        switch route {
        case .browser: return (BrowserAttempt(call: call, line: line, settings: settings, now: now), nil)
        case .carrier(let name, let number):
            guard let carrier = line.carriers.named(name), let api = carrier.api else { return nil }
            return (
                CarrierAttempt(
                    call: call, to: number, by: carrier, api, line: line, settings: settings, now: now), nil
            )
        case .sip(let route):
            let loads = live.values.reduce(into: [Int: Int]()) { if let loop = $1.loop { $0[loop, default: 0] += 1 } }
            let place = loops.indices.min { loads[$0, default: 0] < loads[$1, default: 0] } ?? 0
            return (
                SIPAttempt(loop: loops[place], call: call, way: .out(route), line: line, settings: settings, now: now),
                place
            )
        }
    }

    private func cannotCarry(_ call: Call) async {
        let at = now(), retry = RetryPolicy(settings.retry)
        do {
            try await store.update(call.id) { call in
                try retry.conclude(
                    &call, with: AttemptOutcome(state: .failed, reason: "no carrier is configured for the number"),
                    at: at)
            }
        } catch { line.logger.error("cannot end a call: \(error)", metadata: ["call": "\(call.id)"]) }
        await ended(call.id)
    }

    private func log(_ block: Call.Block?, of call: Call) {
        guard let block else { return }
        line.logger.notice(
            "a rule stands in the way of a dial",
            metadata: ["call": "\(call.id)", "rule": "\(block.rule.rawValue)"])
    }

    // MARK: What a carrier tells of the calls it places for us

    /// False: there is no such call, or the report is of another one.
    public func take(_ report: CarrierReport, of callID: String) async -> Bool {
        guard let attempt = live[callID]?.attempt as? CarrierAttempt else { return false }
        return await attempt.take(report)
    }

    private func ended(_ callID: String) async {
        live[callID] = nil
        if let call = try? await store.call(callID), call.state == .queued { enqueue(call) }
        alarm.ring()
    }
}
