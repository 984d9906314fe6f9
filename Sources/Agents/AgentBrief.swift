internal import JSON
public import Realtime

/// What a version of an agent makes of a call: the middle one of three layers. What is nil is as the configuration
/// says, and what the call's request names comes before it.
public struct AgentBrief: Sendable, Equatable {
    /// As a call's `voicemail` names them.
    public static let voicemailActions = ["hang_up", "leave_message", "retry"]

    public var language: String?
    public var purpose: String?
    public var questions: [Question] = []
    public var facts: [Brief.Fact] = []
    /// Seconds.
    public var maxDuration: Int?
    /// One of `voicemailActions`.
    public var voicemailAction: String?
    public var voicemailMessage: String?
    public var profile = AgentProfile()

    public init() {}

    mutating func takeFacts(_ value: JSONValue) {
        let items = value.items ?? []
        let notes = items.compactMap(\.string)
        profile.notes = notes.isEmpty ? nil : notes
        facts = items.compactMap { item in
            guard let question = item["question"]?.string, let answer = item["answer"]?.string else { return nil }
            return Brief.Fact(question: question, answer: answer)
        }
    }

    mutating func takeQuestions(_ value: JSONValue) {
        questions = (value.items ?? []).enumerated().compactMap { index, item in
            let id = "q\(index + 1)"
            if let text = item.string { return Question(id: id, text: text) }
            guard let text = item["text"]?.string else { return nil }
            var question = Question(
                id: id, text: text, kind: item["type"]?.string.flatMap(Question.Kind.init) ?? .text,
                choices: item["choices"]?.texts ?? [], isRequired: item["required"]?.flag ?? true)
            if let deciding = item[path: "ask_if.question"]?.string,
                let equals = item[path: "ask_if.equals"].flatMap({ Answer.Value($0) })
            {
                question.condition = Question.Condition(question: deciding, equals: equals)
            }
            return question
        }
    }
}

extension Answer.Value {
    /// nil: no value of an answer.
    init?(_ value: JSONValue) {
        switch value {
        case .bool(let value): self = .boolean(value)
        case .number(let number):
            guard let value = number.nearest else { return nil }
            self = .number(value)
        case .string(let text): self = .text(text)
        case .null, .array, .object: return nil
        }
    }
}
