import Testing

@testable import Realtime

/// An agent's fixed words in a conversation with a speech model, event by event.
@Suite struct RealtimeOpeningTests {
    private struct Talk {
        var machine: RealtimeMachine
        var now = 0
        var isSpeaking = false

        init(maxTurns: Int = 20, _ change: (inout ConversationPolicy) -> Void) {
            var policy = ConversationPolicy()
            change(&policy)
            machine = RealtimeMachine(
                brief: Brief(purpose: "to ask", questions: [], maxTurns: maxTurns), policy: policy, name: "model")
        }

        var moment: RealtimeMachine.Moment { .init(now: now, isSpeaking: isSpeaking, transcriptCount: 0) }

        mutating func begin() -> [RealtimeMachine.Action] {
            machine.mediaStarted(moment) + machine.sessionReady(moment)
        }

        /// A response with sound and tools; it is not heard yet.
        mutating func respond(tools: [(String, String)] = [], sounds: Bool = true) -> [RealtimeMachine.Action] {
            _ = machine.responseStarted(isRequested: true, moment)
            if sounds {
                _ = machine.sounded(at: now)
                isSpeaking = true
            }
            for (name, arguments) in tools { _ = machine.called(name, arguments, callID: "1", moment) }
            return machine.responseFinished(.completed, moment).filter {
                if case .speechEnded = $0 { false } else { true }
            }
        }

        mutating func heard() -> [RealtimeMachine.Action] {
            now += 1_000
            isSpeaking = false
            return machine.turnHeard(turn: machine.turn, isInterrupted: false, moment)
        }
    }

    private static func character(first: String? = nil, closing: String? = nil) -> AgentCharacter {
        var character = AgentCharacter()
        character.firstMessage = first
        character.closing = closing
        return character
    }
    private static let end = (DialogueTool.endCall, #"{"reason":"task_completed"}"#)
    private static let closing = RealtimeMachine.Action.respond(RealtimeInstructions.say("Bye from Ann!"))

    @Test func theFirstMessageIsSaidExactly() {
        var talk = Talk { $0.character = Self.character(first: "Salon Ann.") }
        #expect(talk.begin() == [.respond(RealtimeInstructions.say("Salon Ann."))])
        talk = Talk {
            $0.disclosure = "An AI is calling."
            $0.character = Self.character(first: "Salon Ann.")
        }
        #expect(talk.begin() == [.respond(RealtimeInstructions.say("An AI is calling. Salon Ann."))])
        #expect(!talk.machine.isInterruptible)
    }

    @Test func whoHasBeenGreetedIsNotGreetedAgain() {
        var policy = ConversationPolicy()
        policy.character = Self.character(first: "Salon Ann.")
        var machine = RealtimeMachine(brief: Brief(purpose: "to ask", questions: []), policy: policy, name: "model")
        let moment = RealtimeMachine.Moment(now: 9_000, isSpeaking: false, transcriptCount: 3)
        _ = machine.mediaStarted(moment)
        #expect(machine.sessionReady(moment) == [.respond(nil)], "another mode has failed, and this one takes over")
    }

    @Test func whoSpeaksSecondIsToldHowToBegin() {
        var talk = Talk {
            $0.speaksFirst = false
            $0.character = Self.character(first: "Salon Ann.")
        }
        #expect(talk.begin().isEmpty)
        let words = RealtimeInstructions.opening(disclosure: "An AI speaks.", firstMessage: "Salon Ann.")
        #expect(words?.hasSuffix(": An AI speaks. Salon Ann.") == true)
        #expect(RealtimeInstructions.opening(disclosure: nil, firstMessage: nil) == nil)
    }

    @Test func theClosingIsAskedForWordForWordAndHeard() {
        var talk = Talk { $0.character = Self.character(closing: "Bye from Ann!") }
        _ = talk.begin()
        _ = talk.respond()
        _ = talk.heard()
        #expect(talk.respond(tools: [Self.end], sounds: false) == [Self.closing])
        #expect(talk.respond().isEmpty, "it is asked for once")
        #expect(talk.heard() == [.hangUp(.taskCompleted)])
    }

    @Test func whatTheModelSaysBeforeItsEndIsHeardToo() {
        var talk = Talk { $0.character = Self.character(closing: "Bye from Ann!") }
        _ = talk.begin()
        #expect(talk.respond(tools: [Self.end]) == [Self.closing])
        #expect(talk.heard().isEmpty, "the last words are still to come")
        #expect(talk.respond().isEmpty)
        #expect(talk.heard() == [.hangUp(.taskCompleted)])
    }

    @Test func theLastTurnAndATimeThatIsUpCloseWithIt() {
        var talk = Talk(maxTurns: 1) { $0.character = Self.character(closing: "Bye from Ann!") }
        _ = talk.begin()
        #expect(talk.respond() == [Self.closing] && talk.machine.flow.closing == .maxTurns)
        talk = Talk { $0.character = Self.character(closing: "Bye from Ann!") }
        _ = talk.begin()
        _ = talk.respond()
        _ = talk.heard()
        #expect(talk.machine.timeIsUp(talk.moment).last == Self.closing)
    }

    @Test func aClosingThatNeverComesEndsAllTheSame() {
        var talk = Talk { $0.character = Self.character(closing: "Bye from Ann!") }
        _ = talk.begin()
        _ = talk.respond(tools: [Self.end])
        _ = talk.heard()
        talk.now += 10_000
        #expect(talk.machine.tick(talk.moment).contains(.hangUp(.taskCompleted)))
    }
}
