/// Numbers as callers say them.
enum EnglishNumbers {
    static let small = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
        "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    ]
    private static let tens = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    /// Round and small numbers come in sentences too.
    private static func comesInSentences(_ number: Int) -> Bool { number <= 20 || number % 10 == 0 }

    static let phrases: [AnswerPhrase] = {
        var phrases: [AnswerPhrase] = []
        for number in 0...99 {
            for word in words(number) { phrases += AnswerPhrase.all(.number(number), texts(word, number)) }
        }
        phrases += AnswerPhrase.all(.number(1), ["Just me.", "Only me."])
        for number in 1...9 {
            phrases += AnswerPhrase.all(.number(number * 100), [AnswerPhrase.capitalized(small[number]) + " hundred."])
        }
        phrases += AnswerPhrase.all(.number(100), ["A hundred."])
        return phrases + AnswerPhrase.all(.number(1_000), ["A thousand.", "One thousand."])
    }()

    /// 0–99, in the spellings that the model uses.
    private static func words(_ number: Int) -> [String] {
        guard number >= small.count else { return [small[number]] }
        let ten = tens[number / 10 - 2]
        return number % 10 == 0 ? [ten] : [ten + "-" + small[number % 10], ten + " " + small[number % 10]]
    }

    private static func texts(_ word: String, _ number: Int) -> [String] {
        let upper = AnswerPhrase.capitalized(word)
        guard comesInSentences(number) else { return ["\(upper).", "\(upper) people."] }
        return [
            "\(upper).", "Just \(word).", "\(upper) people.", "\(upper), please.", "\(upper) of us.",
            "There are \(word) of us.", "There will be \(word).", "There will be \(word) of us.",
            "It will be \(word) people.", "It's \(word).",
        ]
    }
}
