/// One word of speech, and when it sounds: milliseconds since its utterance began.
public struct SpokenWord: Sendable, Equatable {
    public var text: String
    public var startMs: Int
    public var endMs: Int
    public init(_ text: String, startMs: Int, endMs: Int) {
        self.text = text
        self.startMs = startMs
        self.endMs = endMs
    }
}

/// What was generated, sent, played and dropped of the AI's speech, to the millisecond.
///
/// It alone drives model truncation, the transcript's `heard_text`, and what the recording keeps. Times are
/// milliseconds on the call's clock (0 = answer), and it never reads a clock itself.
public struct HeardLedger: Sendable {
    /// One sentence handed to the speech engine.
    public struct Utterance: Sendable, Equatable {
        public var turn: Int32
        public var text: String
        /// Milliseconds of audio made, sent to the far end, played there, and thrown away after a flush.
        public var generatedMs = 0
        public var sentMs = 0
        public var playedMs = 0
        public var droppedMs = 0
        /// All of its audio has been generated.
        public var isComplete = false
        public var startedAt: Int?
        public var endedAt: Int?
        public var isInterrupted = false
        /// Where the engine tells when its words sound.
        public var words: [SpokenWord] = []
    }

    public private(set) var utterances: [Utterance] = []

    /// The highest number of a turn; 0: there is none yet.
    public var lastTurn: Int32 { utterances.lazy.map(\.turn).max() ?? 0 }

    public init() {}

    public mutating func begin(turn: Int32, text: String) -> Int {
        utterances.append(Utterance(turn: turn, text: text))
        return utterances.count - 1
    }

    /// More words of an utterance, where they come piece by piece.
    public mutating func append(_ text: String, to utterance: Int) {
        guard utterances.indices.contains(utterance) else { return }
        utterances[utterance].text += text
    }

    /// When words of an utterance sound, in order, in one piece or several.
    public mutating func words(_ words: [SpokenWord], of utterance: Int) {
        guard utterances.indices.contains(utterance) else { return }
        utterances[utterance].words += words
    }

    public mutating func generated(_ ms: Int, of utterance: Int) {
        guard utterances.indices.contains(utterance) else { return }
        utterances[utterance].generatedMs += ms
    }

    public mutating func complete(_ utterance: Int) {
        guard utterances.indices.contains(utterance) else { return }
        utterances[utterance].isComplete = true
    }

    public mutating func sent(_ ms: Int, of utterance: Int) {
        guard utterances.indices.contains(utterance) else { return }
        utterances[utterance].sentMs += ms
    }

    /// It was sent, but the far end dropped it unplayed, and it will be sent again.
    public mutating func returned(_ ms: Int, of utterance: Int) {
        guard utterances.indices.contains(utterance) else { return }
        utterances[utterance].sentMs -= ms
    }

    /// So much of it has been heard, from `time` on.
    public mutating func played(_ ms: Int, of utterance: Int, from time: Int) {
        guard utterances.indices.contains(utterance) else { return }
        utterances[utterance].playedMs += ms
        if utterances[utterance].startedAt == nil { utterances[utterance].startedAt = time }
        utterances[utterance].endedAt = time + ms
    }

    /// Barge-in: what has not been heard by now never will be, but for the utterances of a turn that is to follow.
    public mutating func flush(keeping: Set<Int> = []) {
        for index in utterances.indices
        where !keeping.contains(index) && !isFullyHeard(index) && !utterances[index].isInterrupted {
            utterances[index].droppedMs = utterances[index].generatedMs - utterances[index].playedMs
            utterances[index].isInterrupted = true
        }
    }

    public func isFullyHeard(_ utterance: Int) -> Bool {
        let entry = utterances[utterance]
        return entry.isComplete && entry.playedMs >= entry.generatedMs && entry.droppedMs == 0
    }

    /// The cut in the turn's text is not known to the word.
    public func isCutEstimated(turn: Int32) -> Bool {
        utterances.contains { $0.turn == turn && $0.isInterrupted && $0.words.isEmpty && $0.playedMs > 0 }
    }

    /// Whether any utterance of the turn was cut off.
    public func isInterrupted(turn: Int32) -> Bool {
        utterances.contains { $0.turn == turn && $0.isInterrupted }
    }

    /// What was heard of a turn. Where the engine told when its words sound, a word counts that had sounded to its
    /// middle; without that the cut inside a sentence is an estimate: the share of its audio that played, ended at a
    /// word's boundary.
    public func heardText(turn: Int32) -> String {
        var parts: [String] = []
        for entry in utterances where entry.turn == turn {
            if !entry.isInterrupted {
                parts.append(Self.trimmed(entry.text))
            } else if !entry.words.isEmpty {
                let heard = entry.words.prefix { ($0.startMs + $0.endMs) / 2 <= entry.playedMs }.map(\.text).joined(
                    separator: " ")
                if !heard.isEmpty { parts.append(heard) }
            } else if entry.playedMs > 0, entry.generatedMs > 0 {
                let share = min(1, Double(entry.playedMs) / Double(entry.generatedMs))
                let cut = Self.cut(Self.trimmed(entry.text), to: share)
                if !cut.isEmpty { parts.append(cut) }
            }
        }
        return parts.joined(separator: " ")
    }

    /// Words that come piece by piece may leave white space at the ends.
    private static func trimmed(_ text: String) -> String {
        guard let first = text.firstIndex(where: { !$0.isWhitespace }),
            let last = text.lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(text[first...last])
    }

    /// The words that fit into a share (0...1) of the text.
    public static func cut(_ text: String, to share: Double) -> String {
        if share >= 1 { return text }
        let keep = Int(Double(text.count) * max(0, share))
        let prefix = text.prefix(keep)
        if keep == text.count || text[prefix.endIndex].isWhitespace { return String(prefix) }
        guard let space = prefix.lastIndex(where: \.isWhitespace) else { return "" }
        return String(prefix[..<space])
    }
}
