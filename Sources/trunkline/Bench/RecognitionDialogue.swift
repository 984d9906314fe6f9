import Pipeline
import Realtime

/// One question of the embedded dialogue, put to a voice: what was understood, and after how many tries.
struct RecognitionDialogue {
    enum Outcome: Equatable {
        /// The right value; how often the answer was said, and whether a "Did you say …?" made sure of it.
        case right(tries: Int, confirmed: Bool)
        case wrong
        /// Asked again until the keypad was offered.
        case unclear
    }

    let ear: RecognitionEar
    let line: TelephoneLine
    /// Tries after which a caller gives up.
    let tries: Int
    var limits = AnswerThresholds()

    /// Turns of a dialogue: a try and a confirmation each.
    private var turnLimit: Int { 2 * tries + 2 }

    /// - Returns: nil if the voice cannot say the answer.
    func run(_ case: RecognitionCase, _ voice: RecognitionVoice) async throws -> Outcome? {
        let question = `case`.question
        var conversation = Conversation(brief: Brief(purpose: "a reservation", questions: [question]))
        conversation.items.append(.connected)
        try await answer(&conversation)
        var said = 0
        for _ in 0..<turnLimit {
            var text = `case`.text
            var hints = AnswerHints(kind: question.kind, choices: question.choices)
            if let proposed = conversation.tracker.proposed, question.kind != .boolean {
                text = `case`.isMeant(proposed.value) ? "Yes." : "No, that is wrong."
                hints.isConfirming = true
            } else {
                guard said < tries else { return .unclear }
                said += 1
            }
            let turn = RecognitionTurn(voice: voice, text: text, variation: said - 1, hints: hints, line: line)
            guard let heard = try await ear.hear(turn, limits) else {
                // A recording has no "yes": its confirmations are taken as understood.
                guard case .recordings = voice.maker, hints.isConfirming else { return nil }
                return `case`.isMeant(conversation.tracker.proposed?.value)
                    ? .right(tries: said, confirmed: true) : .unclear
            }
            conversation.items.append(.caller(heard.text))
            if heard.isUncertain { conversation.items.append(.uncertain) }
            try await answer(&conversation)
            let settled = conversation.tracker.answers[0]
            switch settled.status {
            case .pending: continue
            case .answered:
                return `case`.isMeant(settled.value)
                    ? .right(tries: said, confirmed: settled.settled == .confirmed) : .wrong
            case .unclear, .refused, .notAsked: return .unclear
            }
        }
        return .unclear
    }

    /// The policy's next words, all of which are heard.
    private func answer(_ conversation: inout Conversation) async throws {
        let reply = Reply()
        try await EmbeddedPolicy().respond(to: conversation) { event in await reply.take(event) }
        for report in await reply.reports { conversation.tracker.apply(json: report) }
        conversation.items.append(.assistant(heard: await reply.text, isInterrupted: false))
    }

    private actor Reply {
        var text = ""
        var reports: [String] = []
        func take(_ event: LanguageModelEvent) {
            switch event {
            case .text(let words): text += words
            case .toolCall(name: DialogueTool.reportTaskState, let arguments): reports.append(arguments)
            case .toolCall, .source: break
            }
        }
    }

    /// The value that a sentence without an answer is taken for; nil: the voice cannot say it.
    func value(of other: RecognitionCase, _ voice: RecognitionVoice) async throws -> Answer.Value?? {
        let hints = AnswerHints(kind: other.question.kind, choices: other.question.choices)
        let turn = RecognitionTurn(voice: voice, text: other.text, variation: 0, hints: hints, line: line)
        guard let heard = try await ear.hear(turn, limits) else { return nil }
        return .some(heard.isUncertain ? nil : EmbeddedPolicy.value(of: heard.text, question: other.question))
    }
}
