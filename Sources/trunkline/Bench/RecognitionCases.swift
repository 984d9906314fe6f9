import Realtime

/// Something that is said in answer to a question, and what it means.
struct RecognitionCase: Sendable {
    var question: Question
    var text: String
    /// Part of the answer's value, in lower case; nil: it is no answer.
    var meaning: String?

    /// Whether a settled answer is what was meant.
    func isMeant(_ answer: Answer.Value?) -> Bool {
        guard let meaning, let answer else { return false }
        let words = answer.text.lowercased().replacing("-", with: " ")
        return " \(words.filter { $0.isLetter || $0.isNumber || $0 == " " }) ".contains(" \(meaning) ")
    }

    /// Answers of each kind.
    static let answers: [RecognitionCase] =
        said(
            "Will you be there?", .boolean,
            [
                "true": [
                    "Yes.", "Yes, that is right.", "Of course I can.", "Yeah, sure.", "Yes, I will be there.",
                    "That's fine.", "Absolutely.", "Yes, please.",
                ],
                "false": ["No.", "No, that is wrong.", "Not really.", "No, I can't make it.", "No, thank you."],
            ])
        + said(
            "How many people will come?", .number,
            [
                "1": ["One.", "Just me."], "2": ["Two."], "3": ["Three.", "There are three of us."],
                "4": ["Four people."], "5": ["Five.", "It will be five people."], "8": ["Eight."], "9": ["Nine."],
                "12": ["Twelve."], "14": ["Fourteen."], "25": ["Twenty five."], "40": ["Forty."],
            ])
        + said(
            "Which day suits you?", .date,
            [
                "tuesday": ["Tuesday.", "On Tuesday morning."], "friday": ["On Friday, please."], "today": ["Today."],
                "tomorrow": ["Tomorrow afternoon."], "three thirty": ["At three thirty."],
                "twenty first": ["The twenty first of May."], "next week": ["Next week."],
            ])
        + said(
            "Fish, meat or vegetables?", .choice,
            [
                "fish": ["Fish.", "I would like the fish."], "meat": ["The meat, please."],
                "vegetables": ["Vegetables, please."],
            ], ["fish", "meat", "vegetables"])

    /// What a person's recordings have.
    static let recorded: [RecognitionCase] =
        said(
            "How many people will come?", .number,
            [
                "0": ["Zero."], "1": ["One."], "2": ["Two."], "3": ["Three."], "4": ["Four."], "5": ["Five."],
                "6": ["Six."], "7": ["Seven."], "8": ["Eight."], "9": ["Nine."], "10": ["Ten."], "11": ["Eleven."],
                "12": ["Twelve."], "13": ["Thirteen."], "14": ["Fourteen."], "15": ["Fifteen."], "16": ["Sixteen."],
                "17": ["Seventeen."], "18": ["Eighteen."], "19": ["Nineteen."], "20": ["Twenty."], "30": ["Thirty."],
                "40": ["Forty."], "50": ["Fifty."], "60": ["Sixty."], "70": ["Seventy."], "80": ["Eighty."],
                "90": ["Ninety."],
            ])
        + said(
            "Which day suits you?", .date,
            [
                "sunday": ["Sunday."], "monday": ["Monday."], "tuesday": ["Tuesday."], "wednesday": ["Wednesday."],
                "thursday": ["Thursday."], "friday": ["Friday."], "saturday": ["Saturday."], "today": ["Today."],
                "tomorrow": ["Tomorrow."], "january": ["January."], "february": ["February."], "march": ["March."],
                "april": ["April."], "may": ["May."], "june": ["June."], "july": ["July."], "august": ["August."],
                "september": ["September."], "october": ["October."], "november": ["November."],
                "december": ["December."],
            ])

    /// Sentences that answer none of these questions: each subject with each predicate, asked by turns.
    static func others(_ count: Int) -> [RecognitionCase] {
        let subjects = [
            "The weather", "My uncle", "The train to London", "A purple bicycle", "The dog next door", "Her old piano",
            "The kitchen window", "That television", "Your neighbour's cat", "The river behind the house",
        ]
        let predicates = [
            "is lovely today.", "was late again.", "used to sing in a band.", "needs some paint.",
            "makes a strange noise.", "has been in the paper.", "looks rather dangerous.", "belongs to my sister.",
            "smells of apples.", "fell into the water.", "keeps me awake at night.", "came from another town.",
            "should be on the table.", "reminds me of a film.", "costs more than a car.", "is older than the church.",
            "turned green in spring.", "ran across the garden.", "was built by hand.", "sounds like an owl.",
        ]
        let questions: [Question] = [
            question("Will you be there?", .boolean), question("How many people will come?", .number),
            question("Which day suits you?", .date),
            question("Fish, meat or vegetables?", .choice, ["fish", "meat", "vegetables"]),
        ]
        return (0..<count).map { index in
            let place = (index * 37) % (subjects.count * predicates.count)
            return RecognitionCase(
                question: questions[index % questions.count],
                text: subjects[place % subjects.count] + " " + predicates[place / subjects.count])
        }
    }

    private static func question(_ text: String, _ kind: Question.Kind, _ choices: [String] = []) -> Question {
        Question(id: "q1", text: text, kind: kind, choices: choices)
    }

    private static func said(
        _ text: String, _ kind: Question.Kind, _ meanings: KeyValuePairs<String, [String]>, _ choices: [String] = []
    ) -> [RecognitionCase] {
        meanings.flatMap { meaning, texts in
            texts.map { RecognitionCase(question: question(text, kind, choices), text: $0, meaning: meaning) }
        }
    }
}
