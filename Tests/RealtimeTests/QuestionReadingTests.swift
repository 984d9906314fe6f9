import Foundation
import Pipeline
import Testing

@testable import Realtime

@Suite struct QuestionReadingTests {
    @Test(arguments: [
        ("Will you attend?", Question.Kind.boolean), ("Have you moved?", .boolean),
        ("How many people will come?", .number),
        ("When can you come?", .date), ("What day suits you?", .date), ("What is your address?", .text),
        ("Your name is Kim, right?", .boolean),
        ("몇 명이 오시나요?", .number), ("참석하시나요?", .boolean), ("언제 오시나요?", .date), ("Сколько вас будет?", .number),
    ])
    func wordingTellsTheKind(text: String, kind: Question.Kind) {
        #expect(QuestionReading(Question(id: "q1", text: text)).kind == kind)
    }
    @Test func theRequestWins() {
        #expect(QuestionReading(Question(id: "q1", text: "Will you?", kind: .number)).kind == .number)
    }
}
