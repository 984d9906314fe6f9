internal import Foundation

/// The language model that needs no account: a rule-based dialogue in English, Korean and Russian.
///
/// States the purpose, puts the questions one by one, asks again at most twice, and handles the ways in which a call
/// can fail. It gets the same conversation and gives the same events as a cloud model.
public struct EmbeddedPolicy: LanguageModel {
    /// How often a question is put before its answer counts as unclear: once, and twice again.
    public static let timesAskedLimit = 3
    /// How often a question is put at most, repetitions on request included.
    static let timesPutLimit = 6
    /// How often a likely answer is put to the callee for confirmation, for each question.
    static let proposalLimit = 3
    /// Prompts about silence before we hang up.
    public static let silenceLimit = 2
    /// Share of a question's words that must have been heard for an answer to count.
    private static let heardEnough = 0.6

    public init() {}

    /// What words mean as the answer to a question in English; nil: nothing.
    public static func value(of text: String, question: Question) -> Answer.Value? {
        guard case .answer(let value) = AnswerReading(texts: .of("en")).intent(of: text, question: question) else {
            return nil
        }
        return value
    }

    public func respond(to conversation: Conversation, _ tell: LanguageModelListener) async throws {
        for event in Self.events(for: conversation) { try await tell(event) }
    }

    /// The whole response; a pure function of the conversation.
    static func events(for conversation: Conversation) -> [LanguageModelEvent] {
        var reply = Reply(conversation)
        reply.compose()
        return reply.events
    }

    private struct Reply {
        let conversation: Conversation
        let texts: PolicyTexts
        let reading: AnswerReading
        var tracker: TaskTracker
        var report = TaskReport()
        var sentences: [String] = []
        var ending: EndReason?
        /// Keys for a voice menu.
        var keys: String?
        var isTransferring = false

        init(_ conversation: Conversation) {
            self.conversation = conversation
            texts = PolicyTexts.of(conversation.brief.language)
            reading = AnswerReading(
                texts: texts, detectsMachines: conversation.detectsMachines, canTransfer: conversation.canTransfer)
            tracker = conversation.tracker
        }

        var events: [LanguageModelEvent] {
            var result: [LanguageModelEvent] = []
            if let json = try? JSONEncoder().encode(report) {
                result.append(
                    .toolCall(name: DialogueTool.reportTaskState, arguments: String(decoding: json, as: UTF8.self)))
            }
            if !sentences.isEmpty { result.append(.text(sentences.joined(separator: " ") + " ")) }
            if let keys { result.append(.toolCall(name: DialogueTool.sendDTMF, arguments: #"{"digits":"\#(keys)"}"#)) }
            if isTransferring { result.append(.toolCall(name: DialogueTool.transferToOperator, arguments: "{}")) }
            if let ending, let json = try? JSONEncoder().encode(DialogueTool.EndCall(reason: ending)) {
                result.append(.toolCall(name: DialogueTool.endCall, arguments: String(decoding: json, as: UTF8.self)))
            }
            return result
        }

        mutating func compose() {
            let news = conversation.sinceLastTurn
            if news.contains(.timeIsUp) { return end(.maxDuration, "time_is_up") }
            if news.contains(.monologue) { return ending = .voicemail }
            if let keys = news.compactMap({ if case .keys(let keys) = $0 { keys } else { nil } }).last {
                return react(to: reading.intent(ofKeys: keys, question: tracker.current), words: keys, by: .keypad)
            }
            if news.last == .screened { return screened() }
            if news.last == .menu { return menu(news) }
            if news.last == .silence { return silence() }
            if news.last == .transferFailed {
                say(texts("nobody_takes_it"))
                return tracker.current == nil ? finish() : ask(tracker.current, counts: false)
            }
            // Another model has called a tool; this one can do nothing with its result.
            if case .toolResult? = news.last, tracker.purposeStated || heardSomething {
                return tracker.current == nil ? finish() : ask(tracker.current, counts: false)
            }
            let said = news.compactMap { if case .caller(let text) = $0 { text } else { nil } }
            if !said.isEmpty, news.contains(.menu) || news.contains(.screened) || wasScreened { return greet() }
            if !said.isEmpty {
                let words = said.filter { !$0.isEmpty }.joined(separator: " ")
                let isUncertain = news.last == .uncertain
                if let proposed = tracker.proposed, proposed.id == tracker.current?.id {
                    return confirm(proposed, words, isUncertain)
                }
                return react(
                    to: reading.intent(of: words, question: tracker.current), words: words, isUncertain: isUncertain)
            }
            if news.contains(.takenOver), tracker.purposeStated || heardSomething {
                say(texts("line_was_bad"))
                return tracker.current == nil ? finish() : ask(tracker.current, counts: false)
            }
            greet()
        }

        // MARK: Openings

        private mutating func greet() {
            let brief = conversation.brief
            let values = ["caller": brief.callerDisplayName, "purpose": brief.purpose]
            if let template = brief.greetingTemplate, !template.isEmpty {
                say(PolicyTexts.fill(template, values))
            } else {
                say(texts(brief.callerDisplayName.isEmpty ? "greeting_anonymous" : "greeting", values))
            }
            if brief.isIncoming != true { say(texts("purpose", ["purpose": Self.sentence(brief.purpose)])) }
            report.purposeStated = true
            ask(tracker.nextPending)
        }

        /// Our last words went to an automatic assistant, or our last keys to a menu: the person who speaks now has not
        /// heard us yet.
        private var wasScreened: Bool {
            for item in conversation.items.dropLast(conversation.sinceLastTurn.count).reversed() {
                switch item {
                case .assistant, .silence, .keysRefused, .uncertain, .toolCalled, .toolResult: continue
                case .screened, .menu: return true
                case .connected, .takenOver, .caller, .keys, .monologue, .transferFailed, .timeIsUp: return false
                }
            }
            return false
        }

        private mutating func screened() {
            let brief = conversation.brief
            say(
                texts(
                    brief.callerDisplayName.isEmpty ? "screening_anonymous" : "screening",
                    ["caller": brief.callerDisplayName, "purpose": Self.sentence(brief.purpose)]))
        }

        private mutating func menu(_ news: ArraySlice<ConversationItem>) {
            let said = news.compactMap { if case .caller(let text) = $0 { text } else { nil } }.last ?? ""
            // If a menu does not offer a person, key 0 usually leads to one, and so does silence.
            if case .menu(let person?) = AnsweringMachineDetection.read(said, language: conversation.brief.language) {
                keys = String(person)
            }
        }

        private mutating func silence() {
            if conversation.silencesInARow > EmbeddedPolicy.silenceLimit { return end(.silence, "silence_closing") }
            say(texts("still_there"))
            ask(tracker.current, counts: false)
        }

        // MARK: Reactions

        private mutating func react(
            to intent: Intent, words: String, isUncertain: Bool = false, by settled: Answer.Settled? = nil
        ) {
            switch intent {
            case .voicemail: ending = .voicemail
            case .person:
                say(texts("putting_through"))
                isTransferring = true
            case .wrongNumber: end(.wrongNumber, "wrong_number")
            case .busy: end(.calleeBusy, "busy")
            case .refusal:
                if let question = tracker.current { settle(question, .refused, words: words) }
                end(.refused, "refused")
            case .whoIsThis:
                let caller = conversation.brief.callerDisplayName
                say(texts(caller.isEmpty ? "who_anonymous" : "who", ["caller": caller]))
                if conversation.brief.isIncoming != true {
                    say(texts("purpose", ["purpose": Self.sentence(conversation.brief.purpose)]))
                }
                ask(tracker.current, counts: false)
            case .repeatPlease:
                guard timesPut >= EmbeddedPolicy.timesPutLimit else { return ask(tracker.current, counts: false) }
                guard let question = tracker.current else { return finish() }
                settle(question, .unclear, words: words)
                goOn(with: "next")
            case .hello:
                guard wasQuestionHeard else { return greet() }
                // Again and again it is hardly a greeting, but an answer that sounds like one.
                timesPut > 1 ? notUnderstood(words) : ask(tracker.current, counts: false)
            case .dontKnow:
                guard let question = tracker.current else { return finish() }
                settle(question, .unclear, words: words)
                goOn(with: "next")
            case .answer(let value):
                guard let question = tracker.current else { return finish() }
                // If a question was interrupted before it could be understood, the words do not count as its answer.
                guard wasQuestionHeard else { return tracker.purposeStated && heardSomething ? ask(question) : greet() }
                if isUncertain { return propose(value, words, for: question) }
                settle(question, .answered, words: words, value: value, by: settled)
                goOn(with: "thanks")
            case .nothing, .other: notUnderstood(words)
            }
        }

        /// Asks whether a likely answer was understood rightly, unless that was asked often enough.
        private mutating func propose(_ value: Answer.Value, _ words: String, for question: Question) {
            guard tracker.timesProposed[question.id, default: 0] < EmbeddedPolicy.proposalLimit else {
                return notUnderstood(words)
            }
            report.proposed = TaskReport.Item(id: question.id, status: .pending, answer: words, value: value)
            if case .boolean = value {
                say(texts("confirm_boolean"))
            } else {
                say(texts("confirm", ["answer": Self.spoken(value, language: conversation.brief.language)]))
            }
        }

        /// The callee's words after "Did you say …?".
        private mutating func confirm(_ proposed: TaskReport.Item, _ words: String, _ isUncertain: Bool) {
            guard let question = tracker.current, let value = proposed.value else { return finish() }
            let intent = reading.intent(of: words, question: question)
            if case .answer(value) = intent { return settleProposed(question, value, words) }
            if case .boolean = value {
                guard case .answer(let other) = intent else { return react(to: intent, words: words) }
                return isUncertain ? notUnderstood(words) : settleProposed(question, other, words)
            }
            let agreement = reading.intent(of: words, question: Question(id: "", text: "", kind: .boolean))
            switch (agreement, intent) {
            case (.answer(.boolean(true)), _):
                settleProposed(question, value, proposed.answer ?? words)
            case (_, .answer(let other)) where !isUncertain && question.kind != .text:
                settleProposed(question, other, words)
            case (_, .answer(let other)) where isUncertain && question.kind != .text:
                propose(other, words, for: question)
            case (.answer(.boolean(false)), _): notUnderstood(words)
            default: react(to: intent, words: words)
            }
        }

        private mutating func settleProposed(_ question: Question, _ value: Answer.Value, _ words: String) {
            settle(question, .answered, words: words, value: value, by: .confirmed)
            goOn(with: "thanks")
        }

        private mutating func notUnderstood(_ words: String) {
            guard let question = tracker.current else { return finish() }
            guard wasQuestionHeard else { return heardSomething ? ask(question) : greet() }
            if tracker.timesAsked[question.id, default: 0] >= EmbeddedPolicy.timesAskedLimit {
                settle(question, .unclear, words: words)
                return goOn(with: "next")
            }
            if conversation.canRecognizeSpeech { say(texts("not_understood")) }
            ask(question, isAgain: true)
        }

        private mutating func goOn(with key: String) {
            guard let next = tracker.nextPending else { return finish() }
            say(texts(key))
            ask(next)
        }

        private mutating func finish() {
            if let template = conversation.brief.closingTemplate, !template.isEmpty {
                say(
                    PolicyTexts.fill(
                        template,
                        ["caller": conversation.brief.callerDisplayName, "purpose": conversation.brief.purpose]))
                ending = .taskCompleted
            } else {
                end(.taskCompleted, "closing")
            }
            report.shouldEndCall = true
        }

        private mutating func end(_ reason: EndReason, _ key: String) {
            say(texts(key))
            ending = reason
            report.shouldEndCall = true
        }

        // MARK: Questions

        private mutating func ask(_ question: Question?, counts: Bool = true, isAgain: Bool = false) {
            guard let question else { return finish() }
            if counts { report.asking = question.id }
            say(Self.sentence(question.text))
            let kind = QuestionReading(question).kind
            // What can be said comes with the second try, the keypad with the third.
            let isLastTry = isAgain && tracker.timesAsked[question.id, default: 0] >= EmbeddedPolicy.timesAskedLimit - 1
            if !conversation.canRecognizeSpeech || isLastTry && kind != .text {
                switch kind {
                case .boolean: say(texts("keypad_boolean"))
                case .number: say(texts("keypad_number"))
                case .choice: say(choices(of: question))
                case .date: say(texts("keypad_date"))
                case .text: say(texts("keypad_text"))
                }
            } else if isAgain {
                say(texts("again_\(kind.rawValue)", ["choices": choices(of: question)]))
            } else if kind == .choice {
                say(choices(of: question))
            }
        }

        private func choices(of question: Question) -> String {
            question.choices.enumerated().map { texts("choice_key", ["key": String($0 + 1), "choice": $1]) }.joined(
                separator: " ")
        }

        private mutating func settle(
            _ question: Question, _ status: Answer.Status, words: String, value: Answer.Value? = nil,
            by settled: Answer.Settled? = nil
        ) {
            let item = TaskReport.Item(
                id: question.id, status: status, answer: words.isEmpty ? nil : words,
                summary: value.map { Self.summary(of: $0, language: conversation.brief.language) }, value: value,
                settled: settled)
            report.questions = (report.questions ?? []) + [item]
            tracker.apply(TaskReport(questions: [item]))
        }

        /// An answer as it is put to the callee: without its full stop and its "please".
        private static func spoken(_ value: Answer.Value, language: String) -> String {
            guard case .text(let words) = value else { return summary(of: value, language: language) }
            let bare = words.trimmingCharacters(in: .punctuationCharacters.union(.whitespaces))
            return bare.replacing(", please", with: "")
        }

        private static func summary(of value: Answer.Value, language: String) -> String {
            switch value {
            case .boolean(let yes):
                switch LanguageTag.primary(language) {
                case "ko": yes ? "네" : "아니오"
                case "ru": yes ? "да" : "нет"
                default: yes ? "yes" : "no"
                }
            case .number(let number):
                number == number.rounded() && abs(number) < 1e15 ? String(Int(number)) : String(number)
            case .text(let text): text
            }
        }

        // MARK: What was heard

        private var lastHeard: (text: String, isInterrupted: Bool)? {
            for item in conversation.items.reversed() {
                if case .assistant(let heard, let isInterrupted) = item { return (heard, isInterrupted) }
            }
            return nil
        }

        /// How often the current question has been spoken.
        private var timesPut: Int {
            guard let question = tracker.current else { return 0 }
            let text = Self.sentence(question.text)
            return conversation.items.count {
                if case .assistant(let heard, _) = $0 { heard.contains(text) } else { false }
            }
        }

        private var heardSomething: Bool { conversation.tracker.purposeStated && (lastHeard?.text.isEmpty == false) }

        /// Whether the callee has heard enough of the current question to answer it.
        private var wasQuestionHeard: Bool {
            guard let question = tracker.current, let last = lastHeard else { return false }
            guard last.isInterrupted else { return true }
            let asked = AnswerReading.normalize(question.text)
            let heard = " " + AnswerReading.normalize(last.text).joined(separator: " ") + " "
            guard !asked.isEmpty else { return true }
            var count = asked.count
            while count > 0, !heard.contains(" " + asked[..<count].joined(separator: " ") + " ") { count -= 1 }
            return Double(count) / Double(asked.count) >= EmbeddedPolicy.heardEnough
        }

        private mutating func say(_ text: String) { if !text.isEmpty { sentences.append(text) } }

        /// With a full stop, so that it is spoken as a sentence of its own.
        private static func sentence(_ text: String) -> String {
            let bare = text.trimmingCharacters(in: .whitespacesAndNewlines)
            guard let last = bare.last else { return "" }
            let trimmed = bare.prefix(1).uppercased() + bare.dropFirst()
            return ".!?。！？…".contains(last) ? trimmed : trimmed + "."
        }
    }
}
