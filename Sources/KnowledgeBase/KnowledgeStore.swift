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

    /// Where knowledge is put that names no set, and where agents look that choose none.
    public static let defaultSet = "default"
    /// Characters of a set's name.
    public static let setNameLimit = 40

    private let storage: Storage
    private var company = CompanyID.default
    private var embeddings: Embeddings?
    /// Those that are searched; nil: all.
    private var sets: [String]?
    private let report: EngineReport

    public init(_ storage: Storage, embeddings: Embeddings?, report: @escaping EngineReport) {
        self.storage = storage
        self.embeddings = embeddings
        self.report = report
    }

    private var items: KnowledgeItems { storage.knowledge(company) }

    /// The same, of a company.
    public func of(_ company: CompanyID) -> KnowledgeStore {
        var own = self
        own.company = company
        return own
    }

    /// The same, of which only some sets are searched.
    /// - Parameter byWordsAlone: no server is asked for vectors.
    public func limited(to sets: [String]?, byWordsAlone: Bool = false) -> KnowledgeStore {
        var limited = self
        limited.sets = sets
        if byWordsAlone { limited.embeddings = nil }
        return limited
    }

    /// Whether a set can have this name: `[a-z][a-z0-9-]{0,39}`.
    public static func isSetName(_ name: String) -> Bool {
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z"), digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard let first = name.utf8.first, letters.contains(first), name.utf8.count <= setNameLimit else {
            return false
        }
        return name.utf8.allSatisfy { letters.contains($0) || digits.contains($0) || $0 == UInt8(ascii: "-") }
    }

    // MARK: Keeping

    public func addPair(question: String, answer: String, to set: String = defaultSet, at date: Date)
        async throws(StoreError) -> KnowledgeItem
    {
        try await add(.pair, to: set, title: question, answer: answer, chunks: [question + "\n" + answer], at: date)
    }

    public func addDocument(title: String, text: String, to set: String = defaultSet, at date: Date)
        async throws(StoreError) -> KnowledgeItem
    {
        try await add(.document, to: set, title: title, answer: nil, chunks: KnowledgeChunks.split(text), at: date)
    }

    private func add(
        _ kind: KnowledgeItem.Kind, to set: String, title: String, answer: String?, chunks: [String], at date: Date
    ) async throws(StoreError) -> KnowledgeItem {
        var vectors: [[Float]] = []
        if let embeddings {
            do { vectors = try await embeddings.vectors(of: chunks) } catch {
                throw StoreError(.unavailable, .noEmbeddings, ["problem": "\(error)"])
            }
        }
        let item = KnowledgeItem(
            kind: kind, set: set, title: title, answer: answer, createdAt: date, chunkCount: chunks.count)
        try await items.add(item, chunks: chunks, vectors: vectors)
        return item
    }

    public func remove(_ id: String) async throws(StoreError) { try await items.remove(id) }

    public func list(limit: Int = 1_000) async throws(StoreError) -> [KnowledgeItem] {
        try await items.items(in: sets, limit: limit)
    }

    /// Every set that has an item, by name.
    public func allSets() async throws(StoreError) -> [KnowledgeSet] { try await items.sets() }

    public func pairs(limit: Int) async -> [Brief.Fact] {
        do {
            return try await items.items(in: sets, of: .pair, limit: limit).compactMap { item in
                item.answer.map { Brief.Fact(question: item.title, answer: $0) }
            }
        } catch {
            report("knowledge: \(error)")
            return []
        }
    }

    // MARK: Searching

    public func search(_ question: String, limit: Int) async -> [KnowledgeHit] {
        do { return try await find(question, limit: limit) } catch {
            report("knowledge: \(error)")
            return []
        }
    }

    public func find(_ question: String, limit: Int) async throws(StoreError) -> [KnowledgeHit] {
        let words = KnowledgeWords.telling(question).sorted().prefix(Self.wordLimit)
        let byWords = try await items.pieces(withAnyOf: Array(words), in: sets, limit: Self.candidates)
        let byMeaning = try await byMeaning(question)
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

    private func byMeaning(_ question: String) async throws(StoreError) -> [KnowledgePiece] {
        guard let embeddings else { return [] }
        let asked: [Float]
        do { asked = try await embeddings.vectors(of: [question], timeoutMs: Self.vectorTimeoutMs).first ?? [] } catch {
            report("\(error)")
            return []
        }
        return try await items.pieces(
            like: asked, in: sets, minimum: Self.vectorMinimum, limit: Self.candidates)
    }
}
