internal import Foundation

/// Question/answer pairs that a speech model is told before a conversation: it hears the caller's question itself, so
/// nothing can be looked up before it answers.
public struct KnowledgeBriefing: Sendable {
    /// Pairs, and characters of all of them: a speech model reads its instructions before each answer.
    static let pairLimit = 50
    static let characterLimit = 8_000
    /// Milliseconds for the look-up; without it the conversation begins.
    private static let timeLimitMs = 500

    private let knowledge: any Knowledge
    private let answersDirectly: Bool

    /// - Parameter answersDirectly: the answers are said word for word.
    public init(_ knowledge: any Knowledge, answersDirectly: Bool) {
        self.knowledge = knowledge
        self.answersDirectly = answersDirectly
    }

    /// A part of the instructions; nil: there are no pairs.
    public func text() async -> String? {
        let found = try? await Deadline.wait(milliseconds: Self.timeLimitMs) { [knowledge] in
            await knowledge.pairs(limit: Self.pairLimit)
        }
        var characters = 0
        let pairs = (found ?? []).prefix { pair in
            characters += pair.question.count + pair.answer.count
            return characters <= Self.characterLimit
        }
        guard !pairs.isEmpty else { return nil }
        let heading =
            answersDirectly
            ? "If the other party asks one of these, say its answer word for word:"
            : "If the other party asks one of these, answer accordingly:"
        let lines = pairs.map { "- \($0.question) — \($0.answer)" }.joined(separator: "\n")
        return "\(heading)\n<<<\n\(lines.replacing("<<<", with: "<").replacing(">>>", with: ">"))\n>>>"
    }
}
