public import Foundation
internal import GRDB
public import Realtime

/// A question/answer pair or a document of the knowledge (SPEC §5).
public struct KnowledgeItem: Sendable, Equatable, Codable {
    public enum Kind: String, Sendable, Codable { case pair = "qa", document }
    /// `kn-` and 8 hex digits.
    public var id: String
    public var kind: Kind
    /// What is named as the source: the document's title, or the question.
    public var title: String
    public var answer: String?
    public var createdAt: Date
    public var chunkCount: Int
}

/// Knowledge in the calls' database, searched by BM25 (SQLite FTS5) and, where there are embeddings, by vectors.
public struct KnowledgeStore: Knowledge {
    /// Items, and pieces of all of them.
    public static let itemLimit = 10_000
    public static let chunkLimit = 50_000
    /// Bytes of a request that brings a document.
    public static let bodyLimit = 4 << 20
    /// Hits of each kind of search that are joined.
    private static let candidates = 20
    /// Words of a question that are searched for.
    private static let wordLimit = 32
    /// Milliseconds for a question's vector: somebody waits on the phone.
    private static let vectorTimeoutMs = 700
    /// Likeness of vectors below which a piece says nothing.
    private static let vectorMinimum: Float = 0.3

    private let store: CallStore
    private let embeddings: Embeddings?
    private let report: EngineReport

    public init(_ store: CallStore, embeddings: Embeddings?, report: @escaping EngineReport) {
        self.store = store
        self.embeddings = embeddings
        self.report = report
    }

    // MARK: Keeping

    public func addPair(question: String, answer: String, at date: Date) async throws(StoreError) -> KnowledgeItem {
        try await add(.pair, title: question, answer: answer, chunks: [question + "\n" + answer], at: date)
    }

    public func addDocument(title: String, text: String, at date: Date) async throws(StoreError) -> KnowledgeItem {
        try await add(.document, title: title, answer: nil, chunks: KnowledgeChunks.split(text), at: date)
    }

    private func add(_ kind: KnowledgeItem.Kind, title: String, answer: String?, chunks: [String], at date: Date) async throws(StoreError)
        -> KnowledgeItem
    {
        var vectors: [[Float]] = []
        if let embeddings {
            do { vectors = try await embeddings.vectors(of: chunks) } catch {
                throw StoreError(.unavailable, "the embeddings cannot be had, so nothing was stored: \(error)")
            }
        }
        let item = KnowledgeItem(
            id: "kn-" + Call.hex(.random(in: .min ... .max)), kind: kind, title: title, answer: answer, createdAt: date, chunkCount: chunks.count)
        let blobs = vectors.map { vector in vector.withUnsafeBytes { Data($0) } }
        try await store.change { db in
            let items = try Int.fetchOne(db, sql: "SELECT count(*) FROM knowledge") ?? 0
            let pieces = try Int.fetchOne(db, sql: "SELECT count(*) FROM knowledge_chunks") ?? 0
            guard items < Self.itemLimit, pieces + chunks.count <= Self.chunkLimit else {
                throw StoreError(.conflict, "the knowledge is full: \(Self.itemLimit) items of \(Self.chunkLimit) pieces")
            }
            try db.execute(
                sql: "INSERT INTO knowledge (id, kind, title, answer, created_at) VALUES (?, ?, ?, ?, ?)",
                arguments: [item.id, item.kind.rawValue, item.title, item.answer, date.timeIntervalSince1970])
            for (position, chunk) in chunks.enumerated() {
                try db.execute(
                    sql: "INSERT INTO knowledge_chunks (knowledge_id, position, text, vector) VALUES (?, ?, ?, ?)",
                    arguments: [item.id, position, chunk, position < blobs.count ? blobs[position] : nil])
                try db.execute(
                    sql: "INSERT INTO knowledge_index (rowid, tokens) VALUES (?, ?)",
                    arguments: [db.lastInsertedRowID, KnowledgeWords.tokens(item.title + " " + chunk).joined(separator: " ")])
            }
        }
        return item
    }

    public func remove(_ id: String) async throws(StoreError) {
        try await store.change { [vault = store.vault] db in
            try db.execute(sql: "DELETE FROM knowledge WHERE id = ?", arguments: [id])
            if db.changesCount == 0 { throw StoreError(.notFound, "there is no knowledge \(id)") }
            try CallStore.noteErasure(db, vault)
        }
        try await store.forgetErased()
    }

    public func items(limit: Int = 1_000) async throws(StoreError) -> [KnowledgeItem] {
        try await store.look { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT k.*, (SELECT count(*) FROM knowledge_chunks c WHERE c.knowledge_id = k.id) AS chunks
                    FROM knowledge k ORDER BY k.created_at DESC, k.id LIMIT ?
                    """, arguments: [limit]
            ).map(Self.item)
        }
    }

    private static func item(_ row: Row) -> KnowledgeItem {
        KnowledgeItem(
            id: row["id"], kind: KnowledgeItem.Kind(rawValue: row["kind"]) ?? .document, title: row["title"], answer: row["answer"],
            createdAt: Date(timeIntervalSince1970: row["created_at"]), chunkCount: row["chunks"])
    }

    // MARK: Searching

    public func search(_ question: String, limit: Int) async -> [KnowledgeHit] {
        do { return try await find(question, limit: limit) } catch {
            report("knowledge: \(error)")
            return []
        }
    }

    private struct Piece: Sendable {
        var id: Int64
        var item: String
        var kind: KnowledgeItem.Kind
        var title: String
        var answer: String?
        var text: String
    }

    public func find(_ question: String, limit: Int) async throws(StoreError) -> [KnowledgeHit] {
        let words = KnowledgeWords.telling(question).sorted().prefix(Self.wordLimit)
        let byWords = try await byWords(Array(words))
        let byMeaning = try await byMeaning(question)
        // Reciprocal rank fusion (Cormack, Clarke, Büttcher 2009).
        var scores: [Int64: Double] = [:]
        for list in [byWords, byMeaning] {
            for (rank, piece) in list.enumerated() { scores[piece.id, default: 0] += 1 / Double(60 + rank) }
        }
        var pieces: [Int64: Piece] = [:]
        for piece in byWords + byMeaning { pieces[piece.id] = piece }
        let ranked = pieces.values.sorted { (scores[$0.id] ?? 0, $1.id) > (scores[$1.id] ?? 0, $0.id) }
        let hits = ranked.map { piece in
            KnowledgeHit(
                source: piece.title, text: piece.text, answer: piece.answer,
                likeness: piece.kind == .pair ? KnowledgeWords.likeness(question, piece.title) : 0)
        }
        // A pair that is clearly meant comes first, whatever else speaks of it.
        let best = hits.max { $0.likeness < $1.likeness }.flatMap { $0.likeness >= InformedLanguageModel.answerLikeness ? $0 : nil }
        return Array(((best.map { [$0] } ?? []) + hits.filter { $0 != best }).prefix(limit))
    }

    private static let columns = "c.id, c.text, c.vector, k.id AS item, k.kind, k.title, k.answer"

    private static func piece(_ row: Row) -> Piece {
        Piece(
            id: row["id"], item: row["item"], kind: KnowledgeItem.Kind(rawValue: row["kind"]) ?? .document, title: row["title"],
            answer: row["answer"],
            text: row["text"])
    }

    private func byWords(_ words: [String]) async throws(StoreError) -> [Piece] {
        guard !words.isEmpty else { return [] }
        // Letters and digits only, and quoted: nothing of it is FTS5's own syntax.
        let match = words.map { "\"\($0)\"" }.joined(separator: " OR ")
        return try await store.look { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT \(Self.columns) FROM knowledge_index i JOIN knowledge_chunks c ON c.id = i.rowid JOIN knowledge k ON k.id = c.knowledge_id
                    WHERE knowledge_index MATCH ? ORDER BY bm25(knowledge_index), c.id LIMIT ?
                    """, arguments: [match, Self.candidates]
            ).map(Self.piece)
        }
    }

    private func byMeaning(_ question: String) async throws(StoreError) -> [Piece] {
        guard let embeddings else { return [] }
        let asked: [Float]
        do { asked = try await embeddings.vectors(of: [question], timeoutMs: Self.vectorTimeoutMs).first ?? [] } catch {
            report("\(error)")
            return []
        }
        return try await store.look { db in
            var best: [(id: Int64, likeness: Float)] = []
            let rows = try Row.fetchCursor(db, sql: "SELECT id, vector FROM knowledge_chunks WHERE vector IS NOT NULL")
            while let row = try rows.next() {
                guard let data: Data = row["vector"], data.count == asked.count * MemoryLayout<Float>.size else { continue }
                let likeness = data.withUnsafeBytes { bytes -> Float in
                    asked.indices.reduce(Float(0)) {
                        $0 + asked[$1] * bytes.loadUnaligned(fromByteOffset: $1 * MemoryLayout<Float>.size, as: Float.self)
                    }
                }
                if likeness >= Self.vectorMinimum { best.append((row["id"], likeness)) }
            }
            return try best.sorted { $0.likeness > $1.likeness }.prefix(Self.candidates).compactMap { hit in
                try Row.fetchOne(
                    db, sql: "SELECT \(Self.columns) FROM knowledge_chunks c JOIN knowledge k ON k.id = c.knowledge_id WHERE c.id = ?",
                    arguments: [hit.id]
                ).map(Self.piece)
            }
        }
    }
}
