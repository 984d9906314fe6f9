internal import Foundation
internal import Logging
internal import Problems
internal import Realtime
internal import Store
internal import Synchronization

/// Stores what happens in one attempt, in order and off the call's loop, so that the media path never waits for the
/// disk.
///
/// A carrier's repeated report is stored once; a report after the end is not stored.
final class CallJournal: Sendable {
    /// Changes waiting to be written.
    private static let entryLimit = 1_024
    /// While the disk is full or the database locked: seconds between two tries, and how often one change is tried.
    private static let retrySeconds = 0.5
    private static let retryLimit = 1_200

    private typealias Entry = @Sendable (CallStore) async throws -> Void
    private struct State {
        var isRinging = false
        var isConnected = false
        var isEnded = false
        var answeredBy: AnsweredBy?
    }

    let callID: String
    private let direction: CallDirection
    let logger: Logger
    /// File name of the attempt's recording; nil where none is wanted.
    let recordingName: String?
    /// Encrypts the recording.
    let vault: Vault
    /// What the conversation uses.
    let usage = UsageMeter()
    /// One of `Carriers.recorded`.
    private let carrier: String
    private let settings: CallSettings
    private let now: @Sendable () -> Date
    private let state = Mutex(State())
    private let entries: AsyncStream<Entry>.Continuation
    private let writer: Task<Void, Never>

    /// - Parameters:
    ///   - call: as it is with the attempt begun.
    ///   - carrier: what carries its sound, one of `Carriers.recorded`.
    init(
        _ call: Call, carrier: String, store: CallStore, settings: CallSettings, logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.carrier = carrier
        callID = call.id
        direction = call.direction
        vault = store.vault
        let suffix = store.vault.encrypts ? EncryptedRecording.suffix : ""
        recordingName = settings.savesRecording ? call.id + "-\(max(1, call.attempts.count)).wav" + suffix : nil
        self.settings = settings
        // The times of one call follow each other, whatever is done to the clock meanwhile.
        let begin = now(), clock = ContinuousClock.now
        self.now = { begin.addingTimeInterval((ContinuousClock.now - clock) / .seconds(1)) }
        var logger = logger
        logger[metadataKey: "call"] = "\(call.id)"
        self.logger = logger
        let (stream, continuation) = AsyncStream<Entry>.makeStream(bufferingPolicy: .bufferingNewest(Self.entryLimit))
        entries = continuation
        writer = Task { [logger] in
            for await entry in stream { await Self.write(entry, to: store, logger) }
        }
    }

    /// What cannot be stored now is stored later, in order: no call is left as if it were still going on.
    private static func write(_ entry: Entry, to store: CallStore, _ logger: Logger) async {
        for attempt in 0..<retryLimit {
            do { return try await entry(store) } catch {
                let code = (error as? StoreError)?.code
                let mayPass = code == .unavailable || code == .full
                if attempt == 0 || !mayPass { logger.error("cannot store\(mayPass ? " yet" : ""): \(error)") }
                guard mayPass else { return }
                try? await Task.sleep(for: .seconds(retrySeconds))
            }
        }
        logger.error("a change was given up")
    }

    /// Whether the call was answered.
    var isConnected: Bool { state.withLock { $0.isConnected } }
    var isEnded: Bool { state.withLock { $0.isEnded } }

    /// When it returns, everything is stored.
    func close() async {
        entries.finish()
        await writer.value
    }

    private func update(_ change: @escaping @Sendable (inout Call) throws -> [CallEvent]) {
        entries.yield { [callID, carrier] store in
            _ = try await store.update(callID) { call in
                call.carrier = carrier
                return try change(&call)
            }
        }
    }

    /// True the first time, before the end.
    private func once(_ flag: any WritableKeyPath<State, Bool> & Sendable) -> Bool {
        state.withLock { state in
            guard !state[keyPath: flag], !state.isEnded else { return false }
            state[keyPath: flag] = true
            return true
        }
    }

    // MARK: Until the answer

    /// The id of the call in SIP, or at the provider.
    func placed(providerCallID: String) {
        update { call in
            call.providerCallID = providerCallID
            return []
        }
    }

    func ringing() {
        guard !isConnected, once(\.isRinging) else { return }
        let at = now()
        update { call in
            try call.apply(.ringing)
            return [CallEvent(kind: "ringing", at: at, of: call, payload: "{}")]
        }
    }

    /// The attempt ended before an answer; what follows is the retry policy's.
    func attemptEnded(_ outcome: AttemptOutcome) {
        guard once(\.isEnded) else { return }
        let at = now()
        let retry = settings.retry
        logger.info(
            "attempt ended", metadata: ["outcome": "\(outcome.state.rawValue)", "code": "\(outcome.code ?? 0)"])
        update { call in try RetryPolicy(retry).conclude(&call, with: outcome, at: at) }
    }

    // MARK: The conversation

    /// Its sound goes through a media stream to or from another server; our pages have a protocol of their own.
    func streams(in dialect: String) {
        guard carrier != Carriers.browser else { return }
        update { call in
            call.dialect = dialect
            return []
        }
    }

    func connected() {
        guard once(\.isConnected) else { return }
        let at = now()
        logger.info("answered")
        update { call in
            try call.apply(.answered)
            call.answeredAt = at
            return [Self.connected(call, at)]
        }
    }

    /// A call that came in and rings.
    func arrived(_ call: Call) {
        guard once(\.isRinging) else { return }
        let at = now()
        var call = call
        call.carrier = carrier
        try? call.apply(.dial)
        try? call.apply(.ringing)
        call.startedAt = at
        call.attempts.append(.init(startedAt: at))
        let ringing = call
        entries.yield { store in
            _ = try await store.insert(ringing, events: [Self.arrived(ringing, at)])
        }
    }

    private static func arrived(_ call: Call, _ at: Date) -> CallEvent {
        CallEvent(
            kind: "ringing", at: at, of: call,
            payload: CallEvent.payload(["caller_number": call.callerNumber, "called_number": call.calledNumber]))
    }

    /// A stream that belongs to no call of ours: its record begins with the answer. Another Trunkline has placed it, or
    /// it came in as an open stream.
    func insert(_ call: Call) {
        guard once(\.isConnected) else { return }
        let at = now()
        var call = call
        call.carrier = carrier
        try? call.apply(.dial)
        try? call.apply(.answered)
        call.startedAt = at
        call.answeredAt = at
        call.attempts.append(.init(startedAt: at))
        let connected = call
        entries.yield { store in
            let first =
                connected.direction == .inbound
                ? Self.arrived(connected, at)
                : CallEvent(
                    kind: "queued", at: at, of: connected,
                    payload: CallEvent.payload(["purpose": connected.brief.purpose]))
            _ = try await store.insert(connected, events: [first, Self.connected(connected, at)])
        }
    }

    private static func connected(_ call: Call, _ at: Date) -> CallEvent {
        CallEvent(
            kind: "connected", at: at, of: call, payload: CallEvent.payload(["answered_at": CallEvent.time(at)]))
    }

    /// nil: none is wanted, or it cannot be written.
    func beginRecording() -> Recording? {
        recordingName.flatMap { Recording.begin(in: settings.recordingsFolder, named: $0, for: self) }
    }

    /// The recording has been begun.
    func recording() {
        let name = recordingName
        update { call in
            call.recording = name
            return []
        }
    }

    /// Who answered, as the carrier has found out.
    func answered(by whom: AnsweredBy) { state.withLock { $0.answeredBy = whom } }

    /// Whom the call is being handed to, and how that goes.
    func transfer(to name: String, operatorID: String?, _ outcome: Call.Transfer.Outcome, reason: String? = nil) {
        guard !isEnded else { return }
        let at = now()
        update { call in
            var transfers = call.transfers ?? []
            if outcome == .ringing {
                transfers.append(Call.Transfer(at: at, operatorID: operatorID, name: name, outcome: outcome))
            } else if let last = transfers.lastIndex(where: { $0.name == name && $0.operatorID == operatorID }) {
                transfers[last].outcome = outcome
                transfers[last].reason = reason
            }
            call.transfers = transfers.suffix(Call.transferLimit)
            return [
                CallEvent(
                    name: "operator_" + outcome.rawValue, at: at, callID: call.id, direction: call.direction,
                    payload: CallEvent.payload(
                        OperatorPayload(operatorId: operatorID, operatorName: name, reason: reason)))
            ]
        }
    }

    /// The server that holds the conversation has been reached.
    func streamOpened(dialect: String) {
        guard !isEnded else { return }
        let at = now()
        logger.info("the media stream is open", metadata: ["dialect": "\(dialect)"])
        update { call in
            call.dialect = dialect
            let payload = CallEvent.payload(["dialect": dialect])
            return [CallEvent(kind: "stream_connected", at: at, of: call, payload: payload)]
        }
    }

    /// It cannot be had, or is lost; who goes on.
    func streamFailed(_ problem: Problem, fallback: BridgeSettings.Fallback) {
        guard !isEnded else { return }
        let at = now()
        update { call in
            call.streamFailure = problem.message
            if fallback == .hangup { call.failureReason = problem.message }
            let payload = CallEvent.payload([
                "code": problem.code.name, "reason": problem.message, "fallback": fallback.rawValue,
            ])
            return [CallEvent(kind: "stream_failed", at: at, of: call, payload: payload)]
        }
    }

    private struct OperatorPayload: Encodable {
        var operatorId: String?
        var operatorName: String
        var reason: String?
    }

    func transcript(_ entry: TranscriptEntry, position: Int) {
        guard settings.savesTranscript, !isEnded else { return }
        let id = callID, direction = direction
        let at = now()
        // Written as JSON here, not on the call's loop.
        entries.yield { store in
            let payload = CallEvent.payload(["entry": TranscriptPayload(entry)])
            try await store.append(
                entry, at: position, to: id,
                event: CallEvent(kind: "transcript", at: at, callID: id, direction: direction, payload: payload))
        }
    }

    func progress(_ tracker: TaskTracker) {
        guard !isEnded else { return }
        let at = now()
        update { call in
            guard call.answers != tracker.answers else { return [] }
            call.answers = tracker.answers
            return [
                CallEvent(
                    kind: "progress", at: at, of: call,
                    payload: CallEvent.payload(ProgressPayload(tracker.answers)))
            ]
        }
    }

    // MARK: Tools

    func toolStarted(_ name: String) {
        guard !isEnded else { return }
        let at = now()
        logger.info("a tool works", metadata: ["tool": "\(name)"])
        update { call in [.toolStarted(name, of: call, at: at)] }
    }

    func toolFinished(_ record: ToolCallRecord) {
        guard !isEnded else { return }
        let at = now(), keepsContent = settings.savesTranscript
        logger.info(
            "a tool has finished",
            metadata: ["tool": "\(record.name)", "status": "\(record.status)", "ms": "\(record.ms)"])
        update { call in
            call.take(record, keepsContent: keepsContent)
            return [.toolFinished(record, of: call, at: at)]
        }
    }

    /// - Parameter outcome: nil where the conversation was held elsewhere, or never began.
    func conversationEnded(_ outcome: Outcome?, reason: EndReason?, media: Call.MediaFigures? = nil) {
        let verdict = state.withLock { $0.answeredBy }
        guard once(\.isEnded) else { return }
        let at = now()
        let isFailure = reason == .providerError || reason == .mediaTimeout
        let generatesSummary = settings.generatesSummary, prices = settings.prices
        let meter = usage, carrier = "telephony/" + carrier
        logger.info("conversation ended", metadata: ["reason": "\(reason?.rawValue ?? "-")"])
        update { [settings] call in
            if reason == .voicemail, settings.retriesVoicemail(of: call) {
                if let answered = call.answeredAt {
                    meter.add(carrier, .milliseconds, Self.milliseconds(from: answered, to: at))
                }
                call.charge(meter.usage, by: prices)
                return try RetryPolicy(settings.retry).redial(&call, at: at)
            }
            try call.apply(.conversationEnded(isFailure: isFailure))
            call.media = media
            if let outcome { call.take(outcome, at: at) } else { call.takeNothing(endReason: reason, at: at) }
            if let verdict, verdict != .unknown { call.answeredBy = verdict }
            if isFailure, call.failureReason == nil { call.failureReason = reason?.rawValue }
            if !generatesSummary { call.summary = nil }
            if let answered = call.answeredAt {
                meter.add(carrier, .milliseconds, Self.milliseconds(from: answered, to: at))
            }
            call.charge(meter.usage, by: prices)
            return [CallEvent.terminal(of: call, at: at)]
        }
    }

    /// Of a call, which lasts a day at most.
    private static func milliseconds(from start: Date, to end: Date) -> Int {
        Int(max(0, min(end.timeIntervalSince(start), 86_400)) * 1_000)
    }

    /// - Returns: how the conversation ended, where it has.
    func took(_ event: CallGraph.Event) -> Outcome? {
        switch event {
        case .warning(let text): logger.warning("\(text)")
        case .transcript(let entry, let position): transcript(entry, position: position)
        case .progress(let tracker): progress(tracker)
        case .toolStarted(let name): toolStarted(name)
        case .toolFinished(let record): toolFinished(record)
        case .transfer: logger.info("the call is to be transferred")
        case .ended(let outcome): return outcome
        }
        return nil
    }
}
