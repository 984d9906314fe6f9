import Foundation
import Pipeline
import Testing

@testable import Realtime

@Suite struct AnswerReadingTests {
    private static let boolean = Question(id: "q1", text: "Will you attend?")
    private static let number = Question(id: "q1", text: "How many?", kind: .number)
    private static let choice = Question(id: "q1", text: "Which?", kind: .choice, choices: ["red wine", "white wine"])
    private static let date = Question(id: "q1", text: "When?", kind: .date)

    static let cases: [(String, Question?, Intent)] = [
        ("yes i will be there", boolean, .answer(.boolean(true))), ("no thank you", boolean, .answer(.boolean(false))),
        ("I'm not sure", boolean, .dontKnow), ("nope", boolean, .answer(.boolean(false))), ("four", boolean, .other),
        ("can you repeat that", boolean, .repeatPlease), ("who is this", boolean, .whoIsThis),
        ("i'm busy right now", boolean, .busy),
        ("please call me back later", boolean, .busy), ("you have the wrong number", boolean, .wrongNumber),
        ("stop calling me", boolean, .refusal), ("", boolean, .nothing), ("hello", boolean, .hello),
        ("please leave a message after the tone", boolean, .voicemail),
        ("there are four of us", number, .answer(.number(4))),
        ("twenty five", number, .answer(.number(25))), ("two hundred and six", number, .answer(.number(206))),
        ("yes", number, .other),
        ("the white wine please", choice, .answer(.text("white wine"))),
        ("on friday", date, .answer(.text("on friday"))),
        ("yes", nil, .other),
    ]
    @Test(arguments: cases.indices) func wordsHaveTheirMeaning(index: Int) {
        let (text, question, intent) = Self.cases[index]
        #expect(AnswerReading(texts: .of("en")).intent(of: text, question: question) == intent)
    }

    @Test func koreanAndRussianWords() {
        #expect(AnswerReading(texts: .of("ko")).intent(of: "네 갈게요", question: Self.boolean) == .answer(.boolean(true)))
        #expect(
            AnswerReading(texts: .of("ko-KR")).intent(of: "아니요", question: Self.boolean) == .answer(.boolean(false)))
        #expect(
            AnswerReading(texts: .of("ru")).intent(of: "да, конечно", question: Self.boolean) == .answer(.boolean(true))
        )
    }

    @Test(arguments: [
        ("네 명이요", 4), ("네명", 4), ("4명입니다", 4), ("다섯 명", 5), ("다섯이요", 5), ("스물다섯 명", 25), ("이십오 명", 25), ("열두 명 정도", 12),
        ("우리 세 사람이요", 3), ("백이십 명", 120), ("스무 명", 20), ("혼자 갑니다", 1), ("двое", 2), ("нас будет пятеро", 5),
        ("двадцать пять человек", 25), ("сто двадцать", 120), ("пять двадцать", 5), ("только я", 1), ("8", 8),
    ]) func koreanAndRussianNumbers(text: String, number: Double) {
        let language = text.unicodeScalars.contains { (0x400...0x4FF).contains($0.value) } ? "ru" : "ko"
        #expect(
            AnswerReading(texts: .of(language)).intent(of: text, question: Self.number) == .answer(.number(number)))
    }

    @Test(arguments: ["네", "아니요", "이 근처예요", "오세요", "일이 있어요", "세상에", "두고 보죠", "да", "не знаю точно"])
    func whatIsNoNumberInKoreanOrRussian(text: String) {
        for language in ["ko", "ru"] {
            if case .answer(let value) = AnswerReading(texts: .of(language)).intent(of: text, question: Self.number) {
                Issue.record("\(text) is \(value)")
            }
        }
    }

    @Test(arguments: [
        ("ko", "금요일이요", true), ("ko", "내일 오후 세 시", true), ("ko", "다음 주에요", true), ("ko", "날씨가 좋네요", false),
        ("ru", "в пятницу вечером", true), ("ru", "завтра", true), ("ru", "в пять часов", true),
        ("ru", "погода хорошая", false),
    ]) func koreanAndRussianDays(language: String, text: String, isDate: Bool) {
        let intent = AnswerReading(texts: .of(language)).intent(of: text, question: Self.date)
        #expect((intent == .answer(.text(text))) == isDate)
    }

    @Test func keysAnswer() {
        let reading = AnswerReading(texts: .of("en"))
        #expect(reading.intent(ofKeys: "1", question: Self.boolean) == .answer(.boolean(true)))
        #expect(reading.intent(ofKeys: "2", question: Self.boolean) == .answer(.boolean(false)))
        #expect(reading.intent(ofKeys: "9", question: Self.boolean) == .other)
        #expect(reading.intent(ofKeys: "42", question: Self.number) == .answer(.number(42)))
        #expect(reading.intent(ofKeys: "2", question: Self.choice) == .answer(.text("white wine")))
    }
}
