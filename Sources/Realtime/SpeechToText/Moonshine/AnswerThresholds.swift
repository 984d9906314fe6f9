/// What a turn sounds like, before it is judged. Scores are log probabilities.
public struct HeardTurn: Sendable, Equatable {
    /// The best of the phrases that may answer the question.
    public struct Phrase: Sendable, Equatable {
        public var text: String
        /// Of the phrase and all others of the same meaning.
        public var score: Float
        /// By how much the best phrase of another meaning is less likely.
        public var margin: Float
        public init(text: String, score: Float, margin: Float) {
            self.text = text
            self.score = score
            self.margin = margin
        }
    }

    /// nil: the turn is no short answer, or none of the phrases came near.
    public var phrase: Phrase?
    /// The likeliest text, whatever it may be.
    public var text: String
    public var score: Float

    public init(phrase: Phrase?, text: String, score: Float) {
        self.phrase = phrase
        self.text = text
        self.score = score
    }
}

/// What is certain, and what may be asked back. `trunkline bench recognition --leave-one-out` chose them
/// (BENCHMARKS.md).
public struct AnswerThresholds: Sendable, Hashable, CustomStringConvertible {
    public var certainScore: Float = -4
    public var certainMargin: Float = 2
    public var likelyScore: Float = -12
    public var likelyMargin: Float = 0.2
    /// A free text that is less likely than this for each of its words is noise, or speech that was not understood.
    public var wordScore: Float = -2.5
    /// Likely words at the beginning of a sentence are certain ("Yes, please do."), where the sentence is as likely as
    /// this for each of its words, and no other meaning comes this near.
    static let sentenceScore: Float = -1
    static let sentenceMargin: Float = 4
    public init() {}

    public var description: String {
        "score \(certainScore) \(likelyScore), margin \(certainMargin) \(likelyMargin), word \(wordScore)"
    }

    public func judge(_ turn: HeardTurn) -> TranscriptEvent {
        guard let found = judge(turn.phrase) else { return judge(turn.text, score: turn.score, after: turn.phrase) }
        return isSentence(turn) ? .final(text: turn.text, confidence: nil) : found
    }

    /// Whether the free text may tell more than this verdict on a phrase.
    func isOpen(_ found: TranscriptEvent, _ phrase: HeardTurn.Phrase?) -> Bool {
        guard case .final(_, _, true) = found, let phrase else { return false }
        return phrase.margin >= Self.sentenceMargin
    }

    /// Whether the likeliest text is a sentence that begins with the phrase.
    private func isSentence(_ turn: HeardTurn) -> Bool {
        guard let phrase = turn.phrase, phrase.score < certainScore, phrase.margin >= Self.sentenceMargin else {
            return false
        }
        let words = Self.words(turn.text), begin = Self.words(phrase.text)
        return words.count > begin.count && words.starts(with: begin)
            && turn.score >= Self.sentenceScore * Float(words.count + 1)
    }

    private static func words(_ text: String) -> [String] {
        text.lowercased().split { !$0.isLetter && !$0.isNumber && $0 != "'" }.map { String($0) }
    }

    /// nil: the phrase is not likely enough.
    func judge(_ phrase: HeardTurn.Phrase?) -> TranscriptEvent? {
        guard let phrase else { return nil }
        if phrase.score >= certainScore, phrase.margin >= certainMargin {
            return .final(text: phrase.text, confidence: nil)
        }
        guard phrase.score >= likelyScore, phrase.margin >= likelyMargin else { return nil }
        return .final(text: phrase.text, confidence: nil, isUncertain: true)
    }

    /// A free text, where no phrase fits.
    func judge(_ text: String, score: Float, after phrase: HeardTurn.Phrase?) -> TranscriptEvent {
        let words = max(1, text.split(separator: " ").count)
        guard score >= wordScore * Float(words + 1) else { return .final(text: "", confidence: nil) }
        // A short answer that fits no phrase was hardly written down rightly.
        return .final(text: text, confidence: nil, isUncertain: phrase != nil)
    }
}
