import Bridge
import Net
import Pipeline
import Realtime
import TestSupport
import Testing

@testable import Calls

/// Calls with recogniser, language model and voice in virtual time: the same graph, queues, machine and pacer as in a
/// real call, with scripted engines and no socket.
@Suite(.serialized) struct CascadeCallTests {
    /// A call with scripted engines.
    private final class Call: VirtualCall {
        let script: ScriptedCascade

        init(
            _ script: ScriptedCascade, questions: [Question] = [Question(id: "q1", text: "Will you come?")],
            fallbacks: [ConversationMode] = [], _ change: (inout CallGraph.Settings) -> Void = { _ in }
        ) throws {
            self.script = script
            try super.init([.cascade(script.engines)] + fallbacks, questions: questions, change)
        }

        deinit { script.releaseRecognizer() }

        func edge(_ name: String) -> EdgeReading? {
            loop.run { graph.reading.edges.first { $0.name == name } }
        }

        /// Waits until the caller has heard all that is being said.
        func waitUntilHeard(_ ms: Int) -> Bool { wait { caller.playedMs >= ms } && wait { isQuiet } }
        private var isQuiet: Bool { loop.run { !graph.speaker.isSpeaking } }
    }

    private static let answered = LanguageModelEvent.toolCall(
        name: "report_task_state",
        arguments: #"{"questions":[{"id":"q1","status":"answered","answer":"Yes.","value":true}]}"#)
    private static let end = LanguageModelEvent.toolCall(name: "end_call", arguments: #"{"reason":"task_completed"}"#)

    @Test func aCallFromItsGreetingToItsGoodbye() throws {
        let script = ScriptedCascade()
        script.respond(.toolCall(name: "report_task_state", arguments: #"{"asking":"q1"}"#), .text("Will you come?"))
        script.hear("Yes, I will.")
        script.respond(Self.answered, .text("Thank you. Goodbye."), Self.end)
        let call = try Call(script)
        #expect(call.waitUntilHeard(500))
        call.caller.speak(ms: 900)
        #expect(call.wait { call.outcome != nil })
        let outcome = try #require(call.outcome)
        #expect(outcome.endReason == .taskCompleted && outcome.answeredBy == .human)
        #expect(outcome.transcript.map(\.text) == ["Will you come?", "Yes, I will.", "Thank you. Goodbye."])
        #expect(outcome.transcript.allSatisfy { !$0.isInterrupted })
        let answer = try #require(outcome.tracker.answers.first)
        #expect(answer.status == .answered && answer.evidence?.turn == 1)
        #expect(script.conversations.count == 2 && outcome.latencies.count == 1)
        let graph = try #require(outcome.graph)
        #expect(graph.mode == "cascade" && graph.edges.allSatisfy { $0.limit > 0 && $0.dropped == 0 })
        #expect(
            graph.edges.map(\.name)
                == ["heard", "transcripts", "requests", "responses", "sentences", "audio", "speech"])
    }

    @Test func anInterruptionIsHeard() throws {
        let script = ScriptedCascade()
        script.say("This is a long greeting. It goes on, and on, and on. And then it asks something.")
        let call = try Call(script)
        #expect(call.wait { call.caller.playedMs >= 1_000 })
        script.hear("Stop that.")
        script.say("Sorry.")
        call.caller.speak(ms: 900)
        #expect(call.wait { call.caller.clears == 1 }, "silence at once")
        #expect(call.wait { script.conversations.count == 2 })
        let asked = script.conversations[1].items
        guard case .assistant(let heard, isInterrupted: true)? = asked.dropLast().last else {
            Issue.record("the model is not told what was heard: \(asked)")
            return
        }
        #expect(heard.hasPrefix("This is a long") && heard.count < 60 && asked.last == .caller("Stop that."))
        #expect(call.wait { call.loop.run { call.graph.transcript.entries.last?.text } == "Sorry." })
        call.caller.hangUp()
        #expect(call.outcome?.interruptions == 1 && call.outcome?.endReason == .calleeHangup)
    }

    @Test func aCoughCostsNoSentence() throws {
        let script = ScriptedCascade()
        script.say("Hello, this is a test. Where do you live?")
        let call = try Call(script)
        #expect(call.wait { call.caller.playedMs >= 400 })
        call.caller.speak(ms: 120)
        #expect(call.wait { call.loop.run { call.graph.transcript.entries.count } == 1 })
        let entry = try #require(call.loop.run { call.graph.transcript.entries.first })
        #expect(!entry.isInterrupted && script.conversations.count == 1)
    }

    @Test func silenceIsAnsweredByTheModelUntilItHangsUp() throws {
        let script = ScriptedCascade()
        script.say("Will you come?")
        for _ in 0..<2 { script.say("Are you there?") }
        script.respond(
            .text("Goodbye."), .toolCall(name: "end_call", arguments: #"{"reason":"silence"}"#))
        let call = try Call(script)
        #expect(call.wait(40_000) { call.outcome != nil })
        #expect(call.outcome?.endReason == .silence)
        #expect(script.conversations.map(\.silencesInARow) == [0, 1, 2, 3])
    }

    /// The queue in front of a recogniser that takes nothing in holds 10 s, and gives up the oldest.
    @Test func aSlowRecognizerFillsItsQueueAndTheGraphShowsIt() throws {
        let script = ScriptedCascade()
        script.say("Tell me all about it.")
        let call = try Call(script) { $0.policy.detectsMachines = false }
        #expect(call.waitUntilHeard(500))
        script.blockRecognizer()
        call.caller.speak(ms: 14_000)
        call.loop.advance(ms: 5_000)
        let filling = try #require(call.edge("heard"))
        #expect((200...280).contains(filling.depth) && filling.dropped == 0)
        call.loop.advance(ms: 8_000)
        let full = try #require(call.edge("heard"))
        #expect(full.depth == full.limit && full.limit == 500 && full.dropped > 50)
        #expect(full.whenFull == .dropOldest && full.from == "barge-in" && full.to == "speech-to-text")
        script.hear("All of it.")
        script.say("I see.")
        script.releaseRecognizer()
        #expect(call.wait { script.conversations.count == 2 }, "the call goes on")
        #expect(call.edge("heard")?.depth == 0 && script.recognizedFrames > 500)
    }

    /// A recogniser that does not answer costs the words, not the call.
    @Test func aTurnThatIsNotRecognisedInTimeCountsAsNotUnderstood() throws {
        let script = ScriptedCascade()
        script.say("Will you come?")
        let call = try Call(script)
        #expect(call.waitUntilHeard(500))
        script.blockRecognizer()
        script.say("Pardon?")
        call.caller.speak(ms: 900)
        #expect(call.wait { script.conversations.count == 2 })
        #expect(script.conversations[1].items.last == .caller(""))
    }

    @Test func aModelThatNeverAnswersEndsTheCall() throws {
        let call = try Call(ScriptedCascade())
        #expect(!call.wait(14_800) { call.outcome != nil })
        #expect(call.wait(400) { call.outcome != nil })
        #expect(call.outcome?.endReason == .providerError)
        #expect(call.outcome?.failure == "language-model: no response within 15000 ms")
    }

    @Test func anotherModeTakesOverFromAModelThatNeverAnswers() throws {
        let script = ScriptedCascade()
        let next = ScriptedCascade()
        script.say("Will you come?")
        next.say("The line was bad. Will you come?")
        let call = try Call(script, fallbacks: [.cascade(next.engines)])
        #expect(call.waitUntilHeard(500))
        script.hear("Yes.")
        call.caller.speak(ms: 900)
        #expect(call.wait(20_000) { next.conversations.count == 1 })
        let items = try #require(next.conversations.first?.items)
        #expect(
            items == [
                .assistant(heard: "Will you come?", isInterrupted: false), .caller("Yes."),
                .assistant(heard: "One moment, please.", isInterrupted: false), .takenOver,
            ])
        #expect(
            call.wait {
                call.loop.run { call.graph.transcript.entries.last?.text } == "The line was bad. Will you come?"
            })
        #expect(call.outcome == nil && call.warnings.count == 1)
    }

    @Test func aSlowModelIsCoveredByAFiller() throws {
        let script = ScriptedCascade()
        script.say("Will you come?")
        let call = try Call(script)
        #expect(call.waitUntilHeard(500))
        script.hear("Let me think.")
        call.caller.speak(ms: 900)
        #expect(call.wait { script.conversations.count == 2 })
        let played = call.caller.playedMs
        call.loop.advance(ms: 2_400)
        #expect(call.caller.playedMs == played)
        #expect(call.wait(1_000) { call.caller.playedMs > played }, "the caller hears that we are at it")
    }

    // MARK: Speculation

    @Test func aResponseToAllThatWasSaidIsSpokenAtOnce() throws {
        let script = ScriptedCascade()
        script.say("Where do you live?")
        let call = try Call(script)
        #expect(call.waitUntilHeard(500))
        script.hear("In London.")
        script.say("London it is.")
        call.caller.speak(ms: 900)
        call.loop.advance(ms: 700)
        script.tell(.pause("in London"))
        call.loop.advance(ms: 100)
        #expect(script.conversations.count == 2, "asked before the turn is over")
        let played = call.caller.playedMs
        #expect(call.wait { call.caller.playedMs > played })
        #expect(script.conversations.count == 2 && script.cancelled == 0)
        #expect(call.wait { call.loop.run { call.graph.transcript.entries.count } == 3 })
        #expect(
            call.loop.run { call.graph.transcript.entries.map(\.text) }
                == ["Where do you live?", "In London.", "London it is."])
    }

    @Test func aResponseToHalfOfItIsDropped() throws {
        let script = ScriptedCascade()
        script.say("Where do you live?")
        let call = try Call(script)
        #expect(call.waitUntilHeard(500))
        script.hear("In London, I mean Paris.")
        script.say("London it is.")
        call.caller.speak(ms: 1_800)
        call.loop.advance(ms: 700)
        script.tell(.pause("in London"))
        call.loop.advance(ms: 100)
        #expect(script.conversations.count == 2)
        script.say("Paris it is.")
        script.tell(.interim("in London, I mean Paris"))
        #expect(call.wait { call.loop.run { call.graph.transcript.entries.count } == 3 })
        #expect(
            call.loop.run { call.graph.transcript.entries.map(\.text) }
                == ["Where do you live?", "In London, I mean Paris.", "Paris it is."])
        #expect(script.conversations.count == 3)
    }

    // MARK: Keys, transfer, disclosure

    @Test func keysOfANumberAreOneAnswer() throws {
        let script = ScriptedCascade()
        script.respond(.toolCall(name: "report_task_state", arguments: #"{"asking":"q1"}"#), .text("How many?"))
        let call = try Call(script, questions: [Question(id: "q1", text: "How many guests?", kind: .number)])
        #expect(call.waitUntilHeard(300))
        script.say("Twelve it is.")
        call.caller.press("1")
        call.loop.advance(ms: 1_000)
        call.caller.press("2")
        call.loop.advance(ms: 2_000)
        #expect(script.conversations.count == 1, "more keys may follow")
        #expect(call.wait(1_000) { script.conversations.count == 2 })
        #expect(script.conversations[1].items.last == .keys("12"))
        #expect(call.loop.run { call.graph.transcript.entries.last { $0.speaker == .customer }?.text } == "[12]")
    }

    @Test func aTransferIsAnnouncedAndAFailedOneComesBack() throws {
        let script = ScriptedCascade()
        script.respond(.text("I put you through."), .toolCall(name: "transfer_to_operator", arguments: "{}"))
        let call = try Call(script)
        #expect(call.wait { call.isTransferWanted })
        #expect(call.caller.playedMs >= 700, "the caller is told first")
        script.say("Nobody is free.")
        call.loop.run { call.graph.transferFailed("busy") }
        #expect(script.conversations.last?.items.last == .transferFailed)
        #expect(call.wait { call.loop.run { call.graph.transcript.entries.last?.text } == "Nobody is free." })
    }

    @Test func aDisclosureIsHeardToItsEnd() throws {
        let script = ScriptedCascade()
        script.say("Will you come to the dinner on Friday evening?")
        let call = try Call(script) { $0.policy.disclosure = "This call is made by a computer and is recorded." }
        #expect(call.wait { call.caller.playedMs >= 400 })
        call.caller.speak(ms: 900)
        call.loop.advance(ms: 900)
        #expect(call.caller.clears == 0)
        #expect(call.wait { call.caller.playedMs >= 1_940 })
        call.loop.advance(ms: 300)
        call.caller.speak(ms: 900)
        #expect(call.wait(1_000) { call.caller.clears == 1 }, "what comes after it may be cut off")
    }
}
