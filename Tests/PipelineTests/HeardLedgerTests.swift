import Testing

@testable import Pipeline

@Suite struct HeardLedgerTests {
    @Test func aSentenceHeardToItsEndIsWhole() {
        var ledger = HeardLedger()
        let one = ledger.begin(turn: 1, text: "Good morning.")
        ledger.generated(800, of: one)
        ledger.complete(one)
        ledger.sent(800, of: one)
        ledger.played(800, of: one, from: 100)
        #expect(
            ledger.isFullyHeard(one) && ledger.heardText(turn: 1) == "Good morning." && !ledger.isInterrupted(turn: 1))
        #expect(ledger.utterances[one].startedAt == 100 && ledger.utterances[one].endedAt == 900)
    }

    @Test func aFlushCutsAtAWord() {
        var ledger = HeardLedger()
        let one = ledger.begin(turn: 1, text: "Hello there.")
        let two = ledger.begin(turn: 1, text: "Will you come to the dinner?")
        ledger.generated(1_000, of: one)
        ledger.complete(one)
        ledger.generated(2_000, of: two)
        ledger.sent(1_000, of: one)
        ledger.sent(1_100, of: two)
        ledger.played(1_000, of: one, from: 0)
        ledger.played(1_000, of: two, from: 1_000)
        ledger.flush()
        #expect(ledger.heardText(turn: 1) == "Hello there. Will you come")
        #expect(ledger.isInterrupted(turn: 1))
        #expect(ledger.utterances[two].droppedMs == 1_000)
        #expect(ledger.utterances[one].isInterrupted == false)
    }

    @Test func unplayedSpeechWasNotHeard() {
        var ledger = HeardLedger()
        let one = ledger.begin(turn: 3, text: "Goodbye.")
        ledger.generated(500, of: one)
        ledger.flush()
        #expect(ledger.heardText(turn: 3) == "" && ledger.isInterrupted(turn: 3))
    }
}
