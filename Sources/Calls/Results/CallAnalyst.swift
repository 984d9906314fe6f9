public import Foundation
public import Logging
internal import Net
internal import Problems
public import Realtime
public import Store

/// Handles every call that has ended: a model summarises it, and the older orchestrator gets its callback.
///
/// A call's end never waits for it: the call has its template summary until the model's is there (`outbound_analyzed`).
/// The work is stored in the transaction that ends the call, so that a restart continues it.
public actor CallAnalyst {
    public struct Settings: Sendable {
        /// nil: summaries stay those of the template.
        public var reviewer: CallReviewer?
        /// Where results are posted in the older orchestrator's form.
        public var callbackURL: String?
        public var prices = PriceList()
        public init() {}

        /// Whether anything is to be done at all.
        public var isNeeded: Bool { reviewer != nil || callbackURL != nil }
    }

    /// Calls looked at at once.
    private static let concurrency = 4
    /// Milliseconds for a review.
    private static let timeoutMs = 30_000
    /// Seconds between two looks without a wake-up.
    private static let longestNap: TimeInterval = 30

    private let settings: Settings
    private let store: CallStore
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let alarm = Alarm()
    private var tasks: [Task<Void, Never>] = []

    public init(
        _ settings: Settings, store: CallStore, logger: Logger, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.settings = settings
        self.store = store
        self.logger = logger
        self.now = now
        store.keepEnded(settings.isNeeded)
    }

    public func start() {
        guard settings.isNeeded else { return }
        tasks.append(Task { await self.run() })
        tasks.append(
            Task { [store, alarm] in
                while !Task.isCancelled {
                    for await event in store.feed.watchInstallation() where CallEvent.terminalNames.contains(event.name)
                    {
                        alarm.ring()
                    }
                    alarm.ring()
                }
            })
    }

    public func stop() {
        for task in tasks { task.cancel() }
        alarm.ring()
    }

    private func run() async {
        while !Task.isCancelled {
            var ended: [String] = []
            do { ended = try await store.endedCalls(limit: Self.concurrency) } catch {
                // A read that `stop` has cut short.
                if Task.isCancelled { return }
                logger.error("cannot read the calls that have ended: \(error)")
            }
            await withTaskGroup(of: Void.self) { group in
                for id in ended { group.addTask { await self.analyze(id) } }
            }
            if ended.isEmpty { await alarm.wait(seconds: Self.longestNap) }
        }
    }

    private func analyze(_ callID: String) async {
        do {
            guard let call = try await store.call(callID), call.state.isTerminal else {
                return try await store.forgetEnded(callID)
            }
            let transcript = try await store.transcript(of: callID)
            var review: CallReview?
            let usage = UsageMeter()
            if let reviewer = settings.reviewer, !call.staysOnMachine,
                transcript.contains(where: { $0.speaker == .customer })
            {
                do {
                    review = try await Deadline.wait(milliseconds: Self.timeoutMs) { [brief = call.brief] in
                        try await reviewer.review(brief, transcript: transcript, usage: usage)
                    }
                    if review == nil {
                        logger.warning("no summary within \(Self.timeoutMs) ms", metadata: ["call": "\(callID)"])
                    }
                } catch { logger.warning("no summary by the model: \(error)", metadata: ["call": "\(callID)"]) }
            }
            try await finish(callID, review, used: usage.usage)
        } catch {
            logger.error("cannot store what was made of a call: \(error)", metadata: ["call": "\(callID)"])
            try? await Task.sleep(for: .seconds(1))
        }
    }

    private func finish(_ callID: String, _ review: CallReview?, used: [ComponentUsage]) async throws(StoreError) {
        let at = now(), prices = settings.prices
        let call = try await store.update(callID) { call in
            guard call.state.isTerminal else { return [] }
            if !used.isEmpty { call.charge(used, by: prices) }
            guard let review else { return [] }
            call.summary = review.summary
            call.isSummaryByModel = true
            call.sentiment = review.sentiment
            return [CallEvent.analyzed(call, at: at)]
        }
        // The older orchestrator is the configuration's, and so the company `default`'s.
        if let url = settings.callbackURL, call.state.isTerminal, call.company == .default {
            try await post(call, to: url, at: at)
        }
        try await store.forgetEnded(callID)
    }

    // MARK: The older orchestrator

    /// Posts a call's result to `result_callback_url`, again if it has been posted before.
    public func postBack(_ callID: String) async throws(StoreError) {
        guard let url = settings.callbackURL else { throw StoreError(.conflict, .noCallbackUrl) }
        guard let call = try await store.of(.default).call(callID) else {
            throw StoreError(.notFound, .noCallNamed, ["id": .text(callID)])
        }
        guard call.state.isTerminal else {
            throw StoreError(.conflict, .noResultYet, ["state": .text(call.state.rawValue)])
        }
        try await post(call, to: url, at: now())
    }

    private func post(_ call: Call, to url: String, at: Date) async throws(StoreError) {
        let transcript = try await store.transcript(of: call.id)
        try await store.enqueue(
            body: OrchestratorResult.body(of: call, transcript: transcript), named: "result_callback", to: url,
            of: call, at: at)
    }
}

/// A result in the form of the older orchestrator (docs/api.md): the members of its request, the pairs of question and
/// answer, and the outcome of the call.
enum OrchestratorResult {
    static func body(of call: Call, transcript: [TranscriptEntry]) -> String {
        var object: [String: Any] = [
            "outbound_id": call.id, "state": call.state.rawValue, "summary": call.summary ?? NSNull(),
            "analysis": [
                "task_completed": call.isTaskCompleted, "answered_by": call.answeredBy.rawValue,
                "end_reason": call.endReason?.rawValue ?? NSNull(),
                "sentiment": call.sentiment?.rawValue ?? NSNull(),
                "duration_seconds": call.duration(at: call.completedAt ?? Date()) ?? NSNull(),
            ] as [String: Any],
            "questions": call.brief.questions.map { question -> [String: Any] in
                let answer = call.answers.first { $0.questionID == question.id }
                return [
                    "question": question.text, "answer": answer?.summary ?? answer?.text ?? NSNull(),
                    "status": answer?.status.rawValue ?? "not_asked",
                ]
            },
            "transcript": transcript.map {
                [
                    "speaker": $0.speaker.rawValue, "text": $0.heardText ?? $0.text,
                    "timestamp": Double($0.startMs) / 1_000,
                ]
            },
        ]
        object["call_id"] = call.providerCallID ?? NSNull()
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        guard let data else { return "{}" }
        // As they came: a decoder would make doubles of all numbers.
        return String(decoding: data.dropLast(), as: UTF8.self)
            + own(call.metadata).map { ",\"\($0.name)\":\($0.json)" }.joined() + "}"
    }

    /// The members of a call's metadata that the older orchestrator knows, as JSON texts.
    private static func own(_ metadata: String?) -> [(name: String, json: String)] {
        var members: [(name: String, json: String)] = []
        var text = metadata ?? "{}"
        text.withUTF8 { bytes in
            _ = JSONMembers.forEach(in: bytes) { key, value in
                let name = String(decoding: key, as: UTF8.self)
                guard ["user", "vulnerability"].contains(name) else { return }
                let quote = value.kind == .string ? 1 : 0
                let range = (value.range.lowerBound - quote)..<(value.range.upperBound + quote)
                members.append((name, String(decoding: bytes[range], as: UTF8.self)))
            }
        }
        return members
    }
}
