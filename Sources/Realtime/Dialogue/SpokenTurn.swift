internal import Foundation
internal import Pipeline

/// Our turn in a cascade: the sentences that were written for it, and what became of them.
struct SpokenTurn: Sendable {
    enum Speech: Sendable, Equatable {
        case silent
        /// A part of it is being spoken, or waits to be spoken.
        case speaking
        /// The same, and it begins with a disclosure that has not been heard to its end.
        case disclosing
        /// A sound of the caller interrupted it; `rest` had not been heard.
        case cutOff(rest: String)
    }

    /// Counted from 1.
    private(set) var number: Int32
    private(set) var speech = Speech.silent
    private var sentences: [String] = []
    private var splitter = SentenceSplitter()
    /// No more sentences follow.
    private var isWhole = false

    /// - Parameter number: of the last turn.
    init(number: Int32 = 0) { self.number = number }

    var isSpeaking: Bool { speech == .speaking || speech == .disclosing }
    var isDisclosing: Bool { speech == .disclosing }
    /// The rest of an interrupted turn, if nothing has replaced it.
    var rest: String? { if case .cutOff(let rest) = speech { rest } else { nil } }

    /// Begins the next turn. The last one is still spoken to its end.
    mutating func begin() {
        number += 1
        forgetRest()
        sentences = []
        splitter.flush()
        isWhole = false
    }

    /// A piece of text.
    /// - Returns: the sentences that are complete by it.
    mutating func write(_ text: String) -> [String] {
        var complete: [String] = []
        splitter.process(text, into: &complete)
        return take(complete)
    }

    /// The end of the text.
    /// - Returns: what is left as the last sentence.
    mutating func finishWriting() -> [String] {
        var complete: [String] = []
        splitter.finish(into: &complete)
        return take(complete)
    }

    private mutating func take(_ complete: [String]) -> [String] {
        guard !complete.isEmpty else { return [] }
        sentences += complete
        speakAside()
        return complete
    }

    /// A filler is spoken, which is no sentence of the turn.
    mutating func speakAside() { if !isDisclosing { speech = .speaking } }

    mutating func disclose() { speech = .disclosing }
    mutating func disclosed() { if isDisclosing { speech = .speaking } }

    /// The turn has no more sentences.
    mutating func complete() { isWhole = true }

    /// Its text breaks off: the model was stopped.
    mutating func breakOff() {
        splitter.flush()
        isWhole = false
    }

    /// All of it has been heard, or what was left is not spoken any more.
    mutating func silence() {
        speech = .silent
        splitter.flush()
    }

    /// Drops the rest of an interrupted turn.
    mutating func forgetRest() { if rest != nil { speech = .silent } }

    /// It was interrupted after these words.
    mutating func cut(after heard: String) {
        guard isWhole, let rest = Self.rest(of: sentences.joined(separator: " "), after: heard) else { return }
        speech = .cutOff(rest: rest)
    }

    /// What follows the heard part, from the beginning of a word.
    static func rest(of text: String, after heard: String) -> String? {
        var start = text.index(text.startIndex, offsetBy: heard.count, limitedBy: text.endIndex) ?? text.endIndex
        while start > text.startIndex, start < text.endIndex, !text[start].isWhitespace,
            !text[text.index(before: start)].isWhitespace
        {
            start = text.index(before: start)
        }
        let rest = text[start...].trimmingCharacters(in: .whitespaces)
        return rest.isEmpty ? nil : rest
    }
}
