import Realtime
import Testing

/// A conversation with a speech model, event by event, in the call's own time.
@Suite struct RealtimeMachineTests {
    private typealias Action = RealtimeMachine.Action

    private static let brief = Brief(
        purpose: "to ask", questions: [Question(id: "q1", text: "Will you come?")], maxTurns: 20)

    /// The machine with a clock: what is said to it, and what it wants.
    private struct Talk {
        var machine: RealtimeMachine
        var now = 0
        var isSpeaking = false
        var entries = 0

        init(_ change: (inout ConversationPolicy) -> Void = { _ in }, canTransfer: Bool = true) {
            var policy = ConversationPolicy()
            policy.canTransfer = canTransfer
            change(&policy)
            machine = RealtimeMachine(brief: RealtimeMachineTests.brief, policy: policy, name: "model")
        }

        var moment: RealtimeMachine.Moment { .init(now: now, isSpeaking: isSpeaking, transcriptCount: entries) }

        /// Media flows, the session is there, and the greeting has been heard.
        mutating func greet() {
            _ = machine.mediaStarted(moment)
            _ = machine.sessionReady(moment)
            speakTurn()
        }

        /// A response with sound, heard to its end.
        mutating func speakTurn(requested: Bool = true) {
            _ = machine.responseStarted(isRequested: requested, moment)
            _ = machine.sounded(at: now)
            isSpeaking = true
            _ = machine.responseFinished(.completed, moment)
            now += 1_000
            isSpeaking = false
            _ = machine.turnHeard(turn: machine.turn, isInterrupted: false, moment)
        }

        /// Ticks every 20 ms until something is wanted, or for so long.
        mutating func wait(_ ms: Int) -> [RealtimeMachine.Action] {
            let end = now + ms
            while now < end {
                now += 20
                let actions = machine.tick(moment)
                if !actions.isEmpty { return actions }
            }
            return []
        }
    }

    @Test func theGreetingNeedsMediaAndASession() {
        var talk = Talk()
        #expect(talk.machine.mediaStarted(talk.moment).isEmpty)
        let actions = talk.machine.sessionReady(talk.moment)
        #expect(actions.count == 1)
        guard case .respond(let words?) = actions.first else { return #expect(Bool(false), "no greeting") }
        #expect(!words.isEmpty)
        #expect(talk.machine.sessionReady(talk.moment).isEmpty, "greeted twice")
    }

    @Test func aSilentCallerIsPromptedTwiceAndLeft() {
        var talk = Talk()
        talk.greet()
        for _ in 0..<2 {
            #expect(talk.wait(7_000) == [.respond(RealtimeInstructions.silence)])
            talk.speakTurn()
        }
        #expect(talk.wait(7_000) == [.respond(RealtimeInstructions.goodbye)])
        #expect(talk.machine.flow.closing == .silence)
        talk.isSpeaking = true
        _ = talk.machine.responseStarted(isRequested: true, talk.moment)
        _ = talk.machine.sounded(at: talk.now)
        _ = talk.machine.responseFinished(.completed, talk.moment)
        #expect(
            talk.machine.turnHeard(turn: talk.machine.turn, isInterrupted: false, talk.moment) == [.hangUp(.silence)])
    }

    @Test func aGoodbyeThatNeverComesIsCut() {
        var talk = Talk()
        talk.greet()
        #expect(talk.machine.timeIsUp(talk.moment) == [.flushSpeech, .respond(RealtimeInstructions.goodbye)])
        _ = talk.machine.responseStarted(isRequested: true, talk.moment)
        let begin = talk.now
        var actions: [Action] = []
        while actions.isEmpty, talk.now < begin + 20_000 {
            talk.machine.signOfLife(at: talk.now)
            actions = talk.wait(20)
        }
        #expect(actions == [.hangUp(.maxDuration)])
        #expect(talk.now - begin == 10_000)
    }

    @Test func aResponseThatDoesNotComeCostsTheSessionAndIsAskedForAgain() {
        var talk = Talk()
        talk.greet()
        talk.machine.callerBegan()
        #expect(talk.machine.callerStopped(talk.moment) == [.answerAwaited])
        let actions = talk.wait(10_000)
        #expect(actions.contains(.restartSession("no response within 10000 ms")))
        #expect(talk.machine.sessionLost(talk.moment).contains { if case .speechEnded = $0 { true } else { false } })
        talk.entries = 2
        #expect(talk.machine.sessionReady(talk.moment) == [.respond(nil)])
    }

    @Test func whileTheModelIsNotReadItMayBeSilent() {
        var talk = Talk()
        talk.greet()
        _ = talk.machine.responseStarted(isRequested: false, talk.moment)
        _ = talk.machine.sounded(at: talk.now)
        for _ in 0..<1_000 {
            talk.now += 20
            talk.isSpeaking = true
            #expect(talk.machine.tick(talk.moment, isPaused: true).isEmpty)
        }
    }

    @Test func aBackchannelDoesNotCostTheSentence() {
        var talk = Talk()
        talk.greet()
        talk.isSpeaking = true
        #expect(talk.machine.responseStarted(isRequested: false, talk.moment) == [.flushSound, .holdSpeech])
        #expect(talk.machine.isHolding)
        let actions = talk.machine.callerSaid("mm-hm", startMs: 0, endMs: 300, talk.moment)
        #expect(actions.suffix(2) == [.dropSpeech, .cancelResponse])
        #expect(!talk.machine.isHolding)
    }

    @Test func wordsTakeTheTurn() {
        var talk = Talk()
        talk.greet()
        talk.isSpeaking = true
        _ = talk.machine.responseStarted(isRequested: false, talk.moment)
        let actions = talk.machine.callerSaid("No, wait a moment.", startMs: 0, endMs: 900, talk.moment)
        #expect(actions.last == .releaseSpeech(interrupting: true))
    }

    @Test func anUndecidedResponseIsDroppedInTime() {
        var talk = Talk()
        talk.greet()
        talk.isSpeaking = true
        _ = talk.machine.responseStarted(isRequested: false, talk.moment)
        #expect(talk.wait(2_000) == [.dropSpeech, .cancelResponse])
        var other = Talk()
        other.greet()
        other.isSpeaking = true
        _ = other.machine.responseStarted(isRequested: false, other.moment)
        other.isSpeaking = false
        #expect(other.wait(100) == [.releaseSpeech(interrupting: false)])
    }

    @Test func anAnsweringMachineIsLeftItsMessage() {
        var talk = Talk { $0.voicemailMessage = "Please call us back." }
        talk.greet()
        talk.machine.callerBegan()
        #expect(talk.machine.answeringMachine(talk.moment) == [.flushSound, .flushSpeech])
        #expect(talk.wait(5_000).isEmpty, "its greeting is waited out")
        _ = talk.machine.callerEnded(isReported: false, isCommitted: false, talk.moment)
        #expect(talk.wait(3_000) == [.respond(RealtimeInstructions.say("Please call us back."))])
        #expect(talk.machine.flow.closing == .voicemail && talk.machine.flow.answeredBy == .voicemail)
    }

    @Test func withoutAMessageAnAnsweringMachineEndsTheCall() {
        var talk = Talk()
        talk.greet()
        #expect(talk.machine.answeringMachine(talk.moment) == [.hangUp(.voicemail)])
    }

    @Test func aTransferIsAnnouncedAndAFailedOneComesBack() {
        var talk = Talk()
        talk.greet()
        _ = talk.machine.responseStarted(isRequested: false, talk.moment)
        let called = talk.machine.called("transfer_to_operator", "{}", callID: "c", talk.moment)
        #expect(called.count == 1 && !talk.machine.isInterruptible)
        // The model said nothing with it: it is asked to, once.
        #expect(
            talk.machine.responseFinished(.completed, talk.moment).last == .respond(RealtimeInstructions.puttingThrough)
        )
        _ = talk.machine.responseStarted(isRequested: true, talk.moment)
        _ = talk.machine.sounded(at: talk.now)
        _ = talk.machine.responseFinished(.completed, talk.moment)
        #expect(talk.machine.turnHeard(turn: talk.machine.turn, isInterrupted: false, talk.moment) == [.transfer])
        #expect(talk.wait(60_000).isEmpty, "nothing is due while a person is fetched")
        #expect(
            talk.machine.transferFailed(talk.moment) == [.note(RealtimeInstructions.transferFailed), .respond(nil)])
        #expect(talk.machine.isInterruptible)
    }

    @Test func aTransferThatIsNotOfferedIsNoTool() {
        var talk = Talk(canTransfer: false)
        talk.greet()
        _ = talk.machine.responseStarted(isRequested: false, talk.moment)
        let called = talk.machine.called("transfer_to_operator", "{}", callID: "c", talk.moment)
        #expect(called == [.finishTool(callID: "c", output: #"{"error":"there is no such tool"}"#)])
    }

    @Test func aReportThatEndsTheCallIsFollowedByTheGoodbye() {
        var talk = Talk()
        talk.greet()
        _ = talk.machine.responseStarted(isRequested: false, talk.moment)
        _ = talk.machine.called("report_task_state", #"{"should_end_call":true}"#, callID: "c", talk.moment)
        #expect(
            talk.machine.responseFinished(.completed, talk.moment).last == .respond(RealtimeInstructions.goodbye))
        #expect(talk.machine.flow.closing == .taskCompleted)
        talk.isSpeaking = true
        _ = talk.machine.responseStarted(isRequested: true, talk.moment)
        _ = talk.machine.sounded(at: talk.now)
        _ = talk.machine.responseFinished(.completed, talk.moment)
        #expect(
            talk.machine.turnHeard(turn: talk.machine.turn, isInterrupted: false, talk.moment)
                == [.hangUp(.taskCompleted)])
    }

    @Test func keysAreAnsweredWhenTheLineHasTakenThem() {
        var talk = Talk()
        talk.greet()
        _ = talk.machine.responseStarted(isRequested: false, talk.moment)
        #expect(
            talk.machine.called("send_dtmf", #"{"digits":"12"}"#, callID: "c", talk.moment)
                == [.press("12", callID: "c")])
        let odd = talk.machine.called("send_dtmf", #"{"digits":"one"}"#, callID: "d", talk.moment)
        #expect(odd == [.finishTool(callID: "d", output: #"{"error":"these are no keys"}"#)])
    }

    @Test func responsesThatFailAreAskedForAgainThreeTimes() {
        var talk = Talk()
        talk.greet()
        for _ in 0..<3 {
            _ = talk.machine.responseStarted(isRequested: true, talk.moment)
            #expect(talk.machine.responseFinished(.failed("busy"), talk.moment).last == .respond(nil))
        }
        _ = talk.machine.responseStarted(isRequested: true, talk.moment)
        #expect(
            talk.machine.responseFinished(.failed("busy"), talk.moment).last == .fail("model: response failed: busy"))
    }

    @Test func theDisclosureCannotBeInterrupted() {
        var talk = Talk { $0.disclosure = "This call is recorded." }
        _ = talk.machine.mediaStarted(talk.moment)
        _ = talk.machine.sessionReady(talk.moment)
        #expect(!talk.machine.isInterruptible)
        talk.speakTurn()
        #expect(talk.machine.isInterruptible)
    }

    @Test func answersAreTakenWithTheirEvidence() throws {
        var talk = Talk()
        talk.greet()
        talk.entries = 1
        _ = talk.machine.callerSaid("Yes, I will.", startMs: 1_200, endMs: 2_000, talk.moment)
        _ = talk.machine.responseStarted(isRequested: false, talk.moment)
        let report = #"{"questions":[{"id":"q1","status":"answered","answer":"Yes, I will.","value":true}]}"#
        let actions = talk.machine.called("report_task_state", report, callID: "c", talk.moment)
        #expect(actions.count == 2)
        let answer = try #require(talk.machine.tracker.answers.first)
        #expect(answer.status == .answered && answer.evidence?.turn == 1 && answer.evidence?.startMs == 1_200)
        // A tool alone is followed by a request for words.
        #expect(talk.machine.responseFinished(.completed, talk.moment).last == .respond(nil))
    }
}
