internal import Foundation

/// What a call should achieve.
public struct Brief: Sendable, Equatable, Codable {
    public var purpose: String
    public var callerDisplayName: String
    public var questions: [Question]
    /// BCP 47, e.g. `en`, `ko`.
    public var language: String
    /// AI turns after which the call is ended.
    public var maxTurns: Int
    /// Replace the embedded greeting and closing where set; `{caller}` and `{purpose}` are filled in.
    public var greetingTemplate: String?
    public var closingTemplate: String?
    /// Questions that the other party may ask in this call, with their answers.
    public var facts: [Fact]?
    /// The other party has called us, so no purpose of the call is stated.
    public var isIncoming: Bool?

    /// A question that may come, with its answer.
    public struct Fact: Sendable, Equatable, Codable {
        public var question: String
        public var answer: String
        public init(question: String, answer: String) {
            self.question = question
            self.answer = answer
        }
    }

    public init(
        purpose: String, callerDisplayName: String = "", questions: [Question], language: String = "en",
        maxTurns: Int = 20,
        greetingTemplate: String? = nil, closingTemplate: String? = nil, facts: [Fact]? = nil
    ) {
        self.facts = facts
        self.purpose = purpose
        self.callerDisplayName = callerDisplayName
        self.questions = questions
        self.language = language
        self.maxTurns = maxTurns
        self.greetingTemplate = greetingTemplate
        self.closingTemplate = closingTemplate
    }
}

/// One thing that must be confirmed.
public struct Question: Sendable, Equatable, Codable, Identifiable {
    public enum Kind: String, Sendable, Codable, CaseIterable { case text, boolean, number, choice, date }
    /// `q1`, `q2`, …
    public var id: String
    public var text: String
    /// As given; `text` if the request gave a bare string.
    public var kind: Kind
    public var choices: [String]
    public var isRequired: Bool
    /// Only asked when an earlier question has this answer.
    public var condition: Condition?

    public struct Condition: Sendable, Equatable, Codable {
        /// The id of an earlier question.
        public var question: String
        public var equals: Answer.Value
        public init(question: String, equals: Answer.Value) {
            self.question = question
            self.equals = equals
        }
    }

    public init(
        id: String, text: String, kind: Kind = .text, choices: [String] = [], isRequired: Bool = true,
        condition: Condition? = nil
    ) {
        self.id = id
        self.text = text
        self.kind = kind
        self.choices = choices
        self.isRequired = isRequired
        self.condition = condition
    }
}

extension Question {
    /// Whether the question is to be asked; nil while the question that it depends on is open.
    func isDue(by answers: [Answer]) -> Bool? {
        guard let condition else { return true }
        guard let deciding = answers.first(where: { $0.questionID == condition.question }) else { return false }
        switch deciding.status {
        case .pending: return nil
        case .unclear, .refused, .notAsked: return false
        case .answered: return condition.isMet(by: deciding)
        }
    }

    /// It has an answer, was refused, or was not due.
    public func isSettled(by answers: [Answer]) -> Bool {
        if isDue(by: answers) == false { return true }
        return answers.contains { $0.questionID == id && ($0.status == .answered || $0.status == .refused) }
    }
}

extension Question.Condition {
    /// Texts are compared without regard to case, numbers and truth values by their value; models report both `"yes"`
    /// and `true`.
    func isMet(by answer: Answer) -> Bool {
        switch (equals, answer.value) {
        case (.boolean(let wanted), .boolean(let given)): return wanted == given
        case (.number(let wanted), .number(let given)): return wanted == given
        default: break
        }
        let given = [answer.value?.text, answer.summary, answer.text].compactMap { $0.map(Self.plain) }
        switch equals {
        case .boolean(let wanted):
            return given.contains {
                (wanted ? ["true", "yes", "네", "예", "да"] : ["false", "no", "아니요", "아니오", "нет"]).contains($0)
            }
        case .number, .text: return given.contains(Self.plain(equals.text))
        }
    }

    private static func plain(_ text: String) -> String {
        text.lowercased().trimmingCharacters(in: .whitespacesAndNewlines.union(.punctuationCharacters))
    }

    /// For a model: `when q1 is "yes"`.
    var words: String { "only if the answer to \(question) is \"\(equals.text)\"" }
}
