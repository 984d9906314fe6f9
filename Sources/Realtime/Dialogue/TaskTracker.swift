internal import Foundation

/// The answer to one question.
public struct Answer: Sendable, Equatable, Codable {
    public enum Status: String, Sendable, Codable, CaseIterable {
        case pending, answered, unclear, refused
        case notAsked = "not_asked"
    }
    /// Where the answer was given: the transcript's entry and its span in the recording.
    public struct Evidence: Sendable, Equatable, Codable {
        public var turn: Int
        public var startMs: Int
        public var endMs: Int
        public init(turn: Int, startMs: Int, endMs: Int) {
            self.turn = turn
            self.startMs = startMs
            self.endMs = endMs
        }
    }
    /// How an answer was made sure of, if not by what was said alone.
    public enum Settled: String, Sendable, Codable, CaseIterable {
        /// The callee said yes to "Did you say …?", or said the same again.
        case confirmed
        case keypad
    }
    public enum Value: Sendable, Equatable, Codable {
        case boolean(Bool)
        case number(Double)
        case text(String)

        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let value = try? container.decode(Bool.self) {
                self = .boolean(value)
            } else if let value = try? container.decode(Double.self) {
                self = .number(value)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .boolean(let value): try container.encode(value)
            case .number(let value): try container.encode(value)
            case .text(let value): try container.encode(value)
            }
        }

        /// As it is usually written: a whole number has no decimal point.
        public var text: String {
            switch self {
            case .boolean(let value): value ? "true" : "false"
            case .number(let value):
                value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
            case .text(let value): value
            }
        }
    }
    public var questionID: String
    public var status: Status
    /// The callee's own words, or the keys pressed.
    public var text: String?
    public var summary: String?
    public var value: Value?
    /// 0...1, or nil if the engine gives none; never estimated.
    public var confidence: Double?
    public var confidenceSource: String?
    public var evidence: Evidence?
    public var settled: Settled?

    public init(questionID: String, status: Status = .pending) {
        self.questionID = questionID
        self.status = status
    }
}

/// What the model reports after a turn: the arguments of the tool `report_task_state`, and of the `[TASK_STATE]` block.
public struct TaskReport: Sendable, Equatable, Codable {
    public struct Item: Sendable, Equatable, Codable {
        public var id: String
        public var status: String
        public var answer: String?
        public var summary: String?
        public var value: Answer.Value?
        public var confidence: Double?
        public var settled: Answer.Settled?
        public init(
            id: String, status: Answer.Status, answer: String? = nil, summary: String? = nil,
            value: Answer.Value? = nil, confidence: Double? = nil, settled: Answer.Settled? = nil
        ) {
            self.settled = settled
            self.id = id
            self.status = status.rawValue
            self.answer = answer
            self.summary = summary
            self.value = value
            self.confidence = confidence
        }
    }
    public var purposeStated: Bool?
    /// The question now being asked, if any.
    public var asking: String?
    public var questions: [Item]?
    /// A likely answer that the callee is now asked to confirm.
    public var proposed: Item?
    public var shouldEndCall: Bool?

    public init(purposeStated: Bool? = nil, asking: String? = nil, questions: [Item]? = nil, shouldEndCall: Bool? = nil)
    {
        self.purposeStated = purposeStated
        self.asking = asking
        self.questions = questions
        self.shouldEndCall = shouldEndCall
    }

    enum CodingKeys: String, CodingKey {
        case purposeStated = "purpose_stated"
        case asking
        case questions, proposed
        case shouldEndCall = "should_end_call"
    }
}

/// The state of all questions. Unknown ids, bad JSON and impossible changes are ignored and counted.
public struct TaskTracker: Sendable, Equatable {
    /// Bytes of a report; larger ones are ignored.
    public static let reportLimit = 65_536
    private static let answerLimit = 2_000

    public let questions: [Question]
    public private(set) var answers: [Answer]
    public private(set) var purposeStated = false
    /// The question being asked now.
    public private(set) var asking: String?
    /// How often each question has been put.
    public private(set) var timesAsked: [String: Int] = [:]
    /// A likely answer that the callee is now asked to confirm.
    public private(set) var proposed: TaskReport.Item?
    /// How often likely answers of each question were put to the callee.
    public private(set) var timesProposed: [String: Int] = [:]
    public private(set) var ignoredReports = 0

    public init(questions: [Question]) {
        self.questions = questions
        self.answers = questions.map { Answer(questionID: $0.id) }
    }

    /// The question being asked, or else the first that is still open.
    public var current: Question? {
        if let asking, let question = questions.first(where: { $0.id == asking }) { return question }
        return nextPending
    }

    public var nextPending: Question? {
        questions.first { question in
            answers.contains { $0.questionID == question.id && $0.status == .pending }
                && question.isDue(by: answers) == true
        }
    }

    /// Every required question that is due is answered or refused.
    public var isCompleted: Bool { questions.allSatisfy { !$0.isRequired || $0.isSettled(by: answers) } }

    /// Ids of the questions that are, or may become, due and have no answer.
    var openQuestions: [String] {
        questions.filter { question in
            question.isDue(by: answers) != false
                && answers.contains { $0.questionID == question.id && $0.status == .pending }
        }.map(\.id)
    }

    /// Takes a report as JSON. Returns the ids of the questions whose answer changed.
    @discardableResult
    public mutating func apply(json: String) -> [String] {
        guard json.utf8.count <= Self.reportLimit,
            let report = try? JSONDecoder().decode(TaskReport.self, from: Data(json.utf8))
        else {
            ignoredReports += 1
            return []
        }
        return apply(report)
    }

    @discardableResult
    public mutating func apply(_ report: TaskReport) -> [String] {
        var changed: [String] = []
        if report.purposeStated == true { purposeStated = true }
        proposed = report.proposed.flatMap { item in questions.contains { $0.id == item.id } ? item : nil }
        if let proposed { timesProposed[proposed.id, default: 0] += 1 }
        for item in report.questions ?? [] {
            guard let index = answers.firstIndex(where: { $0.questionID == item.id }),
                let status = Answer.Status(rawValue: item.status), isPossible(from: answers[index].status, to: status),
                item.confidence.map({ (0...1).contains($0) }) ?? true
            else {
                ignoredReports += 1
                continue
            }
            let before = answers[index]
            answers[index].status = status
            if status != .pending {
                answers[index].text = item.answer.map { String($0.prefix(Self.answerLimit)) }
                answers[index].summary = item.summary.map { String($0.prefix(Self.answerLimit)) }
                answers[index].value = item.value
                answers[index].settled = item.settled
                answers[index].confidence = item.confidence
                answers[index].confidenceSource = item.confidence == nil ? nil : "model"
            }
            if answers[index] != before { changed.append(item.id) }
        }
        if let asking = report.asking {
            if questions.contains(where: { $0.id == asking }) {
                self.asking = asking
                timesAsked[asking, default: 0] += 1
            } else {
                ignoredReports += 1
            }
        }
        return changed
    }

    /// A settled answer may be corrected, but never be made open again; nothing becomes "not asked" by a report.
    private func isPossible(from old: Answer.Status, to new: Answer.Status) -> Bool {
        switch new {
        case .notAsked: false
        case .pending: old == .pending
        case .answered, .unclear, .refused: true
        }
    }

    public mutating func attach(_ evidence: Answer.Evidence, to ids: [String]) {
        for index in answers.indices where ids.contains(answers[index].questionID) {
            answers[index].evidence = evidence
        }
    }

    /// The call is over: what is still open becomes `unclear` if it was put, else `not_asked`.
    public mutating func close() {
        for index in answers.indices where answers[index].status == .pending {
            let wasAsked = timesAsked[answers[index].questionID, default: 0] > 0
            answers[index].status = wasAsked ? .unclear : .notAsked
        }
    }
}
