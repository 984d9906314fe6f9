import Testing

@testable import Realtime

/// A response to words that may not have been all.
@Suite struct SpeculativeResponseTests {
    @Test(arguments: [
        ("in London", "In London.", true), ("in London", "in  london!", true), ("in London", "in London, or", false),
        ("네 갈게요", "네, 갈게요.", true), ("four", "five", false), ("yes", "", false),
    ])
    func itAnswersTheSameWordsHoweverTheyAreWritten(guessed: String, said: String, answers: Bool) {
        #expect(SpeculativeResponse(to: guessed).answers(said) == answers)
    }

    @Test func itKeepsWhatItIsToldInOrder() {
        var response = SpeculativeResponse(to: "yes")
        #expect(response.keep(.text("Thank ")) == true)
        #expect(response.keep(.text("you.")) == true)
        #expect(!response.isFinished)
        response.finish()
        #expect(response.events == [.text("Thank "), .text("you.")] && response.isFinished)
    }

    @Test func itHasALimit() {
        var response = SpeculativeResponse(to: "yes")
        for _ in 0..<SpeculativeResponse.limit { #expect(response.keep(.text("a")) == true) }
        #expect(response.keep(.text("a")) == false)
        #expect(response.events.count == SpeculativeResponse.limit)
    }

    /// A model that talks without end while the caller does is stopped.
    @Test func oneThatIsTooLongIsGivenUp() {
        var machine = DialogueMachine(brief: Brief(purpose: "x", questions: []), canRecognizeSpeech: true)
        _ = machine.mediaStarted(at: 0)
        _ = machine.model(.text("Hello."), generation: 1, at: 10)
        _ = machine.modelFinished(generation: 1, at: 10)
        _ = machine.turnHeard("Hello.", turn: 1, isInterrupted: false, at: 1_000)
        _ = machine.speechStarted(at: 2_000)
        guard case .requestModel(_, let generation)? = machine.transcript(.pause("in London"), at: 2_500).last else {
            Issue.record("nothing is asked for")
            return
        }
        for _ in 0..<SpeculativeResponse.limit {
            #expect(machine.model(.text("a"), generation: generation, at: 2_600).isEmpty)
        }
        #expect(machine.model(.text("a"), generation: generation, at: 2_600) == [.cancelModel])
        #expect(machine.model(.text("a"), generation: generation, at: 2_600).isEmpty)
    }

    /// A sound that gave no words after all leaves nothing running behind.
    @Test func aGuessAtNoWordsIsDropped() {
        var machine = DialogueMachine(brief: Brief(purpose: "x", questions: []), canRecognizeSpeech: true)
        _ = machine.mediaStarted(at: 0)
        _ = machine.model(.text("Hello."), generation: 1, at: 10)
        _ = machine.modelFinished(generation: 1, at: 10)
        _ = machine.turnHeard("Hello.", turn: 1, isInterrupted: false, at: 1_000)
        _ = machine.speechStarted(at: 2_000)
        _ = machine.transcript(.pause("in London"), at: 2_100)
        _ = machine.speechEnded(spokenMs: 200, at: 2_800)
        #expect(machine.transcript(.final(text: "", confidence: nil), at: 2_900) == [.cancelModel])
    }
}
