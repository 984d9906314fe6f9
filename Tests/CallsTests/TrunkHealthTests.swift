import Testing

@testable import Calls

@Suite struct TrunkHealthTests {
    @Test func aTrunkIsDownAfterThreeFailuresInARowUntilItTakesACall() {
        let trunk = TrunkHealth()
        for _ in 0..<2 { trunk.took(AttemptOutcome(sipStatus: 503, phrase: ""), hasRung: false) }
        #expect(!trunk.status.isDown && trunk.status.problem == nil)
        trunk.took(AttemptOutcome(sipStatus: 408, phrase: "Request Timeout"), hasRung: false)
        #expect(trunk.status.problem == "3 calls in a row failed: no answer at all")
        trunk.took(AttemptOutcome(sipStatus: 486, phrase: "Busy"), hasRung: false)
        #expect(!trunk.status.isDown)
    }

    @Test(arguments: [(486, false), (404, false), (603, false), (408, true), (480, true), (487, true)])
    func calleesAreNotTheTrunksFault(_ code: Int, _ hasRung: Bool) {
        let trunk = TrunkHealth()
        for _ in 0..<9 { trunk.took(AttemptOutcome(sipStatus: code, phrase: ""), hasRung: hasRung) }
        #expect(!trunk.status.isDown)
    }
}
