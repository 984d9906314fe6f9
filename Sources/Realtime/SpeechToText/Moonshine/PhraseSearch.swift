internal import Foundation

/// Tells how likely texts are, token by token, given what was heard.
protocol LikelihoodSource {
    /// Log probability of a first token.
    func first(_ token: Int32) -> Float
    /// Follows these texts together.
    func follow(_ rows: [[Int32]]) throws(SpeechError)
    /// Log probability of a token behind the one at `place` of a text that was followed.
    func next(row: Int, place: Int, token: Int32) -> Float
}

/// The phrases that may answer a question, as a tree of tokens. Tokens without a choice between them are one step.
struct PhraseTree: Sendable {
    struct Node: Sendable {
        /// The tokens that lead here from the parent.
        var tokens: [Int32]
        /// The phrase that may end here.
        var phrase: Int?
        var children: [Int] = []
    }

    let phrases: [AnswerPhrase]
    /// The first one is the root.
    private(set) var nodes: [Node] = [Node(tokens: [])]

    init(_ phrases: [AnswerPhrase], _ tokenizer: MoonshineTokenizer) {
        self.phrases = phrases
        for (index, phrase) in phrases.enumerated() {
            if let tokens = tokenizer.tokens(of: phrase.text), !tokens.isEmpty { insert(tokens, index) }
        }
        join(0)
    }

    private mutating func insert(_ tokens: [Int32], _ phrase: Int) {
        var place = 0
        for token in tokens {
            if let known = nodes[place].children.first(where: { nodes[$0].tokens == [token] }) {
                place = known
            } else {
                nodes.append(Node(tokens: [token]))
                nodes[place].children.append(nodes.count - 1)
                place = nodes.count - 1
            }
        }
        if nodes[place].phrase == nil { nodes[place].phrase = phrase }
    }

    private mutating func join(_ place: Int) {
        for index in nodes[place].children.indices {
            var child = nodes[place].children[index]
            while nodes[child].phrase == nil, nodes[child].children.count == 1 {
                let only = nodes[child].children[0]
                nodes[only].tokens = nodes[child].tokens + nodes[only].tokens
                child = only
            }
            nodes[place].children[index] = child
            join(child)
        }
    }
}

/// Which phrase was said, of those that may answer a question: a search of the tree by rounds, each of which compares
/// the likeliest branches at once. The rest waits: most of it is out of reach as soon as a phrase has been found.
struct PhraseSearch {
    /// What was said, and how sure that is.
    struct Result: Equatable {
        var phrase: AnswerPhrase
        /// Log probability of the phrase and all others of the same meaning.
        var score: Float
        /// By how much the best phrase of another meaning is less likely.
        var margin: Float
    }

    /// Branches of one round.
    private static let branchLimit = 12
    private static let roundLimit = 8
    /// A branch that is less likely than the best phrase by more than this cannot matter.
    private static let reach: Float = 6
    /// Log probabilities below which a branch is not worth a look.
    private static let floor: Float = -20

    private struct Branch {
        var node: Int
        /// All tokens from the root.
        var tokens: [Int32]
        /// Log probability without the first of the node's own tokens…
        var score: Float
        /// …and with it.
        var entered: Float
    }

    static func best(in tree: PhraseTree, _ source: some LikelihoodSource) throws(SpeechError) -> Result? {
        var found: [(phrase: Int, score: Float)] = []
        var waiting = tree.nodes[0].children.map { child in
            let node = tree.nodes[child]
            return Branch(node: child, tokens: node.tokens, score: 0, entered: source.first(node.tokens[0]))
        }
        for _ in 0..<roundLimit {
            let best = found.map(\.score).max() ?? floor
            waiting = waiting.filter { $0.entered > max(floor, best - reach) }
            guard !waiting.isEmpty else { break }
            waiting.sort { $0.entered > $1.entered }
            let likely = waiting[0].entered - reach
            let round = waiting.prefix(branchLimit).prefix { $0.entered > likely }
            waiting.removeFirst(round.count)
            try source.follow(round.map(\.tokens))
            for (row, branch) in round.enumerated() {
                let node = tree.nodes[branch.node]
                var score = branch.entered
                let start = branch.tokens.count - node.tokens.count
                for place in start..<branch.tokens.count - 1 {
                    score += source.next(row: row, place: place, token: branch.tokens[place + 1])
                }
                let last = branch.tokens.count - 1
                if let phrase = node.phrase {
                    found.append((phrase, score + source.next(row: row, place: last, token: MoonshineTokenizer.end)))
                }
                for child in node.children {
                    let tokens = tree.nodes[child].tokens
                    waiting.append(
                        Branch(
                            node: child, tokens: branch.tokens + tokens, score: score,
                            entered: score + source.next(row: row, place: last, token: tokens[0])))
                }
            }
        }
        return judge(found, tree.phrases)
    }

    private static func judge(_ found: [(phrase: Int, score: Float)], _ phrases: [AnswerPhrase]) -> Result? {
        var meanings: [AnswerPhrase.Meaning: (score: Float, best: Int, bestScore: Float)] = [:]
        for (phrase, raw) in found {
            let meaning = phrases[phrase].meaning
            let score = raw - phrases[phrase].penalty
            guard let known = meanings[meaning] else {
                meanings[meaning] = (score, phrase, score)
                continue
            }
            let sum = max(known.score, score) + log1p(exp(-abs(known.score - score)))
            meanings[meaning] =
                score > known.bestScore ? (sum, phrase, score) : (sum, known.best, known.bestScore)
        }
        let ranked = meanings.values.sorted { $0.score > $1.score }
        guard let best = ranked.first else { return nil }
        let second = ranked.dropFirst().first?.score ?? floor
        return Result(phrase: phrases[best.best], score: best.score, margin: best.score - second)
    }
}
