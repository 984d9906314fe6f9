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
            if has("no") { return .answer(.boolean(false)) }
            if has("yes") { return .answer(.boolean(true)) }
        case .number:
            if let number = SpokenNumber.first(in: words) { return .answer(.number(number)) }
        case .choice:
            if let choice = question.choices.first(where: {
                Self.contains(words, anyOf: [Self.normalize($0).joined(separator: " ")])
            }) {
                return .answer(.text(choice))
            }
        case .date:
            if Self.soundsLikeDate(words) { return .answer(.text(text)) }
        case .text:
            if !has("hello") { return .answer(.text(text)) }
        }
        return has("hello") ? .hello : .other
    }

    /// Keys as an answer: 1 yes, 2 no; a choice's place; a number as it is.
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
        case .date, .text: break
        }
        return .other
    }

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
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "today", "tomorrow", "week",
        "month",
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
        "december", "morning", "afternoon", "evening", "noon", "o'clock", "a", "p",
    ]
    private static func soundsLikeDate(_ words: [String]) -> Bool {
        words.contains { dateWords.contains($0) } || SpokenNumber.first(in: words) != nil
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
            } else if word == "hundred", found, group < 100 {
                group = max(group, 1) * 100
            } else if word == "thousand", found, total == 0, group < 1_000 {
                total = max(group, 1) * 1_000
                group = 0
            } else if found, word != "and" {
                break
            }
        }
        return found ? Double(total + group) : nil
    }
}
