import Testing

@testable import Realtime

/// An agent's fixed words in a cascade and in an embedded conversation, event by event.
@Suite struct OpeningTests {
    private struct Talk {
        var machine: DialogueMachine
        var now = 0
        var said: [String] = []
        var requests: [Conversation] = []
        var ended: EndReason?
        /// The rules answer; else nobody does.
        let isEmbedded: Bool

        init(
            embedded: Bool = false, questions: [Question] = [Question(id: "q1", text: "Will you come?")],
            maxTurns: Int = 20, _ change: (inout ConversationPolicy) -> Void
        ) {
            isEmbedded = embedded
            var policy = ConversationPolicy()
            policy.asksAtOnce = embedded
            change(&policy)
            machine = DialogueMachine(
                brief: Brief(purpose: "to ask", callerDisplayName: "Kim", questions: questions, maxTurns: maxTurns),
                canRecognizeSpeech: true, policy: policy)
            perform(machine.mediaStarted(at: 0))
        }

        mutating func perform(_ actions: [DialogueMachine.Action]) {
            for action in actions {
                switch action {
                case .requestModel(let conversation, let generation):
                    requests.append(conversation)
                    guard isEmbedded else { break }
                    for event in EmbeddedPolicy.events(for: conversation) {
                        pending.append { talk in
                            talk.perform(talk.machine.model(event, generation: generation, at: talk.now))
                        }
                    }
                    pending.append { talk in
                        talk.perform(talk.machine.modelFinished(generation: generation, at: talk.now))
                    }
                case .speak(let text, _), .disclose(let text, _): said.append(text)
                case .turnComplete(let turn):
                    now += 2_000
                    perform(machine.turnHeard(said.joined(separator: " "), turn: turn, isInterrupted: false, at: now))
                case .hangUp(let reason): ended = reason
                default: break
                }
            }
            while !pending.isEmpty { pending.removeFirst()(&self) }
        }
        private var pending: [(inout Talk) -> Void] = []

        mutating func answer(_ events: LanguageModelEvent...) {
            said = []
            let generation = machine.generation
            for event in events { perform(machine.model(event, generation: generation, at: now)) }
            perform(machine.modelFinished(generation: generation, at: now))
        }

        mutating func hear(_ text: String) {
            said = []
            now += 500
            perform(machine.speechStarted(at: now))
            now += 1_000
            perform(machine.speechEnded(spokenMs: 900, at: now))
            perform(machine.transcript(.final(text: text, confidence: nil), at: now))
        }

        mutating func wait(_ ms: Int) {
            let end = now + ms
            while now < end {
                now += 20
                perform(machine.tick(at: now))
            }
        }
    }

    private static func character(first: String? = nil, closing: String? = nil) -> AgentCharacter {
        var character = AgentCharacter()
        character.firstMessage = first
        character.closing = closing
        return character
    }
    private static let report = LanguageModelEvent.toolCall(
        name: DialogueTool.reportTaskState,
        arguments: #"{"questions":[{"id":"q1","status":"answered","answer":"Yes."}]}"#)
    private static let end = LanguageModelEvent.toolCall(
        name: DialogueTool.endCall, arguments: #"{"reason":"task_completed"}"#)

    // MARK: The first message

    @Test func theFirstMessageIsSaidWithoutAModel() {
        var talk = Talk { $0.character = Self.character(first: "Salon Ann. Do you have a minute?") }
        #expect(talk.said == ["Salon Ann.", "Do you have a minute?"] && talk.requests.isEmpty)
        talk.hear("Yes.")
        #expect(talk.requests.count == 1 && talk.said.isEmpty)
        #expect(
            talk.requests.first?.items == [
                .connected, .assistant(heard: "Salon Ann. Do you have a minute?", isInterrupted: false),
                .caller("Yes."),
            ])
    }

    @Test func theDisclosureComesBeforeIt() {
        var talk = Talk {
            $0.disclosure = "An AI is calling."
            $0.character = Self.character(first: "Salon Ann.")
        }
        #expect(talk.said == ["An AI is calling.", "Salon Ann."] && talk.requests.isEmpty)
        // Its turn was heard in no time; before that it cannot be cut off.
        talk = Talk { $0.disclosure = "An AI is calling." }
        #expect(talk.said == ["An AI is calling."] && talk.requests.count == 1 && !talk.machine.isInterruptible)
    }

    @Test func theRulesAskTheirFirstQuestionAtOnce() {
        var talk = Talk(embedded: true) { $0.character = Self.character(first: "Salon Ann, good day!") }
        #expect(talk.said == ["Salon Ann, good day!", "Will you come?"])
        talk.hear("Yes, I will.")
        #expect(
            talk.machine.conversation.tracker.answers.first?.value == .boolean(true) && talk.ended == .taskCompleted)
    }

    @Test func withoutQuestionsTheRulesSayTheFirstMessageAlone() {
        let talk = Talk(embedded: true, questions: []) { $0.character = Self.character(first: "Salon Ann.") }
        #expect(talk.said == ["Salon Ann."] && talk.ended == nil)
    }

    @Test(arguments: [true, false]) func theOtherPartyMaySpeakFirst(isEmbedded: Bool) {
        var talk = Talk(embedded: isEmbedded) {
            $0.speaksFirst = false
            $0.disclosure = "An AI is calling."
            $0.character = Self.character(first: "Salon Ann.")
        }
        #expect(talk.said.isEmpty && talk.requests.isEmpty)
        talk.hear("Hello?")
        #expect(Array(talk.said.prefix(2)) == ["An AI is calling.", "Salon Ann."])
        #expect(talk.requests.count == (isEmbedded ? 1 : 0))
    }

    @Test func aSilentLineHearsItAsWell() {
        var talk = Talk {
            $0.speaksFirst = false
            $0.character = Self.character(first: "Salon Ann.")
        }
        talk.wait(7_100)
        #expect(talk.said == ["Salon Ann."] && talk.requests.isEmpty)
    }

    @Test func nothingIsAskedOfAModelBeforeIt() {
        var talk = Talk {
            $0.speaksFirst = false
            $0.character = Self.character(first: "Salon Ann.")
        }
        talk.perform(talk.machine.speechStarted(at: 100))
        talk.perform(talk.machine.transcript(.pause("Hello there."), at: 600))
        #expect(talk.requests.isEmpty, "a speculation would be dropped")
    }

    @Test func anAssistantThatScreensIsAnsweredByTheModel() {
        var talk = Talk(embedded: true) {
            $0.speaksFirst = false
            $0.character = Self.character(first: "Salon Ann.")
        }
        talk.hear("Please say your name and why you are calling.")
        #expect(talk.machine.answeredBy == .screening && talk.said.first?.contains("Kim") == true)
        talk.hear("Hello, this is Ann.")
        #expect(talk.said == ["Salon Ann.", "Will you come?"])
    }

    @Test func aConversationThatIsTakenOverBeginsWithoutIt() {
        var policy = ConversationPolicy()
        policy.character = Self.character(first: "Salon Ann.")
        var machine = DialogueMachine(
            brief: Brief(purpose: "to ask", questions: []), canRecognizeSpeech: true,
            history: [.assistant(heard: "Salon Ann.", isInterrupted: false)], policy: policy)
        let actions = machine.mediaStarted(at: 0)
        #expect(actions.count == 1)
        guard case .requestModel? = actions.first else { return #expect(Bool(false), "\(actions)") }
    }

    // MARK: The closing

    @Test func theClosingIsSaidWithoutTheModel() {
        var talk = Talk {
            $0.character = Self.character(first: "Salon Ann.", closing: "See you on Friday. Bye!")
        }
        talk.hear("Yes, I come.")
        talk.answer(Self.report, Self.end)
        #expect(talk.said == ["See you on Friday.", "Bye!"] && talk.ended == .taskCompleted)
    }

    @Test func theClosingComesAfterWhatTheModelHasSaid() {
        var talk = Talk { $0.character = Self.character(first: "Salon Ann.", closing: "Bye!") }
        talk.hear("Yes, I come.")
        talk.answer(.text("Thank you."), Self.report, Self.end)
        #expect(talk.said == ["Thank you.", "Bye!"] && talk.ended == .taskCompleted)
    }

    @Test func theRulesCloseWithItOnce() {
        var talk = Talk(embedded: true) { $0.character = Self.character(closing: "Bye from Ann!") }
        talk.hear("Yes, I will.")
        #expect(talk.said.filter { $0 == "Bye from Ann!" }.count == 1 && talk.said.last == "Bye from Ann!")
        #expect(talk.ended == .taskCompleted)
    }

    @Test func whoIsBusyHearsNoCheerfulClosing() {
        var talk = Talk(embedded: true) { $0.character = Self.character(closing: "Bye from Ann!") }
        talk.hear("I am busy now.")
        #expect(talk.ended == .calleeBusy && !talk.said.contains("Bye from Ann!"))
    }

    @Test func aTimeThatIsUpAndTheLastTurnCloseWithIt() {
        var talk = Talk { $0.character = Self.character(first: "Salon Ann.", closing: "Bye!") }
        talk.said = []
        talk.perform(talk.machine.timeIsUp(at: talk.now))
        #expect(talk.said == ["Bye!"] && talk.requests.isEmpty && talk.ended == .maxDuration)
        talk = Talk(maxTurns: 2) { $0.character = Self.character(first: "Salon Ann.", closing: "Bye!") }
        talk.hear("What is it about?")
        talk.answer(.text("A visit."))
        #expect(talk.said == ["A visit.", "Bye!"] && talk.ended == .maxTurns)
    }
}
