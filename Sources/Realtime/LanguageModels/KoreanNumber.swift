/// Korean numbers, 0–9 999: native (다섯), Sino-Korean (이십오) and digits, with a counter (네 명, 4명이요) or alone.
enum KoreanNumber {
    private static let tens = [
        "열": 10, "스물": 20, "스무": 20, "서른": 30, "마흔": 40, "쉰": 50, "예순": 60, "일흔": 70, "여든": 80, "아흔": 90,
    ]
    private static let units = [
        "하나": 1, "둘": 2, "셋": 3, "넷": 4, "다섯": 5, "여섯": 6, "일곱": 7, "여덟": 8, "아홉": 9,
    ]
    private static let counting = ["한": 1, "두": 2, "세": 3, "네": 4]
    private static let digits: [Character: Int] = [
        "영": 0, "공": 0, "일": 1, "이": 2, "삼": 3, "사": 4, "오": 5, "육": 6, "칠": 7, "팔": 8, "구": 9,
    ]
    private static let powers: [Character: Int] = ["십": 10, "백": 100, "천": 1_000]
    private static let counters = ["명", "분", "사람", "개", "살", "자리", "잔", "대", "장", "인분"]
    private static let endings = ["이요", "요", "입니다", "이에요", "예요", "이고", "정도", "쯤", "만"]

    /// The first number in the words.
    static func first(in words: [String]) -> Double? {
        for (index, word) in words.enumerated() {
            guard let (number, rest, form) = number(in: word) else { continue }
            let follows = rest.isEmpty ? words.dropFirst(index + 1).first ?? "" : rest
            let isCounted = counters.contains { follows.hasPrefix($0) }
            let isWhole = rest.isEmpty || endings.contains { rest.hasPrefix($0) }
            let isMeant =
                switch form {
                case .plain: isCounted || isWhole
                case .attributive: isCounted
                case .syllable: words.count == 1 && isWhole
                }
            if isMeant { return Double(number) }
        }
        return nil
    }

    private enum Form {
        case plain
        /// Stands only in front of a counter: 네 alone is a yes.
        case attributive
        /// One Sino-Korean syllable, which begins many another word: a number only if it is all that is said.
        case syllable
    }

    /// The number that a word begins with, and what is left of the word.
    private static func number(in word: String) -> (number: Int, rest: String, form: Form)? {
        let arabic = word.prefix { $0.isASCII && $0.isNumber }
        if !arabic.isEmpty {
            guard arabic.count <= 6, let number = Int(arabic) else { return nil }
            return (number, String(word.dropFirst(arabic.count)), .plain)
        }
        return native(word) ?? sino(word)
    }

    private static func native(_ word: String) -> (Int, String, Form)? {
        var rest = word, number = 0, isFound = false
        if let (name, value) = tens.first(where: { rest.hasPrefix($0.key) }) {
            (number, rest, isFound) = (value, String(rest.dropFirst(name.count)), true)
        }
        if let (name, value) = units.first(where: { rest.hasPrefix($0.key) }) {
            return (number + value, String(rest.dropFirst(name.count)), .plain)
        }
        if let (name, value) = counting.first(where: { rest.hasPrefix($0.key) }) {
            return (number + value, String(rest.dropFirst(name.count)), .attributive)
        }
        return isFound ? (number, rest, word.hasPrefix("스무") ? .attributive : .plain) : nil
    }

    private static func sino(_ word: String) -> (Int, String, Form)? {
        var total = 0, digit: Int?, length = 0
        for character in word {
            if let power = powers[character] {
                guard power < 1_000 || total == 0 else { break }
                total += max(1, digit ?? 1) * power
                digit = nil
            } else if digit == nil, let value = digits[character] {
                digit = value
            } else {
                break
            }
            length += 1
        }
        guard length > 0 else { return nil }
        return (total + (digit ?? 0), String(word.dropFirst(length)), length == 1 ? .syllable : .plain)
    }
}
