internal import Foundation
internal import Realtime
public import Store
internal import Synchronization

/// A page of calls, newest first.
public struct CallPage: Sendable {
    public var items: [Call]
    /// Pass it to get the next page; nil on the last.
    public var nextCursor: Int64?
    public var total: Int
    /// There are more than were counted.
    public var isTotalCapped = false

    init(_ page: RecordPage) throws {
        items = try Storage.opened(page.records) { try StoredCall.call($0) }
        nextCursor = page.nextCursor
        total = page.total
        isTotalCapped = page.isTotalCapped
    }
}

/// Calls that have not ended, oldest first, and how many there are in each state, asked for or not.
public struct ActiveCalls: Sendable {
    public var page: CallPage
    public var states: [CallState: Int] = [:]
}

/// Totals for the dashboard.
public struct CallStatistics: Sendable {
    public var totals: CallTotals
    /// Question text → status or value → count.
    public var answers: [String: [String: Int]] = [:]
}

/// How the questions of an ended call were answered. It holds as long as the record is the same, byte for byte.
struct AnswerSample: Sendable {
    let record: Data
    let answers: [(question: String, label: String)]

    init(_ record: Data, of call: Call) {
        self.record = record
        answers = call.brief.questions.compactMap { question in
            guard let answer = call.answers.first(where: { $0.questionID == question.id }) else { return nil }
            return (question.text, Self.label(of: answer, to: question))
        }
    }

    /// What answers that mean the same have in common: the status, or the typed value; in an open question only words.
    private static func label(of answer: Answer, to question: Question) -> String {
        guard answer.status == .answered else { return answer.status.rawValue }
        switch (answer.value, question.kind) {
        case (.boolean(let isYes), _): return isYes ? "yes" : "no"
        case (.some(let value), .number), (.some(let value), .choice), (.some(let value), .date): return value.text
        default: return answer.summary ?? answer.text ?? "answered"
        }
    }
}

extension CompanyStore {
    /// Ended calls looked at for the distribution of answers.
    private static let answerSampleLimit = 200

    /// A page of calls. What is searched is found in purposes by words, in ids by their beginning, and in numbers whole
    /// or by the last four digits.
    public func page(_ filter: CallFilter) async throws(StoreError) -> CallPage {
        try await storage.read { [company] in try CallPage(try $0.calls.page(company, filter)) }
    }

    /// Those that have not ended: however long the queue is, a page of them.
    public func active(_ filter: ActiveFilter) async throws(StoreError) -> ActiveCalls {
        try await storage.read { [company] work in
            let active = try work.calls.active(company, filter)
            return ActiveCalls(page: try CallPage(active.page), states: active.states)
        }
    }

    public func statistics() async throws(StoreError) -> CallStatistics {
        try await storage.read { [company, store] work in
            var result = CallStatistics(totals: try work.calls.totals(company))
            let known = store.samples.withLock { $0[company] ?? [:] }
            let found = try Storage.opened(try work.calls.answered(company, limit: Self.answerSampleLimit)) {
                record -> (String, AnswerSample) in
                if let known = known[record.id], known.record == record.encrypted { return (record.id, known) }
                return (record.id, AnswerSample(record.encrypted, of: try StoredCall.call(record)))
            }
            var sample: [String: AnswerSample] = [:]
            for (id, one) in found {
                sample[id] = one
                for answer in one.answers {
                    result.answers[answer.question, default: [:]][answer.label, default: 0] += 1
                }
            }
            store.samples.withLock { $0[company] = sample }
            return result
        }
    }
}
