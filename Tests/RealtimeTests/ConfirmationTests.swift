import Testing

@testable import Realtime

/// What is likely but not sure is asked back.
struct ConfirmationTests {
    private struct Talk {
        var conversation: Conversation
        var said = ""

        init(_ kind: Question.Kind, _ choices: [String] = [], language: String = "en") {
            conversation = Conversation(
                brief: Brief(
                    purpose: "a visit",
                    questions: [Question(id: "q1", text: "Which one?", kind: kind, choices: choices)],
                    language: language))
            conversation.items.append(.connected)
            answer()
        }

        mutating func hear(_ text: String, uncertain: Bool = false) {
            conversation.items.append(.caller(text))
            if uncertain { conversation.items.append(.uncertain) }
            answer()
        }

        mutating func press(_ keys: String) {
            conversation.items.append(.keys(keys))
            answer()
        }

        private mutating func answer() {
            said = ""
            for event in EmbeddedPolicy.events(for: conversation) {
                switch event {
                case .text(let text): said += text
                case .toolCall(name: DialogueTool.reportTaskState, let arguments):
                    conversation.tracker.apply(json: arguments)
                case .toolCall, .source: break
                }
            }
            conversation.items.append(.assistant(heard: said, isInterrupted: false))
        }

        var result: Answer { conversation.tracker.answers[0] }
    }

    @Test func aLikelyAnswerIsAskedBackAndAYesSettlesIt() {
        var talk = Talk(.date)
        talk.hear("On Friday, please.", uncertain: true)
        #expect(talk.said.contains("Did you say On Friday?"))
        #expect(talk.result.status == .pending)
        talk.hear("Yes.")
        #expect(talk.result.status == .answered)
        #expect(talk.result.value == .text("On Friday, please."))
        #expect(talk.result.settled == .confirmed)
    }

    @Test func aNoAsksTheQuestionAgain() {
        var talk = Talk(.number)
        talk.hear("Five.", uncertain: true)
        #expect(talk.said.contains("Did you say 5?"))
        talk.hear("No, that is wrong.")
        #expect(talk.result.status == .pending)
        #expect(talk.said.contains("Which one?"))
        talk.hear("Nine.")
        #expect(talk.result.value == .number(9))
        #expect(talk.result.settled == nil)
    }

    @Test func theSameAnswerAgainConfirmsItEvenIfItIsUnclearAgain() {
        var talk = Talk(.number)
        talk.hear("Five.", uncertain: true)
        talk.hear("Five.", uncertain: true)
        #expect(talk.result.value == .number(5))
        #expect(talk.result.settled == .confirmed)
    }

    @Test func anotherAnswerInsteadOfAYesIsTaken() {
        var talk = Talk(.choice, ["fish", "meat"])
        talk.hear("Fish.", uncertain: true)
        talk.hear("The meat, please.")
        #expect(talk.result.value == .text("meat"))
    }

    @Test func aDoubtfulYesIsAskedAsYesOrNo() {
        var talk = Talk(.boolean)
        talk.hear("Yes.", uncertain: true)
        #expect(talk.said.contains("was that a yes or a no?"))
        talk.hear("No.")
        #expect(talk.result.value == .boolean(false))
    }

    @Test func theSecondTrySaysWhatCanBeSaidAndTheThirdOffersTheKeypad() {
        var talk = Talk(.date)
        talk.hear("")
        #expect(talk.said.contains("Please say the day or the time."))
        talk.hear("")
        #expect(talk.said.contains("on your keypad"))
        talk.press("2105")
        #expect(talk.result.value == .text("21 May"))
        #expect(talk.result.settled == .keypad)
    }

    @Test(arguments: [("en", "3102"), ("en", "0013"), ("ko", "1301"), ("ru", "32"), ("en", "310")])
    func keysThatAreNoDateAreNoAnswer(language: String, keys: String) {
        var talk = Talk(.date, language: language)
        talk.press(keys)
        #expect(talk.result.status == .pending)
    }

    @Test(arguments: [("en", "3112", "31 December"), ("ko", "1231", "12월 31일"), ("ru", "3112", "31 декабря")])
    func aDateByKeysIsReadInTheLanguagesOrder(language: String, keys: String, date: String) {
        var talk = Talk(.date, language: language)
        talk.press(keys)
        #expect(talk.result.value == .text(date))
    }

    /// Some voices' "Five." sounds like "Hi.".
    @Test func greetingsWithoutEndLeadToTheKeypad() {
        var talk = Talk(.number)
        talk.hear("Hi.")
        #expect(talk.said.contains("Which one?") && !talk.said.contains("did not catch"))
        talk.hear("Hi.")
        #expect(talk.said.contains("did not catch"))
        talk.hear("Hi.")
        #expect(talk.said.contains("keypad"))
        talk.hear("Hi.")
        #expect(talk.result.status == .unclear)
    }

    @Test func aHumIsNoYes() {
        var talk = Talk(.boolean)
        talk.hear("Mm-hmm.")
        #expect(talk.result.status == .pending && talk.said.contains("did not catch"))
    }

    @Test func doubtsWithoutEndLeadToTheKeypad() {
        var talk = Talk(.number)
        for number in ["One.", "Two.", "Three.", "Four.", "Five.", "Six.", "Seven.", "Eight."] {
            talk.hear(number, uncertain: true)
        }
        #expect(talk.result.status == .unclear)
    }

    @Test(arguments: [
        ("The weather is lovely today.", Question.Kind.date), ("I can see the mountains from here.", .boolean),
        ("My sister is fine with her new job I think.", .boolean), ("It was always now or never for them.", .date),
    ])
    func aSentenceThatIsNoAnswerIsNone(text: String, kind: Question.Kind) {
        #expect(EmbeddedPolicy.value(of: text, question: Question(id: "q1", text: "", kind: kind)) == nil)
    }

    @Test(arguments: [
        ("I could come by on Tuesday after my shift.", Question.Kind.date), ("No, but you can ask my wife.", .boolean),
        ("Well yes, I think that should be possible.", .boolean), ("Let us say the 21st of May then.", .date),
    ])
    func aLongAnswerIsStillOne(text: String, kind: Question.Kind) {
        #expect(EmbeddedPolicy.value(of: text, question: Question(id: "q1", text: "", kind: kind)) != nil)
    }
}
