/// A phrase that may be said in answer to a question, written as the speech model writes.
struct AnswerPhrase: Equatable, Sendable {
    /// Phrases of one meaning support each other.
    enum Meaning: Hashable, Sendable {
        case yes, no
        case number(Int)
        /// A day, a date or a time, in words of its own.
        case date(String)
        case choice(Int)
        /// No answer, but something that the dialogue understands.
        case remark(String)
    }

    var text: String
    var meaning: Meaning
    /// Subtracted from the log probability: a remark is less likely than an answer.
    var penalty: Float {
        if case .remark(let name) = meaning, name != Self.hum { Self.remarkPenalty } else { 0 }
    }
    private static let remarkPenalty: Float = 2
    /// It may be a yes, or a sound without meaning.
    private static let hum = "hum"
}

extension AnswerPhrase {
    /// What may be said to a question.
    static func expected(_ hints: AnswerHints) -> [AnswerPhrase] {
        var phrases: [AnswerPhrase] = []
        switch hints.kind {
        case .number: phrases += EnglishNumbers.phrases
        case .date: phrases += EnglishDates.phrases
        case .choice: phrases += choices(hints.choices)
        case .boolean, .text: phrases += agreement
        }
        if hints.isConfirming, hints.kind != .boolean { phrases += agreement }
        return phrases + remarks
    }

    static func all(_ meaning: Meaning, _ texts: [String]) -> [AnswerPhrase] {
        texts.map { AnswerPhrase(text: $0, meaning: meaning) }
    }

    private static let agreement =
        all(
            .yes,
            [
                "Yes.", "Yes!", "Yeah.", "Yep.", "Sure.", "Okay.", "Correct.", "Right.", "Absolutely.", "Certainly.",
                "Definitely.", "Exactly.", "Of course.", "Of course I can.", "Of course I will.", "Yes, please.",
                "Yes, I do.", "Yes, I am.", "Yes, I will.", "Yes, I can.", "Yes, I have.", "Yes, I did.", "Yes, it is.",
                "Yes, I will be there.", "Yes, I'll be there.", "Yes, of course.", "Yes, sure.", "Yeah, sure.",
                "Yes, that is right.", "Yes, that's right.", "Yes, that's correct.", "Yes, that's fine.",
                "Yes, that works.", "That is right.", "That's right.", "That's correct.", "That's fine.",
                "That works for me.", "Sounds good.", "I think so.", "I can make it.", "I will be there.",
                "I'll be there.", "Sure thing.", "All right.", "I do.", "I am.", "I will.",
            ])
        + all(
            .no,
            [
                "No.", "Nope.", "No, thank you.", "No, thanks.", "No, sorry.", "Not really.", "No, not really.",
                "No, I don't.", "No, I do not.", "No, I can't.", "No, I cannot.", "No, I won't.", "No, I'm not.",
                "No, I am not.", "No, I haven't.", "No, I didn't.", "No, it isn't.", "No, it's not.",
                "No, that is wrong.", "No, that's wrong.", "That is wrong.", "That's wrong.", "That's not right.",
                "No, that's not right.", "I can't make it.", "No, I can't make it.", "I'm afraid not.",
                "I am afraid not.", "I don't think so.", "Unfortunately not.", "Sorry, no.", "Not at all.", "Never.",
                "I can't.", "I don't.", "I won't.",
            ])

    private static let remarks: [AnswerPhrase] = [
        ("hello", ["Hello.", "Hello?", "Hi."]),
        ("repeat", ["Pardon?", "Sorry?", "What?", "Can you repeat that?", "Could you say that again?"]),
        ("who", ["Who is this?", "Who's calling?", "Who are you?", "Are you a robot?"]),
        ("busy", ["I'm busy.", "I'm busy right now.", "I'm driving.", "Call me back later.", "Not now."]),
        ("wrong", ["You have the wrong number.", "Wrong number."]),
        ("refusal", ["Stop calling me.", "Please stop calling me.", "I'm not interested.", "Not interested."]),
        ("unsure", ["I don't know.", "I'm not sure.", "Maybe.", "No idea."]),
        (hum, ["Hmm.", "Mm.", "Mm-hmm.", "Uh-huh.", "Um.", "Uh."]),
        ("person", ["Operator.", "Can I speak to a person?", "I want to speak to a person."]),
    ].flatMap { all(.remark($0.0), $0.1) }

    private static func choices(_ choices: [String]) -> [AnswerPhrase] {
        var phrases: [AnswerPhrase] = []
        for (index, choice) in choices.enumerated() {
            let words = AnswerReading.normalize(choice).joined(separator: " ")
            guard !words.isEmpty else { continue }
            let upper = capitalized(words)
            phrases += all(
                .choice(index),
                [
                    "\(upper).", "\(upper), please.", "The \(words).", "The \(words), please.", "I'd like \(words).",
                    "I would like \(words).", "I would like the \(words).", "I'd like the \(words).",
                    "I'll take the \(words).", "I'll have the \(words).",
                ])
        }
        return phrases
    }

    static func capitalized(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
}
