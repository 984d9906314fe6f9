import Foundation

/// Dialogues by their outcome.
struct RecognitionTally {
    /// By the number of tries.
    private var right: [Int: Int] = [:]
    private(set) var confirmed = 0, wrong = 0, unclear = 0
    /// Sentences that are no answer, and those of them that were taken for one.
    private(set) var foreign = 0, accepted = 0

    var all: Int { right.values.reduce(0, +) + wrong + unclear }

    mutating func count(_ outcome: RecognitionDialogue.Outcome) {
        switch outcome {
        case .right(let tries, let isConfirmed):
            right[tries, default: 0] += 1
            if isConfirmed { confirmed += 1 }
        case .wrong: wrong += 1
        case .unclear: unclear += 1
        }
    }

    mutating func countForeign(isAccepted: Bool) {
        foreign += 1
        if isAccepted { accepted += 1 }
    }

    static func + (one: Self, other: Self) -> Self {
        var sum = one
        sum.right.merge(other.right, uniquingKeysWith: +)
        sum.confirmed += other.confirmed
        sum.wrong += other.wrong
        sum.unclear += other.unclear
        sum.foreign += other.foreign
        sum.accepted += other.accepted
        return sum
    }

    func within(_ tries: Int) -> Int { right.reduce(0) { $1.key <= tries ? $0 + $1.value : $0 } }

    /// Share of the dialogues that were right by the second try.
    var rate: Double { Double(within(2)) / Double(max(1, all)) }

    static func heading(tries: Int) -> String {
        (["voice", "answers"] + (1...tries).map { "right by \($0) %" } + ["confirmed %", "unclear %", "wrong %"])
            .joined(separator: "  ")
    }

    func row(_ name: String, tries: Int) -> String {
        let percent = { (count: Int) in String(format: "%.1f", 100 * Double(count) / Double(max(1, all))) }
        return
            ([name, "\(all)"] + (1...tries).map { percent(within($0)) }
            + [percent(confirmed), percent(unclear), percent(wrong)]).joined(separator: "  ")
    }
}
