internal import Foundation

/// What a caller's words mean to the embedded policy.
enum Intent: Equatable {
    case nothing
    case hello
    case repeatPlease
    case whoIsThis
    case busy
    case wrongNumber
    case refusal
    case dontKnow
    case voicemail
    /// Wants to speak with a person.
    case person
    /// An answer of the kind the question wants.
    case answer(Answer.Value)
    /// Words, but no answer to this question.
    case other
}

/// Reads words and keys in the light of a question.
struct AnswerReading {
    let texts: PolicyTexts
    /// The words may come from an answering machine.
    var detectsMachines = true
    /// The caller can be put through to a person.
    var canTransfer = false

    func intent(of text: String, question: Question?) -> Intent {
        let words = Self.normalize(text)
        guard !words.isEmpty else { return .nothing }
        func has(_ name: String) -> Bool { Self.contains(words, anyOf: texts.patterns[name] ?? []) }
        if detectsMachines, has("voicemail") { return .voicemail }
        if canTransfer, has("person") { return .person }
        if has("wrong_number") { return .wrongNumber }
        if has("refusal") { return .refusal }
        if has("call_back") || has("busy") { return .busy }
        if has("who") { return .whoIsThis }
        if has("repeat") { return .repeatPlease }
        if has("dont_know") { return .dontKnow }
        guard let question else { return has("hello") ? .hello : .other }
        switch QuestionReading(question).kind {
        case .boolean:
            // A refusal of the proposal wins over a polite "yes, but no".
            if agrees(words, "no") { return .answer(.boolean(false)) }
            if agrees(words, "yes") { return .answer(.boolean(true)) }
        case .number:
            if let number = Self.number(in: words) { return .answer(.number(number)) }
            if has("only_me") { return .answer(.number(1)) }
        case .choice:
            if let choice = question.choices.first(where: {
                Self.contains(words, anyOf: [Self.normalize($0).joined(separator: " ")])
            }) {
                return .answer(.text(choice))
            }
        case .date:
            if Self.isDate(words) || words.count <= Self.shortAnswer && has("date") { return .answer(.text(text)) }
        case .text:
            if !has("hello") { return .answer(.text(text)) }
        }
        return has("hello") ? .hello : .other
    }

    private static func number(in words: [String]) -> Double? {
        SpokenNumber.first(in: words) ?? KoreanNumber.first(in: words) ?? RussianNumber.first(in: words)
    }

    /// Words of a yes or a no: anywhere in a short answer, else only at its beginning. "I can" in the middle of a story
    /// agrees to nothing.
    private func agrees(_ words: [String], _ name: String) -> Bool {
        let patterns = texts.patterns[name] ?? []
        if words.count <= Self.shortAnswer { return Self.contains(words, anyOf: patterns) }
        let openings = words.prefix(Self.openingWords)
        return Self.contains(Array(openings), anyOf: patterns.filter { !Self.weakAgreements.contains($0) })
    }

    private static let shortAnswer = 5
    private static let openingWords = 3
    /// They begin many a sentence that is no answer.
    private static let weakAgreements: Set<String> = [
        "i can", "i do", "i am", "i will", "it is", "fine", "i can't", "i cannot", "i won't", "i'm not", "i do not",
        "i don't", "it doesn't", "it is not", "it's not",
    ]

    /// Keys as an answer: 1 yes, 2 no; a choice's place; a number as it is; day and month of a date, two digits each.
    func intent(ofKeys keys: String, question: Question?) -> Intent {
        if canTransfer, keys == "0", question.map({ QuestionReading($0).kind != .number }) ?? true { return .person }
        guard let question else { return .other }
        switch QuestionReading(question).kind {
        case .boolean:
            if keys == "1" { return .answer(.boolean(true)) }
            if keys == "2" { return .answer(.boolean(false)) }
        case .number:
            if let number = Double(keys), number.isFinite { return .answer(.number(number)) }
        case .choice:
            if let place = Int(keys), question.choices.indices.contains(place - 1) {
                return .answer(.text(question.choices[place - 1]))
            }
        case .date:
            if let date = date(ofKeys: keys) { return .answer(.text(date)) }
        case .text: break
        }
        return .other
    }

    /// Four keys: day and month, in the order in which the language says them.
    private func date(ofKeys keys: String) -> String? {
        guard keys.utf8.count == 4, let first = Int(keys.prefix(2)), let second = Int(keys.suffix(2)) else {
            return nil
        }
        let isMonthFirst = texts("date_order") == "month"
        let (day, month) = isMonthFirst ? (second, first) : (first, second)
        guard (1...12).contains(month), (1...Self.longestMonths[month - 1]).contains(day) else { return nil }
        return PolicyTexts.fill(texts("date_by_keys"), ["day": String(day), "month": texts("month_\(month)")])
    }

    private static let longestMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

    static func normalize(_ text: String) -> [String] {
        text.lowercased().replacingOccurrences(of: "’", with: "'")
            .split { !($0.isLetter || $0.isNumber || $0 == "'") }.map(String.init)
    }

    /// Compares whole words in scripts that separate them; Korean words carry endings, so there the beginning of a word
    /// counts.
    static func contains(_ words: [String], anyOf patterns: [String]) -> Bool {
        let line = " " + words.joined(separator: " ") + " "
        return patterns.contains { pattern in
            guard let first = pattern.unicodeScalars.first else { return false }
            return (0xAC00...0xD7A3).contains(first.value)
                ? line.contains(" " + pattern) : line.contains(" " + pattern + " ")
        }
    }

    private static let dateWords: Set<String> = [
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "today", "tomorrow", "tonight",
        "week", "month", "weekend", "january", "february", "march", "april", "may", "june", "july", "august",
        "september", "october", "november", "december", "morning", "afternoon", "evening", "noon", "midnight", "now",
        "o'clock", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
        "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
        "nineteenth", "twentieth", "thirtieth", "mondays", "tuesdays", "wednesdays", "thursdays", "fridays",
        "saturdays", "sundays",
    ]
    /// Words that lead to a day or a time.
    private static let dateOpenings: Set<String> = [
        "on", "at", "in", "by", "next", "this", "until", "till", "from", "after", "before", "for", "around", "about",
        "early", "late", "every", "since", "of", "the",
    ]

    /// A day or a time that is all of a short answer, or that a word like "on" leads to: "lovely today" names no day.
    private static func isDate(_ words: [String]) -> Bool {
        let named = words.indices.filter { dateWords.contains(words[$0]) || isOrdinal(words[$0]) }
        guard !named.isEmpty || SpokenNumber.first(in: words) != nil else { return false }
        if words.count <= shortDate { return true }
        return named.contains { $0 == 0 || dateOpenings.contains(words[$0 - 1]) }
            || words.indices.dropFirst().contains {
                dateOpenings.contains(words[$0 - 1]) && SpokenNumber.first(in: [words[$0]]) != nil
            }
    }

    private static let shortDate = 4

    private static func isOrdinal(_ word: String) -> Bool {
        let digits = word.prefix { $0.isNumber }
        return digits.count < word.count && !digits.isEmpty
            && ["st", "nd", "rd", "th"].contains(word.dropFirst(digits.count))
    }
}

/// English number words, 0–999 999, and digits.
enum SpokenNumber {
    private static let small: [String: Int] = [
        "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
        "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
        "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
        "sixty": 60,
        "seventy": 70, "eighty": 80, "ninety": 90,
    ]

    /// The first number in the words.
    static func first(in words: [String]) -> Double? {
        var total = 0
        var group = 0
        var found = false
        for word in words {
            if let digits = Double(word), digits.isFinite, !found { return digits }
            if let value = small[word] {
                // "nine two" is two numbers: the first counts.
                if found, group % 10 != 0 || (group % 100 == 0 ? false : value >= 10) { break }
                group += value
                found = true
            } else if word == "hundred", group < 100 {
                group = max(group, 1) * 100
                found = true
            } else if word == "thousand", total == 0, group < 1_000 {
                total = max(group, 1) * 1_000
                group = 0
                found = true
            } else if found, word != "and" {
                break
            }
        }
        return found ? Double(total + group) : nil
    }
}
