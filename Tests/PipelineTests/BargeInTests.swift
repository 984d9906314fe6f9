import Foundation
import Testing

@testable import Pipeline

@Suite struct BargeInTests {
    /// s: speech over our speech, d: a sound over it that is in doubt, q: speech while we are quiet, m: muted speech,
    /// .: silence over our speech.
    /// Out: index of the frame and p(ause), r(esume), i(nterrupt).
    private func interruptions(
        _ pattern: String, minimumMs: Int = 40, confirmMs: Int = 100, resumeMs: Int = 100,
        words: (Int) -> Int? = { _ in nil }
    )
        -> String
    {
        var stage = BargeIn(.init(minimumMs: minimumMs, confirmMs: confirmMs, resumeMs: resumeMs, minimumWords: 2))
        var result: [String] = []
        for (index, character) in pattern.enumerated() {
            var output: [Interruption] = []
            stage.process(
                BargeInInput(
                    isCallerSpeech: !".d".contains(character), isInDoubt: character == "d",
                    isAISpeaking: character != "q", isMuted: character == "m", words: words(index)),
                into: &output)
            result += output.map { "\(index)\($0 == .pause ? "p" : $0 == .resume ? "r" : "i")" }
        }
        return result.joined(separator: " ")
    }
    @Test func speechOverOursPausesThenInterruptsOnce() { #expect(interruptions("..ssssssss") == "3p 6i") }
    @Test func tooFewWordsDoNot() {
        #expect(interruptions("..ssssssss....." + "....", words: { _ in 1 }) == "3p 14r")
        #expect(interruptions("..ssssssssss", words: { $0 < 9 ? 1 : 2 }) == "3p 9i")
    }
    @Test func longSpeechDoesWhateverItsWords() {
        #expect(interruptions("..ssssssssssssssssssssssssss", words: { _ in 0 }) == "3p 21i")
    }
    @Test func speechWhileWeAreQuietDoesNot() { #expect(interruptions("..qqqqqqq") == "") }
    @Test func mutedSpeechDoesNot() { #expect(interruptions("mmmmmmmm") == "") }
    @Test func aClickDoesNothing() { #expect(interruptions("s..s..s..") == "") }
    @Test func aBackchannelCostsNothing() { #expect(interruptions("sss.....ss") == "1p 7r 9p") }
    @Test func aSoundInDoubtPausesAndIsNoInterruption() {
        #expect(interruptions("..dddddddddd.....") == "3p 16r")
        #expect(interruptions("d..d..d..") == "")
    }
    @Test func aSoundThatProvesToBeSpeechCountsFromItsBeginning() {
        #expect(interruptions("..dddss") == "3p 6i")
        #expect(interruptions("..ddd..ssss") == "3p", "what was given up does not count")
    }
    @Test func shortGapsDoNotEndTheDecision() { #expect(interruptions("ss.s.s.s") == "1p 7i") }
    @Test func interruptsAtOnceWithoutTimeToConfirm() { #expect(interruptions("sss", confirmMs: 40) == "1p 1i") }
}
