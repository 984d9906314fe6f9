internal import Foundation

/// How long a silence must last until the caller's turn is over, depending on the words so far.
///
/// A finished sentence waits less, "and …" waits more, a number being dictated waits longest. Without a transcript
/// there is only the silence. A pure function of its input.
public struct EndOfTurnPolicy: Sendable, Equatable {
    /// Silence after a sentence that is complete, ms.
    public var finishedMs = 350
    /// Silence after words that certainly continue, ms.
    public var danglingMs = 1_200
    /// Silence between the digits of a number, ms.
    public var dictationMs = 1_500

    public init() {}

    /// Whether the caller will probably go on, judged by the end of the text.
    public enum Ending: Sendable, Equatable { case finished, open, dangling, dictation }

    /// Digits in a row from which on a number counts as dictated, and from which on it counts as complete.
    private static let dictatedDigits = 3
    private static let completeDigits = 11

    /// - Parameter silenceMs: the silence if the text decides nothing.
    public func waitMs(_ text: String, expecting hints: AnswerHints?, language: String, silenceMs: Int) -> Int {
        switch Self.ending(of: text, expecting: hints, language: language) {
        case .finished: min(finishedMs, silenceMs)
        case .open: silenceMs
        case .dangling: max(danglingMs, silenceMs)
        case .dictation: max(dictationMs, silenceMs)
        }
    }

    public static func ending(of text: String, expecting hints: AnswerHints? = nil, language: String) -> Ending {
        let words = text.lowercased().split(whereSeparator: \.isWhitespace).map(String.init)
        guard let last = words.last else { return .open }
        let rules = rules[LanguageTag.primary(language)] ?? Rules()
        let plain = last.trimmingCharacters(in: .punctuationCharacters)
        let digits = trailingDigits(words, rules.digits)
        if digits >= dictatedDigits, digits < completeDigits { return .dictation }
        // A single word can be a complete answer to a boolean or choice question.
        if hints?.kind == .boolean, words.count <= 3,
            rules.answers.contains(words[0].trimmingCharacters(in: .punctuationCharacters)),
            !rules.dangling.contains(plain), !rules.open.contains(plain)
        {
            return .finished
        }
        if last.hasSuffix(",") || last.hasSuffix("…") || last.hasSuffix("...") || last.hasSuffix("-")
            || last.hasSuffix("—")
        {
            return .dangling
        }
        if rules.dangling.contains(plain) { return .dangling }
        if endsSentence(last) { return .finished }
        let goesOn =
            rules.open.contains(plain)
            || rules.danglingEndings.contains { plain.count > $0.count && plain.hasSuffix($0) }
        return goesOn ? .dangling : .open
    }

    private static func endsSentence(_ word: String) -> Bool { word.last.map { ".!?。！？".contains($0) } ?? false }

    /// Digits at the end that are spoken or written one by one: "five 5 5", "010 1234".
    private static func trailingDigits(_ words: [String], _ spoken: Set<String>) -> Int {
        var count = 0
        for word in words.reversed() {
            let plain = word.filter { $0.isLetter || $0.isNumber }
            if !plain.isEmpty, plain.allSatisfy(\.isNumber) {
                count += plain.count
            } else if spoken.contains(plain) {
                count += 1
            } else {
                break
            }
        }
        return count
    }

    private struct Rules: Sendable {
        /// Last words that must be continued, even if the recogniser puts a full stop after them.
        var dangling: Set<String> = []
        /// Last words that are continued if there is no full stop.
        var open: Set<String> = []
        var danglingEndings: [String] = []
        var digits: Set<String> = []
        /// First words that mean yes or no.
        var answers: Set<String> = []
    }

    private static let rules: [String: Rules] = [
        "en": Rules(
            dangling: [
                "and", "but", "or", "so", "because", "the", "a", "an", "my", "your", "our", "their", "um", "uh", "er",
            ],
            open: [
                "if", "when", "that", "which", "who", "to", "of", "in", "on", "at", "for", "with", "from", "by",
                "about", "his", "her", "is", "are",
                "was", "were", "will", "would", "can", "could", "well", "like", "i", "we", "it's", "i'm", "let",
                "maybe", "actually", "also", "than",
                "as", "then",
            ],
            digits: [
                "zero", "oh", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "double",
                "triple",
            ],
            answers: [
                "yes", "no", "yeah", "yep", "nope", "sure", "okay", "ok", "right", "correct", "absolutely", "certainly",
            ]),
        "ko": Rules(
            dangling: ["그리고", "그런데", "근데", "그래서", "하지만", "또는", "음", "어", "저", "그", "혹시", "만약"],
            danglingEndings: ["은", "는", "을", "를", "에", "에서", "하고", "이랑", "랑", "의", "고", "면", "지만", "는데", "해서", "니까"],
            digits: ["영", "공", "일", "이", "삼", "사", "오", "육", "칠", "팔", "구"],
            answers: ["네", "예", "응", "아니요", "아뇨", "아니", "그럼요", "맞아요"]),
        "ru": Rules(
            dangling: [
                "и", "а", "но", "или", "что", "чтобы", "потому", "если", "когда", "в", "на", "с", "к", "по", "для",
                "от", "мой", "моя", "это", "ну",
                "как",
            ],
            digits: ["ноль", "один", "два", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять"],
            answers: ["да", "нет", "конечно", "ага", "верно"]),
    ]
}
