import Foundation
import Pipeline
import Testing

@testable import Realtime

/// A whole conversation without audio: the machine and the embedded policy on a clock made of numbers.
@Suite struct DialogueTests {
    private struct Talk {
        var machine: DialogueMachine
        var now = 0
        var said: [String] = []
        var ended: EndReason?
        var expects: [AnswerHints] = []

        init(_ questions: [Question], language: String = "en", canRecognize: Bool = true, maxTurns: Int = 20) {
            machine = DialogueMachine(
                brief: Brief(
                    purpose: "to plan the dinner", callerDisplayName: "Kim", questions: questions, language: language,
                    maxTurns: maxTurns),
                canRecognizeSpeech: canRecognize)
            perform(machine.mediaStarted(at: 0))
        }

        mutating func perform(_ actions: [DialogueMachine.Action]) {
            for action in actions {
                switch action {
                case .requestModel(let conversation, let generation):
                    for event in EmbeddedPolicy.events(for: conversation) {
                        perform(machine.model(event, generation: generation, at: now))
                    }
                    perform(machine.modelFinished(generation: generation, at: now))
                case .speak(let text, _), .disclose(let text, _): said.append(text)
                case .turnComplete(let turn):
                    now += 2_000
                    perform(machine.turnHeard(said.joined(separator: " "), turn: turn, isInterrupted: false, at: now))
                case .expect(let hints): expects.append(hints)
                case .hangUp(let reason): ended = reason
                case .cancelModel, .flushSpeech, .progress, .customerSaid, .awaitSilence, .source, .press, .warning,
                    .transfer, .fail, .callTool, .toolRefused, .cancelTool:
                    break
                }
            }
        }

        /// The callee says something; nil: nothing that could be understood.
        mutating func hear(_ text: String?) -> String {
            said = []
            now += 500
            perform(machine.speechStarted(at: now))
            now += 1_000
            perform(machine.speechEnded(spokenMs: 900, at: now))
            perform(machine.transcript(.final(text: text ?? "", confidence: nil), at: now))
            return said.joined(separator: " ")
        }
        mutating func press(_ key: Character) -> String {
            said = []
            now += 500
            perform(machine.key(key, at: now))
            return said.joined(separator: " ")
        }
        mutating func wait(_ ms: Int) -> String {
            said = []
            let end = now + ms
            while now < end {
                now += 20
                perform(machine.tick(at: now))
            }
            return said.joined(separator: " ")
        }
        var statuses: [Answer.Status] { machine.conversation.tracker.answers.map(\.status) }
    }

    private let two = [
        Question(id: "q1", text: "Will you attend?"), Question(id: "q2", text: "How many guests will you bring?"),
    ]

    @Test func allAnsweredEndsTheCall() {
        var talk = Talk(two)
        #expect(talk.said.joined(separator: " ").contains("calling for Kim") && talk.said.last == "Will you attend?")
        #expect(talk.expects.last?.kind == .boolean)
        let heard1 = talk.hear("yes i will be there")
        #expect(heard1 == "Thank you. How many guests will you bring?")
        #expect(talk.expects.last?.kind == .number)
        let heard2 = talk.hear("four people")
        #expect(heard2.hasSuffix("Goodbye."))
        #expect(talk.ended == .taskCompleted && talk.statuses == [.answered, .answered])
        #expect(talk.machine.conversation.tracker.answers.map(\.value) == [.boolean(true), .number(4)])
    }

    @Test func notUnderstoodIsAskedTwiceAgainThenUnclear() {
        var talk = Talk(two)
        let heard3 = talk.hear(nil)
        #expect(heard3.contains("Please say yes or no"))
        let heard4 = talk.hear("purple")
        #expect(heard4.contains("Please press one for yes"), "the last try offers the keypad")
        let heard5 = talk.hear(nil)
        #expect(heard5 == "All right. How many guests will you bring?")
        #expect(talk.statuses == [.unclear, .pending])
    }

    @Test func keysAnswerWhereSpeechFails() {
        var talk = Talk(two)
        _ = talk.hear(nil)
        let heard6 = talk.press("2")
        #expect(heard6.contains("How many guests"))
        _ = talk.press("1")
        _ = talk.press("2")
        let heard7 = talk.press("#")
        #expect(heard7.hasSuffix("Goodbye."))
        #expect(talk.machine.conversation.tracker.answers.map(\.value) == [.boolean(false), .number(12)])
    }

    @Test func koreanIsSpokenAndAnsweredByKeys() {
        var talk = Talk([Question(id: "q1", text: "참석하시나요?")], language: "ko", canRecognize: false)
        #expect(talk.said.joined().contains("일번"))
        let heard8 = talk.press("1")
        #expect(heard8.contains("안녕히"))
        #expect(talk.statuses == [.answered])
    }

    @Test(arguments: [
        ("i'm busy right now", EndReason.calleeBusy), ("you have the wrong number", .wrongNumber),
        ("stop calling me", .refused),
        ("please leave a message after the beep", .voicemail), ("call me back later", .calleeBusy),
    ])
    func closingWordsEndTheCall(words: String, reason: EndReason) {
        var talk = Talk(two)
        _ = talk.hear(words)
        #expect(talk.ended == reason)
    }

    @Test func questionsAboutTheCallerAndRepetitionsAreAnswered() {
        var talk = Talk(two)
        let heard9 = talk.hear("who is this")
        #expect(heard9.contains("calling for Kim"))
        let heard10 = talk.hear("can you repeat that")
        #expect(heard10 == "Will you attend?")
        let heard11 = talk.hear("yes")
        #expect(heard11.contains("How many guests"))
    }

    @Test func silenceIsPromptedThenEndsTheCall() {
        var talk = Talk(two)
        let heard12 = talk.wait(7_500)
        #expect(heard12.hasPrefix("Are you still there?"))
        let heard13 = talk.wait(9_500)
        #expect(heard13.hasPrefix("Are you still there?"))
        let heard14 = talk.wait(9_500)
        #expect(heard14.contains("I cannot hear you"))
        #expect(talk.ended == .silence)
    }

    @Test func aMonologueAtTheStartIsAVoicemail() {
        var talk = Talk(two)
        talk.perform(talk.machine.speechStarted(at: 100))
        talk.perform(talk.machine.monologue(at: 6_100))
        #expect(talk.ended == .voicemail && talk.machine.answeredBy == .voicemail)
    }

    private func spoken(_ actions: [DialogueMachine.Action]) -> [String] {
        actions.compactMap { if case .speak(let text, _) = $0 { text } else { nil } }
    }

    @Test func aMessageIsLeftWhenTheMachineHasFinished() {
        var policy = ConversationPolicy()
        policy.voicemailMessage = "This is Kim. Please call back."
        var machine = DialogueMachine(
            brief: Brief(purpose: "x", questions: two), canRecognizeSpeech: true, policy: policy)
        _ = machine.mediaStarted(at: 0)
        _ = machine.speechStarted(at: 100)
        _ = machine.answeringMachine(at: 6_000)
        for now in stride(from: 6_000, to: 9_000, by: 20) { #expect(machine.tick(at: now).isEmpty) }
        _ = machine.speechEnded(spokenMs: 8_900, at: 9_000)
        _ = machine.transcript(.final(text: "leave a message after the beep", confidence: nil), at: 9_100)
        #expect(machine.tick(at: 10_980).isEmpty)
        // The beep.
        _ = machine.speechStarted(at: 10_990)
        _ = machine.speechEnded(spokenMs: 500, at: 11_500)
        #expect(machine.tick(at: 13_480).isEmpty)
        #expect(spoken(machine.tick(at: 13_500)) == ["This is Kim.", "Please call back."])
        #expect(!machine.isInterruptible && machine.answeredBy == .voicemail)
        let last = machine.turnHeard(
            "This is Kim. Please call back.", turn: machine.turn, isInterrupted: false, at: 16_000)
        guard case .hangUp(.voicemail)? = last.first else { return #expect(Bool(false), "\(last)") }
    }

    @Test func aMachineThatNeverFinishesIsGivenUp() {
        var policy = ConversationPolicy()
        policy.voicemailMessage = "Please call back."
        var machine = DialogueMachine(
            brief: Brief(purpose: "x", questions: two), canRecognizeSpeech: true, policy: policy)
        _ = machine.mediaStarted(at: 0)
        _ = machine.speechStarted(at: 100)
        _ = machine.answeringMachine(at: 6_000)
        #expect(machine.tick(at: 65_980).isEmpty)
        guard case .hangUp(.voicemail)? = machine.tick(at: 66_000).first else { return #expect(Bool(false)) }
    }

    @Test func operatorTextInterruptsTheDialogue() {
        var talk = Talk(two)
        let turn = talk.machine.turn
        let actions = talk.machine.say("One moment. A colleague will call you.", at: 5_000)
        #expect(spoken(actions) == ["One moment.", "A colleague will call you."] && talk.machine.turn == turn + 1)
        talk.perform(talk.machine.timeIsUp(at: 180_000))
        #expect(talk.machine.say("Too late.", at: 180_020).isEmpty)
    }

    @Test func theLongestDurationEndsPolitely() {
        var talk = Talk(two)
        talk.said = []
        talk.perform(talk.machine.timeIsUp(at: 180_000))
        #expect(talk.said.joined().contains("our time is up") && talk.ended == .maxDuration)
    }

    @Test func tooManyTurnsEndTheCall() {
        var talk = Talk(two, maxTurns: 3)
        for _ in 0..<3 { _ = talk.hear("can you repeat that") }
        #expect(talk.ended == .maxTurns)
    }

    @Test func anInterruptedQuestionIsAskedAgain() {
        var talk = Talk(two)
        var machine = DialogueMachine(brief: Brief(purpose: "x", questions: two), canRecognizeSpeech: true)
        _ = machine.mediaStarted(at: 0)
        _ = talk
        for event in EmbeddedPolicy.events(for: machine.conversation) { _ = machine.model(event, generation: 1, at: 0) }
        _ = machine.modelFinished(generation: 1, at: 0)
        _ = machine.speechStarted(at: 900)
        let cut = machine.interrupted(at: 940)
        #expect(cut == [.flushSpeech])
        _ = machine.turnHeard("Hello, this is", turn: 1, isInterrupted: true, at: 940)
        _ = machine.speechEnded(spokenMs: 500, at: 2_000)
        let actions = machine.transcript(.final(text: "yes", confidence: nil), at: 2_010)
        guard case .requestModel(let conversation, _)? = actions.last else {
            Issue.record("no request")
            return
        }
        let text = EmbeddedPolicy.events(for: conversation).compactMap {
            if case .text(let text) = $0 { text } else { nil }
        }.joined()
        #expect(text.contains("Will you attend?") && !text.contains("Thank you"))
        talk.now = 0
    }

    @Test func aModelThatNeverAnswersIsGivenUp() {
        var machine = DialogueMachine(brief: Brief(purpose: "x", questions: two), canRecognizeSpeech: true)
        _ = machine.mediaStarted(at: 0)
        let before = machine.tick(at: 14_999)
        let after = machine.tick(at: 15_000)
        #expect(before == [])
        #expect(after == [.cancelModel, .fail("language-model: no response within 15000 ms")])
    }
}
