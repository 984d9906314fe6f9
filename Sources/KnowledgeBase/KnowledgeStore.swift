public import Foundation
internal import Problems
public import Realtime
public import Store

/// Knowledge of companies in the store, searched by words (BM25) and, where there are embeddings, by vectors.
public struct KnowledgeStore: Knowledge {
    /// Bytes of a request that brings a document.
    public static let bodyLimit = 4 << 20
    /// Hits of each kind of search that are joined.
    private static let candidates = 20
    /// Words of a question that are searched for.
    private static let wordLimit = 32
    /// Milliseconds for a question's vector: the caller waits for the answer.
    private static let vectorTimeoutMs = 700
    /// Likeness of vectors below which a piece says nothing.
    private static let vectorMinimum: Float = 0.3

    private let storage: Storage
    private let embeddings: Embeddings?
    private let report: EngineReport

    public init(_ storage: Storage, embeddings: Embeddings?, report: @escaping EngineReport) {
        self.storage = storage
        self.embeddings = embeddings
        self.report = report
    }

    // MARK: Keeping

    public func addPair(_ company: CompanyID, question: String, answer: String, at date: Date)
        async throws(StoreError) -> KnowledgeItem
    {
        try await add(company, .pair, title: question, answer: answer, chunks: [question + "\n" + answer], at: date)
    }

    public func addDocument(_ company: CompanyID, title: String, text: String, at date: Date)
        async throws(StoreError) -> KnowledgeItem
    {
        try await add(company, .document, title: title, answer: nil, chunks: KnowledgeChunks.split(text), at: date)
    }

    private func add(
        _ company: CompanyID, _ kind: KnowledgeItem.Kind, title: String, answer: String?, chunks: [String],
        at date: Date
    ) async throws(StoreError) -> KnowledgeItem {
        var vectors: [[Float]] = []
        if let embeddings {
            do { vectors = try await embeddings.vectors(of: chunks) } catch {
                throw StoreError(.unavailable, .noEmbeddings, ["problem": "\(error)"])
            }
        }
        let item = KnowledgeItem(
            kind: kind, title: title, answer: answer, createdAt: date, chunkCount: chunks.count)
        try await storage.knowledge(company).add(item, chunks: chunks, vectors: vectors)
        return item
    }

    public func remove(_ company: CompanyID, _ id: String) async throws(StoreError) {
        try await storage.knowledge(company).remove(id)
    }

    public func list(_ company: CompanyID, limit: Int = 1_000) async throws(StoreError) -> [KnowledgeItem] {
        try await storage.knowledge(company).items(limit: limit)
    }

    // MARK: Searching

    public func search(_ question: String, of company: String?, limit: Int) async -> [KnowledgeHit] {
        let company = company.map { CompanyID(rawValue: $0) } ?? .default
        do { return try await find(company, question, limit: limit) } catch {
            report("knowledge: \(error)")
            return []
        }
    }

    public func find(_ company: CompanyID, _ question: String, limit: Int) async throws(StoreError) -> [KnowledgeHit] {
        let items = storage.knowledge(company)
        let words = KnowledgeWords.telling(question).sorted().prefix(Self.wordLimit)
        let byWords = try await items.pieces(withAnyOf: Array(words), limit: Self.candidates)
        let byMeaning = try await byMeaning(question, in: items)
        // Reciprocal rank fusion (Cormack, Clarke, Büttcher 2009).
        var scores: [Int64: Double] = [:]
        for list in [byWords, byMeaning] {
            for (rank, piece) in list.enumerated() { scores[piece.id, default: 0] += 1 / Double(60 + rank) }
        }
        var pieces: [Int64: KnowledgePiece] = [:]
        for piece in byWords + byMeaning { pieces[piece.id] = piece }
        let ranked = pieces.values.sorted { (scores[$0.id] ?? 0, $1.id) > (scores[$1.id] ?? 0, $0.id) }
        let hits = ranked.map { piece in
            KnowledgeHit(
                source: piece.title, text: piece.text, answer: piece.answer,
                likeness: piece.kind == .pair ? KnowledgeWords.likeness(question, piece.title) : 0)
        }
        // A pair that is clearly meant comes first, whatever else speaks of it.
        let best = hits.max { $0.likeness < $1.likeness }.flatMap {
            $0.likeness >= InformedLanguageModel.answerLikeness ? $0 : nil
        }
        return Array(((best.map { [$0] } ?? []) + hits.filter { $0 != best }).prefix(limit))
    }

    private func byMeaning(_ question: String, in items: KnowledgeItems) async throws(StoreError) -> [KnowledgePiece] {
        guard let embeddings else { return [] }
        let asked: [Float]
        do { asked = try await embeddings.vectors(of: [question], timeoutMs: Self.vectorTimeoutMs).first ?? [] } catch {
            report("\(error)")
            return []
        }
        return try await items.pieces(
            like: asked, minimum: Self.vectorMinimum, limit: Self.candidates)
    }
}
