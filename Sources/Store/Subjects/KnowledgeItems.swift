public import Foundation
internal import Problems

/// A question/answer pair or a document of the knowledge.
public struct KnowledgeItem: Sendable, Equatable, Codable {
    public enum Kind: String, Sendable, Codable { case pair = "qa", document }
    /// `kn-` and 8 hex digits.
    public var id: String
    public var kind: Kind
    /// The set that it belongs to.
    public var set: String
    /// The name of the source: the document's title, or the question.
    public var title: String
    public var answer: String?
    public var createdAt: Date
    public var chunkCount: Int

    public init(
        id: String = "kn-" + ShortID.random(), kind: Kind, set: String, title: String, answer: String?,
        createdAt: Date, chunkCount: Int
    ) {
        self.id = id
        self.set = set
        self.kind = kind
        self.title = title
        self.answer = answer
        self.createdAt = createdAt
        self.chunkCount = chunkCount
    }
}

/// A set of knowledge, as it is listed.
public struct KnowledgeSet: Sendable, Equatable {
    public var name: String
    public var items: Int
}

/// A piece of an item, as a search finds it.
public struct KnowledgePiece: Sendable {
    public let id: Int64
    public let kind: KnowledgeItem.Kind
    public let title: String
    public let answer: String?
    public let text: String

    static let columns: SQL = "c.id, c.text, k.kind, k.title, k.answer"

    init(_ row: Row) throws {
        id = try row["id"]
        kind = KnowledgeItem.Kind(rawValue: try row["kind"]) ?? .document
        title = try row["title"]
        answer = try row["answer"]
        text = try row["text"]
    }
}

/// A company's knowledge, found by words and by vectors.
public struct KnowledgeItems: Sendable {
    /// Items of one company, and pieces of all of them.
    public static let itemLimit = 10_000
    public static let chunkLimit = 50_000

    let storage: Storage
    let company: CompanyID

    /// - Parameter vectors: one a chunk, or none.
    public func add(_ item: KnowledgeItem, chunks: [String], vectors: [[Float]]) async throws(StoreError) {
        let blobs = vectors.map { vector in vector.withUnsafeBytes { Data($0) } }
        try await storage.write { [company] work in
            let items = try work.transaction.count("SELECT COUNT(*) FROM knowledge WHERE company = ?", company)
            let pieces = try work.transaction.count(
                """
                SELECT COUNT(*) FROM knowledge_chunks c JOIN knowledge k ON k.id = c.knowledge_id WHERE k.company = ?
                """, company)
            guard items < Self.itemLimit, pieces + chunks.count <= Self.chunkLimit else {
                throw StoreError(
                    .conflict, .knowledgeFull, ["items": .number(Self.itemLimit), "pieces": .number(Self.chunkLimit)])
            }
            try work.transaction.run(
                """
                INSERT INTO knowledge (id, kind, set_name, title, answer, created_at, company)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """, item.id, item.kind.rawValue, item.set, item.title, item.answer, item.createdAt, company)
            for (position, chunk) in chunks.enumerated() {
                let id: Int64? = try work.transaction.value(
                    """
                    INSERT INTO knowledge_chunks (knowledge_id, position, text, vector) VALUES (?, ?, ?, ?) RETURNING id
                    """, item.id, position, chunk, position < blobs.count ? blobs[position] : Data?.none)
                guard let id else { throw StoreError(.unavailable, .databaseGaveNoId) }
                let words = work.context.reading.words(item.title + " " + chunk)
                try work.context.dialect.index(chunk: id, words: words, work.transaction)
            }
        }
    }

    public func remove(_ id: String) async throws(StoreError) {
        try await storage.write { [company] work in
            if try work.transaction.run("DELETE FROM knowledge WHERE company = ? AND id = ?", company, id) == 0 {
                throw StoreError(.notFound, .noKnowledgeNamed, ["id": .text(id)])
            }
            try Storage.noteErasure(work)
        }
        try await storage.forgetErased()
    }

    /// What is in one of the sets; a condition that follows others.
    static func isIn(_ sets: [String]?) -> SQL { sets.map { "AND k.set_name IN " + SQL.marks($0.count) } ?? "" }

    /// Newest first.
    /// - Parameters:
    ///   - sets: that they are in; nil: in any.
    ///   - kind: nil: of any.
    public func items(in sets: [String]? = nil, of kind: KnowledgeItem.Kind? = nil, limit: Int)
        async throws(StoreError) -> [KnowledgeItem]
    {
        try await storage.read { [company] work in
            try work.transaction.rows(
                """
                SELECT k.*, (SELECT COUNT(*) FROM knowledge_chunks c WHERE c.knowledge_id = k.id) AS chunks
                FROM knowledge k WHERE k.company = ? AND (? IS NULL OR k.kind = ?) \(Self.isIn(sets))
                ORDER BY k.created_at DESC, k.id LIMIT ?
                """, arguments: [company, kind?.rawValue, kind?.rawValue] + (sets ?? []) + [limit]
            ).map { row in
                KnowledgeItem(
                    id: try row["id"], kind: KnowledgeItem.Kind(rawValue: try row["kind"]) ?? .document,
                    set: try row["set_name"], title: try row["title"], answer: try row["answer"],
                    createdAt: try row["created_at"],
                    chunkCount: try row["chunks"])
            }
        }
    }

    /// Every set that has an item, by name.
    public func sets() async throws(StoreError) -> [KnowledgeSet] {
        try await storage.read { [company] work in
            try work.transaction.rows(
                """
                SELECT set_name, COUNT(*) AS items FROM knowledge WHERE company = ? GROUP BY set_name ORDER BY set_name
                """, company
            ).map { KnowledgeSet(name: try $0["set_name"], items: try $0["items"]) }
        }
    }

    // MARK: Searching

    /// Pieces that hold one of the words, best first (BM25).
    /// - Parameters:
    ///   - words: letters and digits only.
    ///   - sets: that they are in; nil: in any.
    public func pieces(withAnyOf words: [String], in sets: [String]? = nil, limit: Int)
        async throws(StoreError) -> [KnowledgePiece]
    {
        guard !words.isEmpty else { return [] }
        return try await storage.read { [company] work in
            try work.context.dialect.chunks(
                KnowledgePiece.columns, company, withAnyOf: words, in: sets, limit: limit, work.transaction
            ).map { try KnowledgePiece($0) }
        }
    }

    /// Pieces whose vectors are like one, best first.
    /// - Parameters:
    ///   - sets: that they are in; nil: in any.
    ///   - minimum: likeness below which a piece says nothing.
    public func pieces(like vector: [Float], in sets: [String]? = nil, minimum: Float, limit: Int)
        async throws(StoreError) -> [KnowledgePiece]
    {
        try await storage.read { [company] work in
            var best: [(id: Int64, likeness: Float)] = []
            try work.transaction.each(
                """
                SELECT c.id AS id, c.vector AS vector FROM knowledge_chunks c JOIN knowledge k ON k.id = c.knowledge_id
                WHERE k.company = ? AND c.vector IS NOT NULL \(Self.isIn(sets))
                """, arguments: [company] + (sets ?? [])
            ) { row in
                let data: Data = try row["vector"]
                guard data.count == vector.count * MemoryLayout<Float>.size else { return }
                let likeness = data.withUnsafeBytes { bytes -> Float in
                    vector.indices.reduce(Float(0)) {
                        let place = $1 * MemoryLayout<Float>.size
                        return $0 + vector[$1] * bytes.loadUnaligned(fromByteOffset: place, as: Float.self)
                    }
                }
                if likeness >= minimum { best.append((try row["id"], likeness)) }
            }
            return try best.sorted { $0.likeness > $1.likeness }.prefix(limit).compactMap { hit in
                try work.transaction.row(
                    """
                    SELECT \(KnowledgePiece.columns) FROM knowledge_chunks c JOIN knowledge k ON k.id = c.knowledge_id
                    WHERE c.id = ?
                    """, hit.id
                ).map { try KnowledgePiece($0) }
            }
        }
    }
}
