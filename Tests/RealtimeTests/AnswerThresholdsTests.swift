import Testing

@testable import Realtime

struct AnswerThresholdsTests {
    private func judge(_ score: Float, _ margin: Float, text: String = "I'm", textScore: Float = -1) -> TranscriptEvent
    {
        AnswerThresholds().judge(
            HeardTurn(phrase: .init(text: "Five.", score: score, margin: margin), text: text, score: textScore))
    }

    @Test func aLikelyPhraseFarBeforeAllOthersIsCertain() {
        #expect(judge(-1, 8) == .final(text: "Five.", confidence: nil))
    }

    @Test(arguments: [(-1, 1.5), (-11, 8)] as [(Float, Float)])
    func aPhraseThatIsLessClearIsAskedBack(score: Float, margin: Float) {
        #expect(judge(score, margin) == .final(text: "Five.", confidence: nil, isUncertain: true))
    }

    @Test(arguments: [(-1, 0.1), (-19, 8), (.nan, 8)] as [(Float, Float)])
    func whereNoPhraseFitsTheTextIsDoubtful(score: Float, margin: Float) {
        #expect(judge(score, margin) == .final(text: "I'm", confidence: nil, isUncertain: true))
    }

    @Test func aTextThatIsUnlikelyIsNone() {
        #expect(judge(-19, 0, text: "a train", textScore: -30) == .final(text: "", confidence: nil))
    }

    /// "Yes, please do." is no phrase, but its beginning is.
    @Test(
        arguments: [
            ("Five of us.", -2, 7, false), ("Five of us.", -8, 7, true), ("Five of us.", -2, 3, true),
            ("Fife of us.", -2, 7, true), ("Five.", -1, 7, true),
        ] as [(String, Float, Float, Bool)])
    func aLikelySentenceThatBeginsWithThePhraseIsCertain(
        text: String, textScore: Float, margin: Float, isUncertain: Bool
    ) {
        let heard = judge(-6, margin, text: text, textScore: textScore)
        #expect(heard == .final(text: isUncertain ? "Five." : text, confidence: nil, isUncertain: isUncertain))
    }

    @Test func aLongTurnIsItsText() {
        let turn = HeardTurn(phrase: nil, text: "The train was late", score: -3)
        #expect(AnswerThresholds().judge(turn) == .final(text: "The train was late", confidence: nil))
    }
}
