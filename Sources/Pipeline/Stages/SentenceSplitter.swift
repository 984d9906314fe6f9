/// Text deltas of a language model → sentences to speak, each as soon as it is complete.
///
/// Understands ASCII and CJK full stops, decimals ("3.5"), times, common abbreviations and ellipses. Text without a
/// full stop is cut at a comma or space once it grows past `longestSentence`, so that speech never waits for ever.
public struct SentenceSplitter: Processor, Sendable {
    /// Characters after which a sentence without an end is spoken anyway.
    public static let longestSentence = 240

    private static let abbreviations: Set<String> = [
        "mr", "mrs", "ms", "dr", "prof", "st", "no", "vs", "etc", "e.g", "i.e", "a.m", "p.m", "inc", "ltd", "jr", "sr",
    ]
    private static let alwaysEnds: Set<Character> = ["。", "！", "？", "…", "\n"]
    private static let closers: Set<Character> = ["\"", "'", "”", "’", ")", "]", "」", "』"]

    private var pending = ""

    public init() {}

    public mutating func process(_ input: String, into output: inout [String]) {
        pending += input
        while let end = sentenceEnd() {
            emit(upTo: end, into: &output)
        }
        if pending.count > Self.longestSentence {
            let limit = pending.index(pending.startIndex, offsetBy: Self.longestSentence)
            let head = pending[..<limit]
            let cut =
                head.lastIndex(where: { ",;，、".contains($0) }) ?? head.lastIndex(where: \.isWhitespace)
                ?? head.index(before: limit)
            emit(upTo: pending.index(after: cut), into: &output)
        }
    }

    public mutating func flush() { pending = "" }

    public mutating func finish(into output: inout [String]) {
        emit(upTo: pending.endIndex, into: &output)
    }

    private mutating func emit(upTo end: String.Index, into output: inout [String]) {
        let sentence = pending[..<end].trimmed
        pending = String(pending[end...])
        if sentence.contains(where: { $0.isLetter || $0.isNumber }) { output.append(sentence) }
    }

    /// Just behind the first complete sentence; nil while it may still go on.
    private func sentenceEnd() -> String.Index? {
        var index = pending.startIndex
        while index < pending.endIndex {
            let character = pending[index]
            let next = pending.index(after: index)
            if Self.alwaysEnds.contains(character) { return skipClosers(from: next) }
            if character == "." || character == "!" || character == "?" {
                let behind = skipClosers(from: next)
                // The end counts only once whitespace follows: "3." may become "3.5".
                guard behind < pending.endIndex else { return nil }
                if pending[behind].isWhitespace, character != "." || !isAbbreviation(before: index) { return behind }
            }
            index = next
        }
        return nil
    }

    private func skipClosers(from start: String.Index) -> String.Index {
        var index = start
        while index < pending.endIndex, Self.closers.contains(pending[index]) || ".!?".contains(pending[index]) {
            index = pending.index(after: index)
        }
        return index
    }

    private func isAbbreviation(before stop: String.Index) -> Bool {
        let head = pending[..<stop]
        let word = head.suffix(while: { !$0.isWhitespace }).lowercased()
        if Self.abbreviations.contains(word) { return true }
        return word.count == 1 && word.first?.isLetter == true  // an initial
    }
}

extension Substring {
    fileprivate func suffix(while condition: (Character) -> Bool) -> Substring {
        var start = endIndex
        while start > startIndex, condition(self[index(before: start)]) { start = index(before: start) }
        return self[start...]
    }
}

extension Substring {
    fileprivate var trimmed: String {
        var view = self
        while view.first?.isWhitespace == true { view.removeFirst() }
        while view.last?.isWhitespace == true { view.removeLast() }
        return String(view)
    }
}
