/// Looks up the caller's question before the model is asked. If a question/answer pair clearly matches, its answer is
/// given without the model; other findings are passed to the model.
public struct InformedLanguageModel: LanguageModel {
    /// Similarity from which on a pair's answer is given without the model.
    public static let answerLikeness = 0.75
    /// Pieces told to the model.
    private static let pieceLimit = 4
    /// Distinctive words that a question must have to be looked up.
    private static let wordMinimum = 2

    private let model: any LanguageModel
    private let knowledge: any Knowledge
    private let answersDirectly: Bool

    /// - Parameter answersDirectly: false: the model words the answer of a pair, too.
    public init(_ model: any LanguageModel, knowledge: any Knowledge, answersDirectly: Bool = true) {
        self.model = model
        self.knowledge = knowledge
        self.answersDirectly = answersDirectly
    }

    public func respond(to conversation: Conversation, _ tell: LanguageModelListener) async throws {
        guard case .caller(let question)? = conversation.items.last,
            KnowledgeWords.telling(question).count >= Self.wordMinimum
        else { return try await model.respond(to: conversation, tell) }
        let hits =
            Self.known(question, conversation.brief)
            + (await knowledge.search(question, limit: Self.pieceLimit))
        try Task.checkCancellation()
        if answersDirectly, let best = hits.first, let answer = best.answer, best.likeness >= Self.answerLikeness {
            try await tell(.source(best.source))
            try await tell(.text(answer + " "))
            // Then the call goes on where it was.
            if let open = conversation.tracker.current,
                conversation.tracker.purposeStated || conversation.tracker.asking != nil
            {
                try await tell(.text(open.text + " "))
            }
            return
        }
        var informed = conversation
        informed.knowledge = hits
        for source in Self.sources(hits) { try await tell(.source(source)) }
        try await model.respond(to: informed, tell)
    }

    /// What the call itself was given to answer with.
    private static func known(_ question: String, _ brief: Brief) -> [KnowledgeHit] {
        (brief.facts ?? []).map {
            KnowledgeHit(
                source: $0.question, text: $0.answer, answer: $0.answer,
                likeness: KnowledgeWords.likeness(question, $0.question))
        }.filter { $0.likeness >= answerLikeness }.sorted { $0.likeness > $1.likeness }
    }

    private static func sources(_ hits: [KnowledgeHit]) -> [String] {
        hits.reduce(into: []) { sources, hit in if !sources.contains(hit.source) { sources.append(hit.source) } }
    }
}
