import Foundation
import Pipeline
import Testing

@testable import Realtime

@Suite struct QuestionReadingTests {
    @Test(arguments: [
        ("Will you attend?", Question.Kind.boolean), ("Have you moved?", .boolean),
        ("How many people will come?", .number),
        ("When can you come?", .date), ("What day suits you?", .date), ("What is your address?", .text),
        ("Your name is Kim, right?", .boolean),
        ("몇 명이 오시나요?", .number), ("참석하시나요?", .boolean), ("언제 오시나요?", .date), ("Сколько вас будет?", .number),
    ])
    func wordingTellsTheKind(text: String, kind: Question.Kind) {
        #expect(QuestionReading(Question(id: "q1", text: text)).kind == kind)
    }
    @Test func theRequestWins() {
        #expect(QuestionReading(Question(id: "q1", text: "Will you?", kind: .number)).kind == .number)
    }
}

@Suite struct AnswerReadingTests {
    private static let boolean = Question(id: "q1", text: "Will you attend?")
    private static let number = Question(id: "q1", text: "How many?", kind: .number)
    private static let choice = Question(id: "q1", text: "Which?", kind: .choice, choices: ["red wine", "white wine"])
    private static let date = Question(id: "q1", text: "When?", kind: .date)

    static let cases: [(String, Question?, Intent)] = [
        ("yes i will be there", boolean, .answer(.boolean(true))), ("no thank you", boolean, .answer(.boolean(false))),
        ("I'm not sure", boolean, .dontKnow), ("nope", boolean, .answer(.boolean(false))), ("four", boolean, .other),
        ("can you repeat that", boolean, .repeatPlease), ("who is this", boolean, .whoIsThis),
        ("i'm busy right now", boolean, .busy),
        ("please call me back later", boolean, .busy), ("you have the wrong number", boolean, .wrongNumber),
        ("stop calling me", boolean, .refusal), ("", boolean, .nothing), ("hello", boolean, .hello),
        ("please leave a message after the tone", boolean, .voicemail),
        ("there are four of us", number, .answer(.number(4))),
        ("twenty five", number, .answer(.number(25))), ("two hundred and six", number, .answer(.number(206))),
        ("yes", number, .other),
        ("the white wine please", choice, .answer(.text("white wine"))),
        ("on friday", date, .answer(.text("on friday"))),
        ("yes", nil, .other),
    ]
    @Test(arguments: cases.indices) func wordsHaveTheirMeaning(index: Int) {
        let (text, question, intent) = Self.cases[index]
        #expect(AnswerReading(texts: .of("en")).intent(of: text, question: question) == intent)
    }

    @Test func koreanAndRussianWords() {
        #expect(AnswerReading(texts: .of("ko")).intent(of: "네 갈게요", question: Self.boolean) == .answer(.boolean(true)))
        #expect(
            AnswerReading(texts: .of("ko-KR")).intent(of: "아니요", question: Self.boolean) == .answer(.boolean(false)))
        #expect(
            AnswerReading(texts: .of("ru")).intent(of: "да, конечно", question: Self.boolean) == .answer(.boolean(true))
        )
    }

    @Test func keysAnswer() {
        let reading = AnswerReading(texts: .of("en"))
        #expect(reading.intent(ofKeys: "1", question: Self.boolean) == .answer(.boolean(true)))
        #expect(reading.intent(ofKeys: "2", question: Self.boolean) == .answer(.boolean(false)))
        #expect(reading.intent(ofKeys: "9", question: Self.boolean) == .other)
        #expect(reading.intent(ofKeys: "42", question: Self.number) == .answer(.number(42)))
        #expect(reading.intent(ofKeys: "2", question: Self.choice) == .answer(.text("white wine")))
    }
}

@Suite struct TaskTrackerTests {
    private let questions = [Question(id: "q1", text: "A?"), Question(id: "q2", text: "B?", isRequired: false)]

    @Test func reportsAreTakenAndNonsenseIsCounted() {
        var tracker = TaskTracker(questions: questions)
        let first = tracker.apply(
            json: #"{"asking":"q1","questions":[{"id":"q1","status":"answered","answer":"yes","value":true}]}"#)
        #expect(first == ["q1"])
        #expect(
            tracker.answers[0].status == .answered && tracker.answers[0].value == .boolean(true)
                && tracker.answers[0].confidence == nil)
        let second = tracker.apply(json: "not json")
        let third = tracker.apply(
            json:
                #"{"questions":[{"id":"q9","status":"answered"},{"id":"q2","status":"maybe"},{"id":"q1","status":"pending"},{"id":"q2","status":"not_asked"},{"id":"q2","status":"answered","confidence":7}]}"#
        )
        #expect(second == [] && third == [])
        #expect(tracker.ignoredReports == 6)
        #expect(tracker.isCompleted, "the open question is not required")
    }

    @Test func theEndSettlesWhatIsOpen() {
        var tracker = TaskTracker(questions: questions)
        tracker.apply(TaskReport(asking: "q1"))
        tracker.close()
        #expect(tracker.answers.map(\.status) == [.unclear, .notAsked])
    }
}

@Suite struct PolicyTextsTests {
    @Test func everyLanguageHasTheSameTextsAndPatterns() {
        let english = PolicyTexts.of("en")
        #expect(english.texts.count > 20)
        for language in PolicyTexts.languages {
            let other = PolicyTexts.of(language)
            #expect(Set(other.texts.keys) == Set(english.texts.keys), "\(language)")
            #expect(Set(other.patterns.keys) == Set(english.patterns.keys), "\(language)")
            #expect(other.texts.values.allSatisfy { !$0.isEmpty })
        }
    }
    @Test func placeholdersAreFilledOnce() {
        #expect(PolicyTexts.fill("{a} and {b} {unknown} {", ["a": "{b}", "b": "2"]) == "{b} and 2 {unknown} {")
    }
}

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
                    .transfer, .fail:
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
        #expect(heard4.contains("Please say yes or no"))
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
    func whatEndsACall(words: String, reason: EndReason) {
        var talk = Talk(two)
        _ = talk.hear(words)
        #expect(talk.ended == reason)
    }

    @Test func whoAndRepeatAreAnswered() {
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

    @Test func whatAnOperatorSaysTakesTheFloor() {
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

@Suite struct AnswerGrammarTests {
    @Test func wordsOfTheQuestionAreInTheGrammar() {
        let grammar = AnswerGrammar(AnswerHints(kind: .choice, choices: ["Red wine", "white wine"]))
        #expect(
            grammar.text.contains("red wine | white wine")
                && grammar.words.isSuperset(of: ["red", "white", "wine", "pardon"]))
        #expect(!grammar.words.contains("control"))
    }
    @Test func everyWordHasAPronunciation() throws {
        let model = try AcousticModel()
        for kind in Question.Kind.allCases {
            for word in AnswerGrammar(AnswerHints(kind: kind)).words { #expect(model.knows(word: word), "\(word)") }
        }
    }
    @Test func aMissingModelSaysWhatToInstall() {
        let error = #expect(throws: SpeechError.self) { _ = try AcousticModel(folder: "/nowhere") }
        #expect(error?.message.contains("pocketsphinx-en-us") == true)
    }
}

/// The real engines: flite speaks, pocketsphinx understands.
@Suite struct EmbeddedSpeechTests {
    /// Found by scripts/soak: every choice that a question ever had stayed compiled in every decoder.
    @Test func grammarsOfManyQuestionsAreNotAllKept() throws {
        let decoder = try PocketSphinxDecoder(model: try AcousticModel(), words: ["yes", "no"])
        func grammar(_ number: Int) -> String { "#JSGF V1.0; grammar g\(number); public <a> = yes | no;" }
        for number in 0..<3 * PocketSphinxDecoder.grammarLimit {
            try decoder.select(grammar: "g\(number)", text: grammar(number))
        }
        #expect(decoder.grammars.count == PocketSphinxDecoder.grammarLimit)
        // One that was given up is compiled again; one that is used does not grow old.
        for _ in 0..<2 {
            for number in [0, 47, 0, 46] { try decoder.select(grammar: "g\(number)", text: grammar(number)) }
        }
        #expect(
            decoder.grammars.count == PocketSphinxDecoder.grammarLimit && decoder.grammars.suffix(2) == ["g0", "g46"])
        try decoder.start()
        _ = decoder.finish()
    }

    @Test func whatFliteSaysIsRecognised() async throws {
        let workers = WorkerPool(name: "test", threads: 2)
        let pool = DecoderPool(model: try AcousticModel(), workers: workers, limit: 1)
        let input = Edge<RecognizerInput>("in", limit: 1_000, whenFull: .wait)
        let output = Edge<TranscriptEvent>("out", limit: 8, whenFull: .wait)
        let recognizer = Task { try await EmbeddedRecognizer(pool: pool).run(from: input, to: output) }
        var heard: [String] = []
        for (text, kind) in [("Yes, I will be there.", Question.Kind.boolean), ("Four people.", .number)] {
            let frames = try EmbeddedSpeech.synthesize(
                Sentence(utterance: 0, turn: 1, text: text, language: "en"), voice: .rms)
            try await input.send(.expect(AnswerHints(kind: kind)))
            var up = try Resampler(from: 8_000, to: 16_000)
            var audio: [AudioFrame] = []
            let silence = [AudioFrame](
                repeating: {
                    var frame = AudioFrame(sampleRate: 8_000);
                    frame.fill {
                        $0.update(repeating: 0); return 160
                    }; return frame
                }(), count: 12)
            for frame in silence + frames + silence { try up.process(frame, into: &audio) }
            for frame in audio { try await input.send(.audio(frame)) }
            try await input.send(.turnEnded)
            if case .data(.final(let text, let confidence))? = await output.next() {
                heard.append(text)
                #expect(confidence == nil, "the engine gives none")
            }
        }
        input.finish()
        try await recognizer.value
        #expect(heard == ["yes i will be there", "four people"])
        workers.stop()
    }

    @Test(arguments: ["ko", "ru"]) func otherLanguagesAreSpokenByEspeak(language: String) throws {
        let text = language == "ko" ? "안녕하세요. 반갑습니다." : "Здравствуйте, как дела?"
        let frames = try EmbeddedSpeech.synthesize(
            Sentence(utterance: 0, turn: 3, text: text, language: language), voice: .kal16)
        #expect(frames.count > 40 && frames.allSatisfy { $0.turn == 3 && $0.count == 160 && $0.sampleRate == 8_000 })
    }
}
