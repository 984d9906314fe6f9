import Testing

@testable import Bridge

/// The caller of a check, without a stream: what happens, and what the kit does then.
@Suite final class CheckScriptTests {
    private var script = CheckScript(at: 0, speechMs: 1_000, limitMs: 30_000)

    /// Ticks until something is to be done.
    private func next(from: UInt64, to: UInt64 = 60_000) -> (at: UInt64, actions: [CheckScript.Action]) {
        for now in stride(from: from, through: to, by: 20) {
            let actions = script.tick(at: now)
            if !actions.isEmpty { return (now, actions) }
        }
        return (to, [])
    }

    private func expect(
        _ given: (at: UInt64, actions: [CheckScript.Action]), _ at: UInt64, _ actions: [CheckScript.Action],
        at location: SourceLocation = #_sourceLocation
    ) {
        #expect(given.at == at && given.actions == actions, sourceLocation: location)
    }

    /// The far end speaks, and plays at once what it says.
    private func hear(from: UInt64, ms: UInt64) -> [CheckScript.Action] {
        stride(from: from, to: from + ms, by: 20).flatMap { now in
            script.heard(at: now, playsUntil: now + 20) + script.tick(at: now)
        }
    }

    @Test func aSilentServerIsAskedAndThenTested() {
        expect(next(from: 0), 2_500, [.speak])
        expect(next(from: 2_520), 3_500, [.hush])
        expect(next(from: 3_520), 10_500, [.hush, .probe(.unknown)])
        expect(next(from: 10_520), 11_200, [.probe(.dtmf)])
        expect(next(from: 11_220), 11_900, [.stop])
        expect(next(from: 11_920), 16_900, [.close])
        expect(next(from: 16_920), 21_900, [.finish])
    }

    @Test func aServerThatGreetsIsInterrupted() {
        #expect(hear(from: 200, ms: 3_000) == [.speak], "after the silence, for it has spoken long enough")
        #expect(script.cleared(at: 3_000).first == .judge(.cleared(afterMs: 500)))
        #expect(script.heard(at: 3_200, playsUntil: 3_220) == [], "on its way when it cleared")
        #expect(script.heard(at: 4_000, playsUntil: 4_020) == [.answered(afterMs: 500)])
        #expect(next(from: 4_020).actions == [.hush, .probe(.unknown)])
    }

    @Test func speakingOnIsToldFromFallingSilent() {
        #expect(hear(from: 200, ms: 2_400) == [.speak])
        #expect(hear(from: 2_600, ms: 2_500) == [.judge(.spokeOn(ms: 2_500)), .hush, .probe(.unknown)])
        script = CheckScript(at: 0, speechMs: 1_000, limitMs: 30_000)
        #expect(hear(from: 200, ms: 2_400) == [.speak])
        #expect(next(from: 2_600).actions == [.judge(.fellSilent(afterMs: 80))])
    }

    /// A tick comes up to a millisecond before its time, and what it is answered with may be earlier.
    @Test func whatIsHeardBeforeTheTicksOwnTimeIsNoTrap() {
        #expect(script.tick(at: 2_500) == [.speak] && script.tick(at: 3_500) == [.hush])
        #expect(script.heard(at: 3_499, playsUntil: 3_520) == [.answered(afterMs: 0)])
        script = CheckScript(at: 0, speechMs: 1_000, limitMs: 30_000)
        #expect(hear(from: 200, ms: 2_400) == [.speak])
        #expect(script.cleared(at: 2_400).first == .judge(.cleared(afterMs: 0)))
    }

    @Test func aServerThatAsksForTheEndIsLeft() {
        #expect(script.asked(at: 1_000) == [.hush])
        expect(next(from: 1_020), 2_000, [.close])
        #expect(script.asked(at: 2_020) == [])
    }

    @Test func nothingTakesLongerThanWasAllowed() {
        script = CheckScript(at: 0, speechMs: 1_000, limitMs: 5_000)
        #expect(next(from: 0).actions == [.speak])
        #expect(next(from: 2_520).actions == [.hush])
        expect(next(from: 3_520), 5_000, [.hush, .probe(.unknown)])
    }
}
