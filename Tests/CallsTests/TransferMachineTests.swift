import Bridge
import Testing

@testable import Calls

/// Every state of a transfer, and what each event does there.
@Suite struct TransferMachineTests {
    private typealias Machine = TransferMachine

    private static func target(_ name: String) -> TransferTarget {
        TransferTarget(
            operatorID: name, name: name, routes: [.init(requestURI: "sip:\(name)@127.0.0.1")], ringSeconds: 20)
    }
    private let kim = Self.target("kim"), lee = Self.target("lee")

    private func machine(_ mode: CallSettings.TransferMode = .attended, _ events: Machine.Event...) -> Machine {
        var machine = Machine(mode: mode, askLimitMs: 30_000)
        for event in events { _ = machine.handle(event, at: 1_000) }
        return machine
    }
    private func note(
        _ target: TransferTarget, _ outcome: Call.Transfer.Outcome, _ reason: String? = nil
    ) -> Machine.Action { .note(name: target.name, operatorID: target.operatorID, outcome, reason: reason) }
    private func person(_ target: TransferTarget, _ leg: Int = 1) -> Machine.Person { .init(leg: leg, target: target) }

    /// All events, with person 1 alone.
    private var everything: [Machine.Event] {
        [
            .wished(.operators(.anyOperator, nil)), .wished(.guest("Kim")), .cannotAnnounce, .announced(targets: [kim]),
            .early(kim), .callerAnswered, .guestLeft, .carrierAccepted, .carrierFinished, .carrierFailed("no"),
            .answered(1), .failed(1, "busy"), .briefed(1), .held(1, true), .referral(1, reference: 7, to: lee),
            .left(1),
            .callerLeft, .tick,
        ]
    }

    /// Of all events, those that do anything in this state.
    private func effective(_ machine: Machine, at now: UInt64 = 1_000) -> [Machine.Event] {
        everything.filter { event in
            var copy = machine
            return !copy.handle(event, at: now).isEmpty || copy.state != machine.state
        }
    }

    // MARK: Which events mean something where

    @Test func whileTheAIHasTheCaller() {
        #expect(
            effective(machine()) == [
                .wished(.operators(.anyOperator, nil)), .wished(.guest("Kim")), .announced(targets: [kim]), .early(kim),
                .carrierFinished, .callerLeft,
            ])
    }
    @Test func whileTheCallerIsTold() {
        let wish = Machine.Wish.operators(.number("1"), .blind)
        #expect(
            effective(machine(.attended, .wished(wish))) == [
                .wished(.operators(.anyOperator, nil)), .wished(.guest("Kim")), .cannotAnnounce,
                .announced(targets: [kim]), .callerLeft,
            ])
        #expect(
            effective(machine(.attended, .wished(.guest("Lee")))) == [
                .cannotAnnounce, .announced(targets: [kim]), .guestLeft, .callerLeft,
            ])
    }
    @Test func whileTheCarrierAsks() {
        let asking = machine(.blind, .announced(targets: [kim]))
        #expect(effective(asking) == [.carrierAccepted, .carrierFinished, .carrierFailed("no"), .callerLeft])
        #expect(effective(asking, at: 31_000).last == .tick)
    }
    @Test func whileAPersonRings() {
        let ringing = machine(.attended, .announced(targets: [kim]))
        #expect(effective(ringing) == [.answered(1), .failed(1, "busy"), .left(1), .callerLeft])
        #expect(effective(ringing, at: 21_000).last == .tick && ringing.deadline == 21_000)
    }
    @Test func whileAPersonIsBriefed() {
        let briefing = machine(.attended, .announced(targets: [kim]), .answered(1))
        #expect(effective(briefing) == [.briefed(1), .left(1), .callerLeft])
        #expect(effective(briefing, at: 91_000).last == .tick)
    }
    @Test func whileAPersonWaitsForTheCaller() {
        let waiting = machine(.attended, .early(kim), .answered(1))
        #expect(
            effective(waiting) == [.callerAnswered, .referral(1, reference: 7, to: lee), .left(1), .callerLeft])
    }
    @Test func whileAPersonTalksWithTheCaller() {
        let bridged = machine(.attended, .announced(targets: [kim]), .answered(1), .briefed(1))
        #expect(effective(bridged) == [.held(1, true), .referral(1, reference: 7, to: lee), .left(1), .callerLeft])
        #expect(bridged.deadline == nil)
    }
    @Test func afterwards() {
        #expect(effective(machine(.attended, .callerLeft)).isEmpty)
        let guest = machine(.attended, .wished(.guest("Lee")), .announced(targets: []))
        #expect(guest.state == .withGuest && effective(guest) == [.callerLeft])
    }

    // MARK: Attended

    @Test func fromTheWishToTheTalk() {
        var machine = machine()
        #expect(machine.handle(.wished(.operators(.operator(id: "kim"), nil)), at: 0).isEmpty)
        #expect(machine.choice == .operator(id: "kim"))
        #expect(
            machine.handle(.announced(targets: [kim]), at: 0) == [
                .playMusic, note(kim, .ringing), .ring(person(kim)),
            ])
        #expect(machine.handle(.answered(1), at: 5_000) == [.brief(person(kim))])
        #expect(machine.handle(.briefed(1), at: 9_000) == [note(kim, .connected), .join(1)])
        #expect(machine.handle(.held(1, true), at: 10_000) == [.hold(true)])
        #expect(machine.handle(.held(1, false), at: 11_000) == [.hold(false)])
        #expect(machine.handle(.left(1), at: 12_000) == [.drop(1)])
        #expect(machine.state == .over)
    }

    @Test func oneAfterTheOther() {
        var machine = machine(.attended, .announced(targets: [kim, lee]))
        #expect(
            machine.handle(.failed(1, "busy"), at: 2_000) == [
                note(kim, .failed, "busy"), .drop(1), note(lee, .ringing), .ring(person(lee, 2)),
            ])
        #expect(machine.handle(.answered(1), at: 2_000).isEmpty, "too late")
        #expect(machine.handle(.tick, at: 21_900).isEmpty)
        #expect(
            machine.handle(.tick, at: 22_000) == [
                note(lee, .failed, "nobody answered"), .drop(2), .giveBack("kim: busy; lee: nobody answered"),
            ])
        #expect(machine.state == .idle)
    }

    @Test func whoHangsUpDuringTheBriefingHasNotTakenIt() {
        var machine = machine(.attended, .announced(targets: [kim]), .answered(1))
        #expect(
            machine.handle(.left(1), at: 2_000) == [
                note(kim, .failed, "hung up"), .drop(1), .giveBack("kim: hung up"),
            ])
    }

    @Test func aBriefingThatDoesNotEndIsCutShort() {
        var machine = machine(.attended, .announced(targets: [kim]), .answered(1))
        #expect(machine.handle(.tick, at: 91_000) == [note(kim, .connected), .join(1)])
    }

    @Test func noMoreThanTenAreTried() {
        var machine = machine(.attended, .announced(targets: (0..<20).map { Self.target("op\($0)") }))
        var tried = 1
        while machine.state != .idle {
            _ = machine.handle(.failed(tried, "busy"), at: 1_000)
            tried += 1
        }
        #expect(tried == 11)
    }

    // MARK: The carrier's own way

    @Test func aTransferIsBlindWhenRequestedOrConfiguredOrWithoutTargets() {
        for blind in [
            machine(.blind), machine(.attended, .wished(.operators(.anyOperator, .blind))),
        ] {
            var blind = blind
            #expect(blind.handle(.announced(targets: [kim]), at: 1_000) == [.ask(.anyOperator)])
        }
        var machine = machine(.attended, .wished(.operators(.number("1"), nil)))
        #expect(machine.handle(.announced(targets: []), at: 1_000) == [.ask(.number("1"))])
        #expect(machine.deadline == 31_000)
        #expect(machine.handle(.carrierAccepted, at: 2_000) == [.accepted])
        #expect(machine.handle(.tick, at: 31_000) == [.giveBack("nobody answered")])
        #expect(machine.handle(.carrierFinished, at: 40_000) == [.finish], "late, and done all the same")
    }

    @Test func aCarrierThatCannotGivesTheCallerBack() {
        var machine = machine(.blind, .announced(targets: []))
        #expect(
            machine.handle(.carrierFailed("the far end says 486"), at: 2_000) == [.giveBack("the far end says 486")])
        #expect(machine.state == .idle)
    }

    @Test func anAttendedWishOverridesBlind() {
        var machine = machine(.blind, .wished(.operators(.anyOperator, .attended)))
        #expect(machine.handle(.announced(targets: [kim]), at: 0).contains(.ring(person(kim))))
    }

    // MARK: A person at a separate stream

    @Test func aGuestTakesTheCaller() {
        var machine = machine(.attended, .wished(.guest("Lee")))
        #expect(
            machine.handle(.announced(targets: [kim]), at: 0) == [
                .note(name: "Lee", operatorID: nil, .ringing, reason: nil),
                .note(name: "Lee", operatorID: nil, .connected, reason: nil), .joinGuest,
            ])
    }

    @Test func aGuestWhoLeavesIsForgotten() {
        var machine = machine(.attended, .wished(.guest("Lee")), .guestLeft)
        #expect(machine.state == .idle)
        #expect(machine.handle(.announced(targets: [kim]), at: 0).last == .ring(person(kim)))
    }

    // MARK: Before the answer

    @Test func anEarlyRing() {
        var machine = machine()
        #expect(machine.handle(.early(kim), at: 0) == [note(kim, .ringing), .ring(person(kim))])
        #expect(machine.handle(.answered(1), at: 100) == [note(kim, .connected), .decided(1)])
        #expect(machine.handle(.callerAnswered, at: 200).isEmpty && machine.state == .bridged(person(kim)))
    }

    @Test func anEarlyRingThatNobodyAnswers() {
        var machine = machine(.attended, .early(kim))
        #expect(
            machine.handle(.failed(1, "busy"), at: 100) == [note(kim, .failed, "busy"), .drop(1), .decided(nil)])
        #expect(machine.state == .idle, "the AI may transfer later")
    }

    @Test func whoLeavesBeforeTheCallerIsThereLeavesHimToTheAI() {
        var machine = machine(.attended, .early(kim), .answered(1))
        #expect(machine.handle(.left(1), at: 100) == [.drop(1)] && machine.state == .idle)
        #expect(machine.handle(.callerAnswered, at: 200).isEmpty && machine.state == .idle)
    }

    // MARK: Sending on

    private var bridged: Machine { machine(.attended, .announced(targets: [kim]), .answered(1), .briefed(1)) }

    @Test func toNobody() {
        var machine = bridged
        #expect(
            machine.handle(.referral(1, reference: 7, to: nil), at: 0) == [.report(1, status: 404, reference: 7)])
        #expect(machine.state == .bridged(person(kim)))
    }

    @Test func toAColleague() {
        var machine = bridged
        #expect(
            machine.handle(.referral(1, reference: 7, to: lee), at: 0) == [
                .report(1, status: 100, reference: 7), .detach, note(lee, .ringing), .ring(person(lee, 2)),
            ])
        #expect(
            machine.handle(.answered(2), at: 1_000) == [
                note(lee, .connected), .report(1, status: 200, reference: 7), .drop(1), .join(2),
            ], "without a briefing")
    }

    @Test func toAColleagueWhoDoesNotAnswer() {
        var machine = bridged
        _ = machine.handle(.referral(1, reference: 7, to: lee), at: 0)
        #expect(
            machine.handle(.tick, at: 20_000) == [
                note(lee, .failed, "nobody answered"), .drop(2), .report(1, status: 480, reference: 7), .join(1),
            ])
        #expect(machine.state == .bridged(person(kim)))
    }

    @Test func whoHangsUpMeanwhileIsNotWaitedFor() {
        var machine = bridged
        _ = machine.handle(.referral(1, reference: 7, to: lee), at: 0)
        #expect(machine.handle(.left(1), at: 1_000) == [.drop(1)])
        #expect(
            machine.handle(.failed(2, "busy"), at: 2_000) == [
                note(lee, .failed, "busy"), .drop(2), .giveBack("lee: busy"),
            ])
    }

    // MARK: The caller leaves

    @Test func nobodyIsLeftRinging() {
        var ringing = machine(.attended, .announced(targets: [kim, lee]))
        #expect(ringing.handle(.callerLeft, at: 0) == [.drop(1)])
        var sentOn = bridged
        _ = sentOn.handle(.referral(1, reference: 7, to: lee), at: 0)
        #expect(sentOn.handle(.callerLeft, at: 0) == [.drop(2), .drop(1)])
        var talking = self.bridged
        #expect(talking.handle(.callerLeft, at: 0) == [.drop(1)])
    }
}
