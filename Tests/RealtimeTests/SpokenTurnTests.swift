import Testing

@testable import Realtime

/// Our turn, from its first sentence until it is heard or cut off.
@Suite struct SpokenTurnTests {
    @Test func sentencesComeAsTheyAreComplete() {
        var turn = SpokenTurn()
        turn.begin()
        #expect(turn.number == 1 && turn.speech == .silent)
        #expect(turn.write("Hello. Where do ") == ["Hello."])
        #expect(turn.isSpeaking)
        #expect(turn.write("you live?") == [])
        #expect(turn.finishWriting() == ["Where do you live?"])
    }

    @Test(arguments: [
        ("", "Hello, this is a test. Where?"), ("Hello, this is a", "test. Where?"),
        ("Hello, this is a te", "test. Where?"), ("Hello, this is a test. Where?", nil),
    ])
    func whatIsCutOffIsSaidFromTheBeginOfAWord(heard: String, rest: String?) {
        var turn = SpokenTurn()
        turn.begin()
        _ = turn.write("Hello, this is a test. Where?")
        _ = turn.finishWriting()
        turn.complete()
        turn.silence()
        turn.cut(after: heard)
        #expect(turn.rest == rest)
        turn.begin()
        #expect(turn.rest == nil, "the next turn takes its place")
    }

    @Test func aTurnThatWasNotWholeIsNotSaidAgain() {
        var turn = SpokenTurn()
        turn.begin()
        _ = turn.write("Hello. This goes ")
        turn.breakOff()
        turn.silence()
        turn.cut(after: "Hel")
        #expect(turn.rest == nil)
        #expect(turn.finishWriting() == [])
    }

    @Test func aDisclosureStaysOneUntilItIsHeard() {
        var turn = SpokenTurn()
        turn.begin()
        turn.disclose()
        _ = turn.write("Hello. Who ")
        #expect(turn.isDisclosing && turn.isSpeaking)
        turn.disclosed()
        #expect(!turn.isDisclosing && turn.isSpeaking)
        turn.silence()
        turn.disclosed()
        #expect(turn.speech == .silent)
    }
}
