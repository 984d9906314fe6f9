public import Foundation
internal import Problems
public import Realtime
public import Store

/// One call, from request or arrival to result.
public struct Call: Sendable, Equatable, Codable {
    /// One attempt to reach the number.
    public struct Attempt: Sendable, Equatable, Codable {
        public var startedAt: Date
        public var endedAt: Date?
        /// `connected`, `no_answer`, `busy`, `rejected`, `failed`, `cancelled`; nil while it lasts.
        public var outcome: String?
        public var code: Int?
        public var reason: String?
    }

    // What was asked for.
    /// `ob-` or `in-` and 8 hex digits.
    public var id: String
    public var direction: CallDirection
    /// Ours: shown to whom we call, or called by the other party.
    public var localNumber: String
    /// The other party's.
    public var remoteNumber: String
    public var brief: Brief
    public var maxDuration: Int
    public var priority: Int
    public var scheduledAt: Date?
    public var retryOnNoAnswer: Bool
    public var maxRetries: Int
    /// The request's `metadata`, as JSON text.
    public var metadata: String?
    public var requestedBy: String
    /// Where the events of this call are posted.
    public var webhookURL: String?
    /// What is done when an answering machine has it; nil: as for all calls.
    public var voicemail: VoicemailPolicy?
    /// Another server holds the conversation; nil: as `bridge.stream_url` says.
    public var stream: Stream?

    // What became of it.
    /// The Call-ID in SIP, or the id at the provider.
    public var providerCallID: String?
    /// What carries its sound to us, one of `Carriers.recorded`; of all attempts the last. nil: not dialled yet, or
    /// older than this.
    public var carrier: String?
    /// Dialect of its media stream; nil: there was none to another server.
    public var dialect: String?
    public var state: CallState = .queued
    public var createdAt: Date
    public var startedAt: Date?
    public var answeredAt: Date?
    public var completedAt: Date?
    public var attempts: [Attempt] = []
    /// Attempts made since the last time an operator asked for a retry.
    public var attemptsThisRound = 0
    public var nextAttemptAt: Date?
    public var failureReason: String?
    /// Why the server that was to hold the conversation does not.
    public var streamFailure: String?
    public var endReason: EndReason?
    public var answeredBy: AnsweredBy = .unknown
    public var answers: [Answer]
    public var summary: String?
    /// A model made it, not the template.
    public var isSummaryByModel: Bool?
    /// How the other party took the call; by a model.
    public var sentiment: CallReview.Sentiment?
    /// What the call has used, all attempts together, and what that cost by the prices of its day.
    public var usage: [ComponentUsage]?
    public var cost: Cost?
    public var latencies: [TurnLatency] = []
    public var interruptions = 0
    /// File name inside the recordings folder.
    public var recording: String?
    public var media: MediaFigures?
    /// The final figures of its stages and queues, as JSON of a `GraphReading`.
    public var graph: String?
    /// Rules that stood in the way, oldest first.
    public var blocks: [Block]?
    /// The operator whom an inbound call was for.
    public var operatorName: String?
    /// Attempts to hand it to a person, oldest first.
    public var transfers: [Transfer]?
    /// Answers that were corrected by hand, oldest first.
    public var corrections: [Correction]?
    /// Calls of the agent's tools, in the order in which they finished.
    public var toolCalls: [ToolCallRecord]?

    /// An attempt to hand the call to a person.
    public struct Transfer: Sendable, Equatable, Codable {
        public enum Outcome: String, Sendable, Codable { case ringing, connected, failed }
        public var at: Date
        /// An operator's name, or a number.
        public var operatorID: String?
        public var name: String
        public var outcome: Outcome
        public var reason: String?
    }
    /// Transfers of one call that are kept.
    static let transferLimit = 50

    /// An answer before a correction.
    public struct Correction: Sendable, Equatable, Codable {
        public var at: Date
        public var by: String
        public var before: Answer
    }
    /// Corrections of one call that are kept.
    public static let correctionLimit = 200

    /// What the RTP of the call looked like.
    public struct MediaFigures: Sendable, Equatable, Codable {
        public var received = 0
        public var sent = 0
        public var lost = 0
        public var late = 0
        public var concealed = 0
        /// Frames that were dropped between RTP and the media stream: the other party's, because the stream took no
        /// more, and the stream's, because it sent faster than they are played.
        public var unsent: Int?
        public var refused: Int?
        /// Milliseconds, by RTCP where it must be.
        public var jitterMs: Double?
        public var roundTripMs: Double?
        /// Mean opinion score of what we heard, estimated (ITU-T G.107).
        public var opinionScore: Double?
        public init() {}
    }

    public init(
        id: String? = nil, direction: CallDirection = .outbound, localNumber: String, remoteNumber: String,
        brief: Brief, maxDuration: Int = 180, priority: Int = 5,
        scheduledAt: Date? = nil, retryOnNoAnswer: Bool = true, maxRetries: Int = 2, metadata: String? = nil,
        requestedBy: String = "operator", webhookURL: String? = nil, voicemail: VoicemailPolicy? = nil,
        stream: Stream? = nil, createdAt: Date
    ) {
        self.voicemail = voicemail
        self.stream = stream
        self.id = id ?? direction.newID()
        self.direction = direction
        self.localNumber = localNumber
        self.remoteNumber = remoteNumber
        self.brief = brief
        self.maxDuration = maxDuration
        self.priority = priority
        self.scheduledAt = scheduledAt
        self.retryOnNoAnswer = retryOnNoAnswer
        self.maxRetries = maxRetries
        self.metadata = metadata
        self.requestedBy = requestedBy
        self.webhookURL = webhookURL
        self.createdAt = createdAt
        self.answers = TaskTracker(questions: brief.questions).answers
        self.nextAttemptAt = scheduledAt
    }

    /// Every required question that was due is answered or refused.
    public var isTaskCompleted: Bool { brief.questions.allSatisfy { !$0.isRequired || $0.isSettled(by: answers) } }

    /// Replaces an answer by a corrected one, and keeps the old one.
    public mutating func correct(_ questionID: String, by who: String, at date: Date, _ change: (inout Answer) -> Void)
        throws(StoreError)
    {
        guard let index = answers.firstIndex(where: { $0.questionID == questionID }) else {
            throw StoreError(.notFound, .noQuestion, ["id": .text(questionID)])
        }
        guard (corrections ?? []).count < Self.correctionLimit else {
            throw StoreError(.conflict, .correctedTooOften)
        }
        corrections = (corrections ?? []) + [Correction(at: date, by: who, before: answers[index])]
        change(&answers[index])
        if isSummaryByModel != true { summary = summary.map { _ in TemplateSummary.of(self) } }
    }

    /// Seconds from answer to end, or until `now`.
    public func duration(at now: Date) -> Double? {
        answeredAt.map { max(0, (completedAt ?? now).timeIntervalSince($0)) }
    }

    /// Takes over what came of the conversation.
    mutating func take(_ outcome: Outcome, at date: Date) {
        completedAt = date
        endReason = outcome.endReason
        answers = outcome.tracker.answers
        answeredBy = outcome.answeredBy
        latencies = outcome.latencies
        interruptions = outcome.interruptions
        graph = outcome.graph.flatMap { try? JSONEncoder().encode($0) }.map { String(decoding: $0, as: UTF8.self) }
        if outcome.endReason == .providerError {
            failureReason = outcome.failure.map { "a speech engine failed: \($0)" }
        }
        endAttempt(at: date)
        summary = TemplateSummary.of(self)
        isSummaryByModel = nil
        sentiment = nil
    }

    /// Keeps what a tool was asked and gave, the first `ToolCallRecord.limit` of them.
    mutating func take(_ record: ToolCallRecord, keepsContent: Bool) {
        var record = record
        if !keepsContent { (record.arguments, record.result) = ("", "") }
        toolCalls = Array(((toolCalls ?? []) + [record]).prefix(ToolCallRecord.limit))
    }

    /// Counts what an attempt has used.
    mutating func charge(_ used: [ComponentUsage], by prices: PriceList) {
        usage = ComponentUsage.joined(usage ?? [], used)
        cost = prices.cost(of: usage ?? [])
    }

    /// The conversation was held elsewhere (`bridge.stream_url`), or never began.
    mutating func takeNothing(endReason reason: EndReason?, at date: Date) {
        completedAt = date
        endReason = reason
        closeAnswers()
        endAttempt(at: date)
    }

    private mutating func endAttempt(at date: Date) {
        guard !attempts.isEmpty else { return }
        attempts[attempts.count - 1].endedAt = date
        attempts[attempts.count - 1].outcome = "connected"
    }

    /// Applies a transition; refuses what cannot follow.
    public mutating func apply(_ event: CallStateMachine.Event) throws(CallStateMachine.ImpossibleTransition) {
        var machine = CallStateMachine(state)
        state = try machine.apply(event)
    }
}
