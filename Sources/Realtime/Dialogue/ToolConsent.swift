internal import Foundation

/// The other party's consent to a tool. Only a yes that follows the whole question counts: no word of the model, and no
/// word from before.
struct ToolConsent: Sendable, Equatable {
    /// How often the question is put.
    static let askLimit = 2

    enum State: Sendable, Equatable {
        /// The question is to be put.
        case due
        /// A speech model has been told to put it.
        case ordered
        /// It is in this turn of ours.
        case asked(turn: Int32)
        /// It has been heard to its end.
        case heard(at: Int)
    }

    /// Of the tool call.
    let number: Int
    var timesAsked = 0
    var state = State.due

    init(number: Int) { self.number = number }
}

extension ToolLedger {
    enum Consent: Sendable, Equatable {
        case given(ToolCall)
        case refused(ToolCall, ToolResult)
        /// The words were no answer.
        case none
    }

    var awaitsConsent: Bool { !consents.isEmpty }

    /// The tool that the other party is to be asked about now.
    var questionDue: CallTool? {
        guard let consent = consents.first, consent.state == .due else { return nil }
        return entries.first { $0.call.number == consent.number }?.tool
    }

    /// The question cannot be put again: the call of the tool is refused.
    mutating func consentExhausted() -> (call: ToolCall, result: ToolResult)? {
        guard let consent = consents.first, consent.state == .due, consent.timesAsked >= ToolConsent.askLimit else {
            return nil
        }
        return refuse(consent.number, "the other party has not agreed")
    }

    mutating func questionOrdered() { if !consents.isEmpty { consents[0].state = .ordered } }

    /// The turn of ours that begins is the question.
    mutating func questionAsked(turn: Int32) {
        guard !consents.isEmpty else { return }
        consents[0].timesAsked += 1
        consents[0].state = .asked(turn: turn)
    }

    /// What was ordered of a speech model is not said.
    mutating func questionLost() {
        guard let consent = consents.first else { return }
        switch consent.state {
        case .ordered, .asked: consents[0].state = .due
        case .due, .heard: break
        }
    }

    /// A turn of ours has been heard.
    /// - Returns: whether it was the question.
    mutating func questionHeard(turn: Int32, isInterrupted: Bool, at now: Int) -> Bool {
        guard let consent = consents.first, consent.state == .asked(turn: turn) else { return false }
        consents[0].state = isInterrupted ? .due : .heard(at: now)
        return true
    }

    /// Nothing was said to the question.
    mutating func questionUnanswered() { if !consents.isEmpty { consents[0].state = .due } }

    /// The other party has said something.
    /// - Parameters:
    ///   - answer: what it means as an answer; nil: neither yes nor no.
    ///   - since: when they began to say it; nil: nobody knows.
    mutating func answered(_ answer: Bool?, since: Int?, at now: Int) -> Consent {
        guard let consent = consents.first else { return .none }
        guard case .heard(let heardAt) = consent.state, let since, since >= heardAt, let answer else {
            if case .heard = consent.state { consents[0].state = .due }
            return .none
        }
        guard answer else {
            return refuse(consent.number, "the other party said no").map { .refused($0.call, $0.result) } ?? .none
        }
        consents.removeFirst()
        return start(consent.number, at: now).map { .given($0) } ?? .none
    }

    private mutating func refuse(_ number: Int, _ message: String) -> (call: ToolCall, result: ToolResult)? {
        consents.removeAll { $0.number == number }
        let result = ToolResult.refused(message)
        return finish(number, result).map { ($0, result) }
    }

    /// Reads words as an answer to the question.
    static func answer(in words: String, language: String) -> Bool? {
        let reading = AnswerReading(texts: PolicyTexts.of(language), detectsMachines: false)
        return meaning(of: reading.intent(of: words, question: question))
    }

    /// Reads keys: 1 is yes, 2 is no.
    static func answer(inKeys keys: String, language: String) -> Bool? {
        let reading = AnswerReading(texts: PolicyTexts.of(language), detectsMachines: false)
        return meaning(of: reading.intent(ofKeys: keys, question: question))
    }

    private static let question = Question(id: "", text: "", kind: .boolean)

    private static func meaning(of intent: Intent) -> Bool? {
        switch intent {
        case .answer(.boolean(let answer)): answer
        case .refusal, .busy: false
        default: nil
        }
    }

    /// What the other party is asked.
    static func question(about tool: CallTool, language: String) -> String {
        let action = tool.purpose.trimmingCharacters(in: .whitespacesAndNewlines.union(.punctuationCharacters))
        return PolicyTexts.of(language)("tool_consent", ["action": String(action.prefix(questionLimit))])
    }
    /// Characters of a tool's purpose in the question.
    private static let questionLimit = 200
}
