import Testing

@testable import Realtime

/// A speech model that "heard" one text: each token of it is likely, every other one is not.
private final class Heard: LikelihoodSource {
    private let texts: [[Int32]: Float]
    private var rows: [[Int32]] = []
    private(set) var rounds: [Int] = []

    /// Log probability of a token that continues a heard text, by the tokens up to it.
    init(_ texts: [[Int32]: Float]) { self.texts = texts }

    private func probability(of tokens: [Int32]) -> Float {
        texts.compactMap { $0.key.starts(with: tokens) ? $0.value : nil }.max() ?? -8
    }

    func first(_ token: Int32) -> Float { probability(of: [token]) }
    func follow(_ rows: [[Int32]]) {
        self.rows = rows
        rounds.append(rows.count)
    }
    func next(row: Int, place: Int, token: Int32) -> Float { probability(of: rows[row][0...place] + [token]) }
}

struct PhraseSearchTests {
    /// Every letter is a token.
    private static let tokenizer = MoonshineTokenizer(
        pieces: (0..<259).map { [UInt8($0 % 256)] }
            + "\u{2581}abcdefghijklmnopqrstuvwxyz".map { Array(String($0).utf8) })

    private func tree(_ phrases: [(String, AnswerPhrase.Meaning)]) -> PhraseTree {
        PhraseTree(phrases.map { AnswerPhrase(text: $0.0, meaning: $0.1) }, Self.tokenizer)
    }

    private func tokens(_ text: String) -> [Int32] { (Self.tokenizer.tokens(of: text) ?? []) + [2] }

    @Test func tokensWithoutAChoiceAreOneStep() {
        let tree = tree([("five", .number(5)), ("four", .number(4)), ("nine", .number(9))])
        let root = tree.nodes[tree.nodes[0].children[0]]
        #expect(root.tokens.count == 1, "all begin with a space")
        #expect(root.children.map { tree.nodes[$0].tokens.count }.sorted() == [1, 4], "f…, nine")
    }

    @Test func theLikeliestPhraseIsFound() throws {
        let heard = Heard([tokens("five"): -0.1, tokens("fine"): -1])
        let result = try PhraseSearch.best(in: tree([("five", .number(5)), ("nine", .number(9)), ("no", .no)]), heard)
        #expect(result?.phrase.text == "five")
        #expect((result?.score ?? -99) > -1)
        #expect((result?.margin ?? 0) > 5)
    }

    @Test func phrasesOfOneMeaningSupportEachOther() throws {
        let heard = Heard([tokens("yes"): -0.5, tokens("yep"): -0.5, tokens("nod"): -0.5])
        let yes = try PhraseSearch.best(in: tree([("yes", .yes), ("yep", .yes), ("nod", .no)]), heard)
        #expect(yes?.phrase.meaning == .yes)
        #expect((yes?.margin ?? 0) > 0)
    }

    @Test func aRemarkIsLessLikelyThanAnAnswer() throws {
        let heard = Heard([tokens("four"): -0.4, tokens("more"): -0.3])
        let result = try PhraseSearch.best(in: tree([("four", .number(4)), ("more", .remark("repeat"))]), heard)
        #expect(result?.phrase.meaning == .number(4))
    }

    @Test func speechThatFitsNoPhraseScoresLow() throws {
        let heard = Heard([tokens("weather"): -0.1])
        let result = try PhraseSearch.best(in: tree([("yes", .yes), ("no", .no)]), heard)
        #expect((result?.score ?? -99) < -9)
    }

    @Test func anUnlikelyBranchWaitsAndIsNotCompared() throws {
        let heard = Heard([tokens("yes"): -0.1, tokens("no"): -7])
        let result = try PhraseSearch.best(in: tree([("yes", .yes), ("no", .no), ("maybe", .remark("unsure"))]), heard)
        #expect(result?.phrase.meaning == .yes)
        #expect(heard.rounds.allSatisfy { $0 == 1 }, "after the space that all begin with, one is in reach")
    }

    @Test func roundsAreBounded() throws {
        let letters = Array("abcdefghij")
        let many = (0..<200).map { number in
            (
                String(String(number).compactMap(\.wholeNumberValue).map { letters[$0] }),
                AnswerPhrase.Meaning.number(number)
            )
        }
        let heard = Heard([:])
        _ = try PhraseSearch.best(in: tree(many), heard)
        #expect(heard.rounds.count <= 8)
        #expect(heard.rounds.allSatisfy { $0 <= 12 })
    }
}
