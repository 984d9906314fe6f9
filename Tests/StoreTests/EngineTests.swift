import Foundation
import Problems
import Testing

@testable import Store

private func put(_ name: String, _ work: Work) throws {
    try work.transaction.run("INSERT INTO meta (name, value) VALUES (?, ?)", name, Data([1]))
}

@Suite struct EngineTests {
    private func storage() throws -> (storage: Storage, folder: String) {
        let folder = NSTemporaryDirectory() + UUID().uuidString
        let reading = Reading(number: { $0 }, words: { $0.lowercased().split(separator: " ").map(String.init) })
        return (try Storage(folder: folder, vault: Vault(), reading: reading), folder)
    }

    private func has(_ name: String, _ storage: Storage) async throws -> Bool {
        try await storage.read { try $0.transaction.exists("SELECT 1 FROM meta WHERE name = ?", name) }
    }

    @Test func valuesComeBackAsTheyWere() async throws {
        let (storage, folder) = try storage()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let seconds = 1_795_514_019.82386, bytes = Data([0, 1, 255]), text = "a'b\"c?d"
        let row = try await storage.read { work -> (Int64, Double, String, Data, String?, Bool) in
            let row = try #require(
                try work.transaction.row(
                    "SELECT ? AS i, ? AS d, ? AS t, ? AS b, ? AS n", Int64.max, seconds, text, bytes, String?.none))
            let isNull = (try row["n"] as Int?) == nil
            return (try row["i"], try row["d"], try row["t"], try row["b"], try row["n"], isNull)
        }
        #expect(row.0 == .max && row.1 == seconds && row.2 == text && row.3 == bytes && row.4 == nil && row.5)
        storage.close()
    }

    @Test func aColumnOfAnotherTypeIsDamageAndNoCrash() async throws {
        let (storage, folder) = try storage()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        await #expect(throws: StoreError.self) {
            let _: Int? = try await storage.read { try $0.transaction.value("SELECT 'x'") }
        }
        await #expect(throws: StoreError.self) {
            let _: String = try await storage.read { try #require(try $0.transaction.row("SELECT NULL AS a"))["a"] }
        }
        await #expect(throws: StoreError.self) {
            let _: Int = try await storage.read { try #require(try $0.transaction.row("SELECT 1 AS a"))["missing"] }
        }
        storage.close()
    }

    /// Writes that come at once share a transaction: the one that fails takes nothing of the others with it.
    @Test func aWriteThatFailsLeavesTheOthersOfItsGroup() async throws {
        let (storage, folder) = try storage()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let failures = await withTaskGroup(of: Bool.self) { group in
            for index in 0..<40 {
                group.addTask {
                    do {
                        try await storage.write { work in
                            try put("row \(index)", work)
                            if index % 4 == 0 { throw StoreError(.conflict, .rowDamaged) }
                        }
                        return false
                    } catch { return true }
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(failures == 10)
        for index in 0..<40 { #expect(try await has("row \(index)", storage) == (index % 4 != 0)) }
        storage.close()
    }

    @Test func runTellsHowManyRowsWereChanged() async throws {
        let (storage, folder) = try storage()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let changed = try await storage.write { work in
            try put("a", work)
            try put("b", work)
            let marks: SQL = "DELETE FROM meta WHERE name IN \(SQL.marks(2))"
            return try work.transaction.run(marks, arguments: ["a", "none"])
        }
        #expect(changed == 1)
        storage.close()
    }

    @Test func aCopyIsMadeWhileItIsInUse() async throws {
        let (storage, folder) = try storage()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await storage.write { try put("a", $0) }
        let copy = folder + "-copy"
        defer { try? FileManager.default.removeItem(atPath: copy) }
        try storage.backUp(to: copy)
        #expect(FileManager.default.fileExists(atPath: copy))
        try await storage.check()
        storage.close()
    }

    /// What is encrypted anew: a table with encrypted rows that the list leaves out would keep its former key.
    @Test func everyBlobIsAmongTheEncryptedColumns() async throws {
        let (storage, folder) = try storage()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let found = try await storage.read { work -> Set<String> in
            let rows = try work.transaction.rows(
                """
                SELECT m.name AS t, c.name AS c FROM sqlite_master m, pragma_table_info(m.name) c
                WHERE m.type = 'table' AND c.type = 'BLOB' AND m.sql NOT LIKE 'CREATE VIRTUAL%'
                """)
            return Set(try rows.map { "\(try $0["t"] as String).\(try $0["c"] as String)" })
        }
        let listed = Set(EncryptedColumn.all.map { "\($0.table.text).\($0.column.text)" })
        // Vectors are not encrypted, and FTS5's own tables hold words.
        #expect(
            found.filter { !$0.hasPrefix("call_words_") && !$0.hasPrefix("knowledge_index_") }.subtracting(listed)
                == ["knowledge_chunks.vector"])
        #expect(listed.isSubset(of: found))
        storage.close()
    }
}
