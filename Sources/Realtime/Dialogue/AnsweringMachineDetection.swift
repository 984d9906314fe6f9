internal import Foundation

/// Recognises automatic voices (machines, screening assistants, waiting loops, menus) by their words, whatever model
/// holds the conversation.
public enum AnsweringMachineDetection: Sendable, Equatable {
    /// An answering machine or mailbox.
    case machine
    /// An automatic assistant asks who is calling and why before it puts the call through.
    case screening
    /// A request to wait until a person comes, or until the call is put through.
    case hold
    /// A voice menu; `person`: the key that leads to a person, if there is one.
    case menu(person: Character?)

    /// Words of one turn that are examined.
    private static let wordLimit = 400

    /// nil: it may be a person.
    public static func read(_ text: String, language: String) -> AnsweringMachineDetection? {
        let patterns = PolicyTexts.of(language).patterns
        let words = Array(AnswerReading.normalize(text).prefix(wordLimit))
        func has(_ name: String) -> Bool { AnswerReading.contains(words, anyOf: patterns[name] ?? []) }
        if has("machine") { return .machine }
        if has("screening") { return .screening }
        if let menu = menu(text, words, patterns) { return menu }
        return has("hold") ? .hold : nil
    }

    private static func menu(_ text: String, _ words: [String], _ patterns: [String: [String]])
        -> AnsweringMachineDetection?
    {
        guard AnswerReading.contains(words, anyOf: patterns["menu"] ?? []) else { return nil }
        // Each clause holds one offer: "press 1 for sales, or press 2 to speak with somebody".
        let clauses = text.split(whereSeparator: { ",.;:!?。、".contains($0) }).map {
            AnswerReading.normalize(String($0))
        }
        var offers: [(key: Character, isPerson: Bool)] = []
        for (index, clause) in clauses.enumerated() {
            guard let key = clause.lazy.compactMap(Self.key).first else { continue }
            // The clause names the purpose of the key before or after it.
            let before =
                index > 0 && clauses[index - 1].lazy.compactMap(Self.key).first == nil ? clauses[index - 1] : []
            offers.append((key, AnswerReading.contains(before + clause, anyOf: patterns["menu_person"] ?? [])))
        }
        return offers.isEmpty ? nil : .menu(person: offers.first { $0.isPerson }?.key)
    }

    private static let names: [String: Character] = [
        "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
        "eight": "8", "nine": "9", "star": "*",
        "pound": "#", "hash": "#", "영": "0", "일": "1", "이": "2", "삼": "3", "사": "4", "오": "5", "육": "6", "칠": "7",
        "팔": "8", "구": "9",
        "ноль": "0", "один": "1", "два": "2", "три": "3", "четыре": "4", "пять": "5", "шесть": "6", "семь": "7",
        "восемь": "8", "девять": "9",
    ]

    /// `1`, `one`, `1번을`.
    private static func key(_ word: String) -> Character? {
        if let named = names[word] ?? names[word.replacing("번을", with: "").replacing("번", with: "")] { return named }
        guard let first = word.first, first.isASCII, first.isNumber, !word.dropFirst().contains(where: \.isNumber)
        else { return nil }
        return first
    }
}
