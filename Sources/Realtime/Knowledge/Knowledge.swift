/// One piece of the knowledge that fits a question.
public struct KnowledgeHit: Sendable, Equatable {
    /// The title of the document or pair that it is from.
    public var source: String
    public var text: String
    /// Of a question/answer pair: what is to be said.
    public var answer: String?
    /// 0…1: how much of the question is the pair's own; 0 for documents.
    public var likeness: Double
    public init(source: String, text: String, answer: String? = nil, likeness: Double = 0) {
        self.source = source
        self.text = text
        self.answer = answer
        self.likeness = likeness
    }
}

/// The search in the knowledge before a model is asked.
public protocol Knowledge: Sendable {
    /// The best first; empty where there is nothing, or the search failed.
    func search(_ question: String, limit: Int) async -> [KnowledgeHit]
    /// Question/answer pairs, the newest first; empty where there are none, or they cannot be read.
    func pairs(limit: Int) async -> [Brief.Fact]
}

/// Words as they are indexed and searched: lower case, without diacritics. For Korean, Chinese and Japanese all pairs
/// of adjacent characters, as words there are not separated, or carry endings.
public enum KnowledgeWords {
    /// Characters of a question or chunk that are examined.
    private static let textLimit = 20_000

    /// Words that are in every question.
    private static let empty: Set<String> = [
        "a", "an", "the", "is", "are", "was", "were", "do", "does", "did", "can", "could", "would", "will", "i", "you",
        "we", "they", "it", "to",
        "of", "in", "on", "at", "for", "and", "or", "my", "your", "me", "what", "how", "please", "there", "be", "have",
        "has", "with", "и", "в", "на",
        "что", "как", "у", "вас", "ли", "это",
    ]

    public static func tokens(_ text: String) -> [String] {
        var tokens: [String] = []
        for word in text.prefix(textLimit).lowercased().split(whereSeparator: { !$0.isLetter && !$0.isNumber }) {
            var run: [Character] = []
            var plain = ""
            func endRun() {
                if run.count == 1 { tokens.append(String(run[0])) }
                for index in run.indices.dropLast() { tokens.append(String([run[index], run[index + 1]])) }
                run.removeAll()
            }
            func endPlain() {
                if !plain.isEmpty { tokens.append(plain) }
                plain = ""
            }
            for character in word {
                if character.unicodeScalars.first.map({ isDense($0.value) }) == true {
                    endPlain()
                    run.append(character)
                } else {
                    endRun()
                    plain.append(character)
                }
            }
            endRun()
            endPlain()
        }
        return tokens
    }

    /// Scripts that do not separate words.
    private static func isDense(_ scalar: UInt32) -> Bool {
        (0x1100...0x11FF).contains(scalar) || (0x3040...0x30FF).contains(scalar) || (0x3400...0x9FFF).contains(scalar)
            || (0xAC00...0xD7AF).contains(scalar)
    }

    /// Words that distinguish one question from another.
    public static func telling(_ text: String) -> Set<String> { Set(tokens(text)).subtracting(empty) }

    /// 0…1: twice the number of distinctive words that two questions share, divided by the number of all of theirs.
    public static func likeness(_ a: String, _ b: String) -> Double {
        let a = telling(a), b = telling(b)
        guard !a.isEmpty, !b.isEmpty else { return 0 }
        return Double(2 * a.intersection(b).count) / Double(a.count + b.count)
    }
}

/// A document in pieces for a model: paragraphs, under their heading, with a little of the text before.
public enum KnowledgeChunks {
    /// Characters of a piece, and those it shares with the one before.
    static let length = 800
    static let overlap = 120

    public static func split(_ text: String) -> [String] {
        var chunks: [String] = []
        var heading = ""
        var current = ""
        func end() {
            let body = current.trimmed
            if !body.isEmpty { chunks.append(heading.isEmpty ? body : heading + "\n" + body) }
            current = ""
        }
        for paragraph in text.replacing("\r\n", with: "\n").split(separator: "\n\n") {
            let paragraph = String(paragraph).trimmed
            guard !paragraph.isEmpty else { continue }
            if paragraph.hasPrefix("#"), !paragraph.contains("\n") {
                end()
                heading = String(paragraph.drop { $0 == "#" }).trimmed
                continue
            }
            if !current.isEmpty, current.count + paragraph.count > length { end() }
            var rest = paragraph[...]
            while let limit = rest.index(rest.startIndex, offsetBy: length, limitedBy: rest.endIndex),
                limit < rest.endIndex
            {
                // At a word's end, if there is one in the second half: each step must make progress.
                let half = rest.index(rest.startIndex, offsetBy: length / 2)
                let cut = rest[half..<limit].lastIndex { $0.isWhitespace } ?? limit
                current += rest[..<cut]
                end()
                rest = rest[rest.index(cut, offsetBy: -overlap)...]
            }
            current += (current.isEmpty ? "" : "\n") + rest
        }
        end()
        return chunks
    }
}

extension String {
    fileprivate var trimmed: String {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(self[first...last])
    }
}
