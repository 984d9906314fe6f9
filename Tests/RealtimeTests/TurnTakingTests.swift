import Foundation
import Pipeline
import Testing

@testable import Realtime

/// Scripted timelines: what happens at which millisecond, and what is done then.
@Suite struct TurnTakingTests {
    private struct Timeline {
        var machine: DialogueMachine
        var said: [String] = []
        var requests: [(conversation: Conversation, generation: Int)] = []
        var cancelled = 0
        var flushed = 0
        var waits: [Int] = []

        init(_ policy: ConversationPolicy = ConversationPolicy()) {
            machine = DialogueMachine(
                brief: Brief(purpose: "x", questions: [Question(id: "q1", text: "Where do you live?")]),
                canRecognizeSpeech: true, policy: policy)
        }

        mutating func run(_ actions: [DialogueMachine.Action]) {
            for action in actions {
                switch action {
                case .requestModel(let conversation, let generation): requests.append((conversation, generation))
                case .cancelModel: cancelled += 1
                case .speak(let text, _), .disclose(let text, _): said.append(text)
                case .flushSpeech: flushed += 1
                case .awaitSilence(let ms): waits.append(ms)
                default: break
                }
            }
        }
        mutating func answer(_ text: String, at now: Int) {
            guard let generation = requests.last?.generation else { return }
            run(machine.model(.text(text), generation: generation, at: now))
            run(machine.modelFinished(generation: generation, at: now))
        }
        /// Greeting said and heard.
        mutating func greet() {
            run(machine.mediaStarted(at: 0))
            answer("Hello. Where do you live?", at: 10)
            run(machine.turnHeard("Hello. Where do you live?", turn: machine.turn, isInterrupted: false, at: 2_000))
            said = []
        }
        mutating func hear(_ text: String, from start: Int, to end: Int) {
            run(machine.speechStarted(at: start))
            run(machine.speechEnded(spokenMs: end - start, at: end + 600))
            run(machine.transcript(.final(text: text, confidence: nil), at: end + 650))
        }
    }

    @Test func aRightSpeculationAnswersAtOnce() {
        var time = Timeline()
        time.greet()
        time.run(time.machine.speechStarted(at: 3_000))
        time.run(time.machine.transcript(.interim("in London"), at: 3_400))
        time.run(time.machine.paused(at: 3_800))
        #expect(time.requests.count == 2 && time.requests[1].conversation.items.last == .caller("in London"))
        time.answer("London it is.", at: 4_000)
        #expect(time.said.isEmpty, "nothing is said before the turn is over")
        time.run(time.machine.speechEnded(spokenMs: 700, at: 4_200))
        time.run(time.machine.transcript(.final(text: "In London.", confidence: 1), at: 4_500))
        #expect(time.said == ["London it is."] && time.requests.count == 2 && time.cancelled == 0)
        #expect(time.machine.conversation.items.last == .caller("In London."))
    }

    @Test func aSpeculationThatStillRunsGoesOnAsTheAnswer() {
        var time = Timeline()
        time.greet()
        time.run(time.machine.speechStarted(at: 3_000))
        time.run(time.machine.transcript(.pause("in London"), at: 3_400))
        let generation = time.requests[1].generation
        time.run(time.machine.model(.text("London. "), generation: generation, at: 3_500))
        time.run(time.machine.speechEnded(spokenMs: 400, at: 4_000))
        time.run(time.machine.transcript(.final(text: "in London", confidence: 1), at: 4_100))
        #expect(time.said == ["London."])
        time.run(time.machine.model(.text("Fine. "), generation: generation, at: 4_150))
        time.run(time.machine.modelFinished(generation: generation, at: 4_200))
        #expect(time.said == ["London.", "Fine."])
    }

    @Test func aWrongSpeculationIsThrownAway() {
        var time = Timeline()
        time.greet()
        time.run(time.machine.speechStarted(at: 3_000))
        time.run(time.machine.transcript(.pause("in London"), at: 3_400))
        time.answer("London it is.", at: 3_500)
        time.run(time.machine.transcript(.interim("in London, I mean Paris"), at: 4_000))
        #expect(time.cancelled == 1)
        time.run(time.machine.speechEnded(spokenMs: 1_500, at: 4_900))
        time.run(time.machine.transcript(.final(text: "In London, I mean Paris.", confidence: 1), at: 5_000))
        #expect(time.said.isEmpty && time.requests.count == 3)
        time.answer("Paris it is.", at: 5_200)
        #expect(time.said == ["Paris it is."])
    }

    @Test(arguments: ["in London and", "five five five"]) func unfinishedSentencesStartNoSpeculation(text: String) {
        var time = Timeline()
        time.greet()
        time.run(time.machine.speechStarted(at: 3_000))
        time.run(time.machine.transcript(.interim(text), at: 3_400))
        time.run(time.machine.paused(at: 3_600))
        #expect(time.requests.count == 1 && (time.waits.last ?? 0) >= 1_200)
    }

    @Test func aSpeculationThatFailsDoesNoHarm() {
        var time = Timeline()
        time.greet()
        time.run(time.machine.speechStarted(at: 3_000))
        time.run(time.machine.transcript(.pause("in London"), at: 3_400))
        let generation = time.requests[1].generation
        #expect(time.machine.modelFailed("busy", generation: generation, at: 3_500) == [.cancelModel])
        time.run(time.machine.speechEnded(spokenMs: 400, at: 4_000))
        time.run(time.machine.transcript(.final(text: "in London", confidence: 1), at: 4_100))
        time.answer("London it is.", at: 4_200)
        #expect(time.said == ["London it is."])
    }

    @Test func aNoiseCostsNoSentence() {
        var time = Timeline()
        time.run(time.machine.mediaStarted(at: 0))
        time.answer("Hello, this is a test. Where do you live?", at: 10)
        time.said = []
        time.run(time.machine.speechStarted(at: 1_000))
        time.run(time.machine.interrupted(at: 1_300))
        time.run(time.machine.turnHeard("Hello, this is a", turn: time.machine.turn, isInterrupted: true, at: 1_300))
        time.run(time.machine.speechEnded(spokenMs: 500, at: 2_100))
        time.run(time.machine.transcript(.final(text: "", confidence: nil), at: 2_200))
        #expect(time.flushed == 1 && time.said == ["test.", "Where do you live?"] && time.requests.count == 1)
        // Words are no noise.
        time.run(time.machine.speechStarted(at: 3_000))
        time.run(time.machine.interrupted(at: 3_300))
        time.run(time.machine.turnHeard("test.", turn: time.machine.turn, isInterrupted: true, at: 3_300))
        time.run(time.machine.speechEnded(spokenMs: 500, at: 4_100))
        time.run(time.machine.transcript(.final(text: "in Paris", confidence: nil), at: 4_200))
        #expect(time.requests.count == 2)
    }

    @Test func aBackchannelTakesNoTurn() {
        var time = Timeline()
        time.run(time.machine.mediaStarted(at: 0))
        time.answer("Hello. Where do you live?", at: 10)
        time.hear("Mm-hm.", from: 800, to: 1_000)
        #expect(time.flushed == 0 && time.requests.count == 1)
    }

    @Test func wordsOfTheTurnAreCounted() {
        var time = Timeline()
        time.run(time.machine.mediaStarted(at: 0))
        time.answer("Hello.", at: 10)
        #expect(time.machine.callerWords == nil)
        time.run(time.machine.speechStarted(at: 500))
        #expect(time.machine.callerWords == nil)
        time.run(time.machine.transcript(.interim("uh-huh"), at: 700))
        #expect(time.machine.callerWords == 0)
        time.run(time.machine.transcript(.interim("uh-huh but wait"), at: 900))
        #expect(time.machine.callerWords == 3)
    }

    @Test func aSlowModelIsCoveredOnce() {
        var policy = ConversationPolicy()
        policy.fillerMs = 1_000
        var time = Timeline(policy)
        time.greet()
        time.hear("in London", from: 3_000, to: 3_500)
        for now in stride(from: 4_150, to: 5_150, by: 20) { time.run(time.machine.tick(at: now)) }
        #expect(time.said.isEmpty)
        for now in stride(from: 5_150, to: 8_000, by: 20) { time.run(time.machine.tick(at: now)) }
        #expect(time.said == ["One moment, please."])
        time.answer("London it is.", at: 8_000)
        #expect(time.said == ["One moment, please.", "London it is."])
    }

    @Test func theDisclosureComesFirst() {
        var policy = ConversationPolicy()
        policy.disclosure = "This call is made by a computer."
        var time = Timeline(policy)
        time.run(time.machine.mediaStarted(at: 0))
        time.answer("Hello.", at: 10)
        #expect(time.said == ["This call is made by a computer.", "Hello."])
    }

    @Test func aTakenOverConversationIsNotGreetedAgain() {
        var machine = DialogueMachine(
            brief: Brief(purpose: "x", questions: [Question(id: "q1", text: "Where do you live?")]),
            canRecognizeSpeech: true,
            history: [.assistant(heard: "Hello. Where do you live?", isInterrupted: false), .caller("In London.")])
        guard case .requestModel(let conversation, _)? = machine.mediaStarted(at: 5_000).last else {
            Issue.record("no request")
            return
        }
        #expect(conversation.items.last == .takenOver && conversation.items.count == 3)
    }
}
