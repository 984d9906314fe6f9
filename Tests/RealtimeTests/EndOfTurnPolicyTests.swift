import Foundation
import Pipeline
import Testing

@testable import Realtime

@Suite struct EndOfTurnPolicyTests {
    @Test(arguments: [
        ("I would like a table for four.", "en", EndOfTurnPolicy.Ending.finished),
        ("Yes, I will be there.", "en", .finished),
        ("What?", "en", .finished),
        ("I would like a table for", "en", .dangling), ("I was going to say and", "en", .dangling),
        ("well, um,", "en", .dangling),
        ("Because...", "en", .dangling),
        ("I would like a table", "en", .open), ("my number is 5 5 5", "en", .dictation),
        ("it's five five five one", "en", .dictation),
        ("010 1234", "en", .dictation), ("010 1234 5678", "en", .open), ("four", "en", .open),
        ("there are four of us.", "en", .finished),
        ("", "en", .open),
        ("금요일에 갈게요.", "ko", .finished), ("그런데", "ko", .dangling), ("제가 생각하기에는", "ko", .dangling),
        ("공 일 공", "ko", .dictation),
        ("Да, конечно.", "ru", .finished), ("я думаю что", "ru", .dangling), ("ça va et", "fr", .open),
    ])
    func theEndTellsWhetherItGoesOn(text: String, language: String, ending: EndOfTurnPolicy.Ending) {
        #expect(EndOfTurnPolicy.ending(of: text, language: language) == ending, "\(text)")
    }

    @Test func aShortAnswerToAYesOrNoQuestionIsFinished() {
        let hints = AnswerHints(kind: .boolean)
        #expect(EndOfTurnPolicy.ending(of: "yes please", expecting: hints, language: "en") == .finished)
        #expect(EndOfTurnPolicy.ending(of: "yes but", expecting: hints, language: "en") == .dangling)
    }

    @Test func theWaitsAreInOrder() {
        let policy = EndOfTurnPolicy()
        let waits = ["I will.", "in London", "I will and", "five five five"].map {
            policy.waitMs($0, expecting: nil, language: "en", silenceMs: 600)
        }
        #expect(waits == [350, 600, 1_200, 1_500])
        // A wait set short is never made longer by a finished sentence.
        #expect(policy.waitMs("I will.", expecting: nil, language: "en", silenceMs: 200) == 200)
    }
}
