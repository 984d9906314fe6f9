import Testing

@testable import Calls

/// Which way of holding the conversation comes next.
@Suite struct ModeChoiceTests {
    @Test func theBestModeComesFirstAndBackWhenItHasRested() {
        var choice = ModeChoice(count: 2)
        #expect(choice.next(at: 0) == 0)
        #expect(choice.failed(at: 1_000) == true)
        #expect(choice.next(at: 1_000) == 1)
        #expect(choice.failed(at: 2_000) == true)
        #expect(choice.next(at: 2_000) == 0, "the only other one, though it has just failed")
        #expect(choice.failed(at: 30_000) == true)
        #expect(choice.next(at: 30_000) == 1)
    }

    @Test func oneThatFailedAMomentAgoComesAfterTheOthers() {
        var choice = ModeChoice(count: 3)
        #expect(choice.next(at: 0) == 0)
        _ = choice.failed(at: 1_000)
        #expect(choice.next(at: 1_000) == 1)
        _ = choice.failed(at: 2_000)
        #expect(choice.next(at: 2_000) == 2)
        _ = choice.failed(at: 1_000 + ModeChoice.coolDownMs)
        #expect(choice.next(at: 1_000 + ModeChoice.coolDownMs) == 0)
    }

    @Test func aCallWithOneModeEndsWithIt() {
        var choice = ModeChoice(count: 1)
        #expect(choice.next(at: 0) == 0)
        #expect(choice.failed(at: 10) == false)
        var none = ModeChoice(count: 0)
        #expect(none.next(at: 0) == nil)
    }

    @Test func itDoesNotGoOnForEver() {
        var choice = ModeChoice(count: 2)
        var takeovers = 0
        _ = choice.next(at: 0)
        while choice.failed(at: takeovers), takeovers < 100 {
            takeovers += 1
            _ = choice.next(at: takeovers)
        }
        #expect(takeovers == ModeChoice.takeoverLimit)
    }
}
