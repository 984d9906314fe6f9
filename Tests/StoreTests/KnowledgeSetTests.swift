import Foundation
import GRDB
import Testing

@testable import Store

/// Knowledge in sets: kept, listed, and found in the sets that are asked for.
@Suite struct KnowledgeSetTests {
    private func open(_ folder: String) throws -> (storage: Storage, items: KnowledgeItems) {
        let reading = Reading(number: { $0 }, words: { $0.lowercased().split(separator: " ").map(String.init) })
        let storage = try Storage(folder: folder, vault: Vault(), reading: reading)
        return (storage, storage.knowledge(.default))
    }

    private func add(_ title: String, to set: String, _ items: KnowledgeItems, vector: [Float] = []) async throws {
        let item = KnowledgeItem(
            kind: .pair, set: set, title: title, answer: "Of " + set, createdAt: Date(), chunkCount: 1)
        try await items.add(item, chunks: ["hours " + set], vectors: vector.isEmpty ? [] : [vector])
    }

    @Test func whatIsFoundIsInTheSetsThatAreAskedFor() async throws {
        let folder = NSTemporaryDirectory() + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (storage, items) = try open(folder)
        for set in ["default", "salon", "clinic"] { try await add("Hours?", to: set, items, vector: [1, 0]) }
        try await add("Prices?", to: "salon", items)
        #expect(
            try await items.sets() == [
                KnowledgeSet(name: "clinic", items: 1), KnowledgeSet(name: "default", items: 1),
                KnowledgeSet(name: "salon", items: 2),
            ])
        func found(_ sets: [String]?) async throws -> Set<String> {
            Set(try await items.pieces(withAnyOf: ["hours"], in: sets, limit: 10).compactMap(\.answer))
        }
        #expect(try await found(nil).count == 3)
        #expect(try await found(["salon"]) == ["Of salon"])
        #expect(try await found(["salon", "clinic"]) == ["Of salon", "Of clinic"])
        #expect(try await found([]).isEmpty)
        #expect(try await found(["nowhere' OR 1=1 --"]).isEmpty)
        let like = try await items.pieces(like: [1, 0], in: ["clinic"], minimum: 0.5, limit: 10)
        #expect(like.map(\.answer) == ["Of clinic"])
        #expect(try await items.pieces(like: [1, 0], minimum: 0.5, limit: 10).count == 3)
        #expect(try await items.items(in: ["salon"], limit: 10).map(\.set) == ["salon", "salon"])
        #expect(try await items.items(in: ["salon"], of: .document, limit: 10).isEmpty)
        storage.close()
    }

    @Test func whatWasKnownBeforeIsInTheSetDefault() async throws {
        let folder = NSTemporaryDirectory() + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var (storage, items) = try open(folder)
        try await add("Hours?", to: "default", items)
        storage.close()
        // As it was before the migration.
        let database = try DatabaseQueue(path: folder + "/calls.sqlite")
        try await database.write { db in
            try db.execute(
                sql: """
                    DROP INDEX knowledge_by_set;
                    ALTER TABLE knowledge DROP COLUMN set_name;
                    DELETE FROM grdb_migrations WHERE identifier = '17 knowledge sets';
                    """)
        }
        try database.close()
        (storage, items) = try open(folder)
        #expect(try await items.items(in: ["default"], limit: 10).map(\.title) == ["Hours?"])
        #expect(try await items.pieces(withAnyOf: ["hours"], in: ["default"], limit: 10).count == 1)
        storage.close()
    }
}
