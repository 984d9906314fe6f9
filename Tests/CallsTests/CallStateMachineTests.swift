import Foundation
import Pipeline
import Realtime
import Store
import Testing

@testable import Calls

@Suite struct CallStateMachineTests {
    @Test func anAnsweredCallPassesThroughItsStates() throws {
        var machine = CallStateMachine()
        for (event, state) in [
            (.dial, .dialing), (.ringing, .ringing), (.answered, .connected),
            (.conversationEnded(isFailure: false), .completed), (.retry, .queued),
        ]
            as [(CallStateMachine.Event, CallState)]
        {
            let next = try machine.apply(event)
            #expect(next == state)
        }
    }
    @Test func anAttemptThatWillBeRepeatedIsQueuedAgain() throws {
        var machine = CallStateMachine(.ringing)
        let next = try machine.apply(.attemptEnded(.busy, willRetry: true))
        #expect(next == .queued)
    }
    @Test func everyTerminalStateRefusesEverythingButRetry() {
        let events: [CallStateMachine.Event] = [
            .dial, .ringing, .answered, .attemptEnded(.busy, willRetry: false), .conversationEnded(isFailure: false),
            .cancel, .recovered,
        ]
        for state in CallState.allCases where state.isTerminal {
            for event in events {
                #expect(throws: CallStateMachine.ImpossibleTransition.self) {
                    var machine = CallStateMachine(state)
                    try machine.apply(event)
                }
            }
        }
    }
    @Test(arguments: [
        (408, CallState.noAnswer), (480, .noAnswer), (486, .busy), (600, .busy), (603, .rejected), (607, .rejected),
        (608, .rejected), (403, .failed),
        (404, .failed), (500, .failed), (503, .failed), (302, .failed), (904, .failed),
    ])
    func finalCodesHaveTheirState(code: Int, state: CallState) {
        #expect(AttemptOutcome(sipStatus: code, phrase: "x").state == state)
    }
}
