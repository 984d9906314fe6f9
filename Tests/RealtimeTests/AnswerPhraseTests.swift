import Testing

@testable import Realtime

/// What the recogniser writes is what the dialogue reads.
struct AnswerPhraseTests {
    private func value(_ phrase: AnswerPhrase, _ kind: Question.Kind, _ choices: [String] = []) -> Answer.Value? {
        EmbeddedPolicy.value(of: phrase.text, question: Question(id: "q1", text: "", kind: kind, choices: choices))
    }

    @Test(arguments: [Question.Kind.boolean, .number, .date])
    func everyAnswerIsReadAsItsMeaning(kind: Question.Kind) {
        for phrase in AnswerPhrase.expected(AnswerHints(kind: kind)) {
            switch phrase.meaning {
            case .yes: #expect(value(phrase, kind) == .boolean(true), "\(phrase.text)")
            case .no: #expect(value(phrase, kind) == .boolean(false), "\(phrase.text)")
            case .number(let number): #expect(value(phrase, kind) == .number(Double(number)), "\(phrase.text)")
            case .date: #expect(value(phrase, kind) == .text(phrase.text), "\(phrase.text)")
            case .choice: Issue.record("there are no choices")
            case .remark: #expect(value(phrase, kind) == nil, "\(phrase.text)")
            }
        }
    }

    @Test func everyChoiceIsReadAsItself() {
        let choices = ["Fish", "red meat", "Vegetables"]
        for phrase in AnswerPhrase.expected(AnswerHints(kind: .choice, choices: choices)) {
            guard case .choice(let index) = phrase.meaning else { continue }
            #expect(value(phrase, .choice, choices) == .text(choices[index]), "\(phrase.text)")
        }
    }

    @Test func aConfirmationCanBeAnsweredByYesAndNo() {
        let meanings = Set(
            AnswerPhrase.expected(AnswerHints(kind: .date, isConfirming: true)).map(\.meaning))
        #expect(meanings.isSuperset(of: [.yes, .no, .date("today")]))
        #expect(!Set(AnswerPhrase.expected(AnswerHints(kind: .date)).map(\.meaning)).contains(.yes))
    }
}
