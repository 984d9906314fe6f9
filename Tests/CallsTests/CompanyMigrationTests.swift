import Foundation
import GRDB
import Realtime
import Testing

@testable import Calls
@testable import Store

/// A data folder of schema 13, before there were companies, opens with all that is in it.
@Suite struct CompanyMigrationTests {
    private let folder = NSTemporaryDirectory() + "schema13-" + UUID().uuidString
    private let plan = NumberingPlan()

    /// - Parameter calls: how many.
    private func write(calls: Int) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let vault = Vault(), plan = plan
        let reading = Reading(number: { plan.key($0) }, words: { KnowledgeWords.tokens($0) })
        let pool = try DatabasePool(path: folder + "/calls.sqlite")
        try Migrations.all(vault, reading).migrate(pool, upTo: "13 events and deliveries bound to their ids")
        try pool.write { db in
            let numbers = NumberIndex(secret: try Storage.indexSecret(SQLiteTransaction(db), vault))
            let insert = try db.makeStatement(
                sql: """
                    INSERT INTO calls (id, direction, position, state, created_at, answered_at, completed_at, due_at,
                        remote_key, remote_tail, local_key, purpose, record)
                    VALUES (?, 'outbound', ?, 'queued', 1795514019.5, NULL, NULL, 1795514019.5, ?, ?, ?, ?, ?)
                    """)
            for index in 0..<calls {
                var call = Call(
                    id: "ob-" + String(format: "%08x", index), localNumber: "025550100",
                    remoteNumber: "010" + String(format: "%08d", index),
                    brief: Brief(purpose: "purpose \(index)", questions: []),
                    createdAt: Date(timeIntervalSince1970: 1_795_514_019.5))
                call.state = .completed
                try insert.execute(arguments: [
                    call.id, index + 1, numbers.hash(plan.key(call.remoteNumber)), numbers.tail(call.remoteNumber),
                    numbers.hash(plan.key(call.localNumber)), call.brief.purpose,
                    String(decoding: try JSONEncoder().encode(call), as: UTF8.self).data(using: .utf8) ?? Data(),
                ])
                try db.execute(
                    sql: "INSERT INTO call_words (rowid, tokens) VALUES (?, ?)",
                    arguments: [index + 1, call.brief.purpose])
            }
            try db.execute(
                sql: """
                    UPDATE calls SET state = 'completed', answered_at = 1795514020.0, completed_at = 1795514040.0
                    """)
            let listed = #"{"number":"01022222222","reason":"","addedAt":0,"addedBy":"t"}"#
            let key = numbers.hash(plan.key("01022222222"))
            try db.execute(
                sql: "INSERT INTO do_not_call (key, position, entry) VALUES (?, 1, ?)",
                arguments: [key, try vault.encrypt(listed, row: "do_not_call/\(key)")])
            try db.execute(
                sql: "INSERT INTO users VALUES ('u', 'admin', '{}', 1795514019.5, 't')")
            try db.execute(
                sql: """
                    INSERT INTO api_keys (id, hash, name, role, created_at, created_by)
                    VALUES ('key-1', 'h', 'k', 'admin', 1795514019.5, 't')
                    """)
            try db.execute(
                sql: "INSERT INTO audit (at, actor, action, target, detail) VALUES (1795514019.5, 't', 'x', '', '')")
            try db.execute(
                sql: """
                    INSERT INTO idempotency VALUES (?, 'h', 'answer', ?)
                    """, arguments: [numbers.hash("admin k"), Date().timeIntervalSince1970])
        }
        try pool.close()
    }

    @Test func allThatWasThereIsTheInstallationsOwn() async throws {
        try write(calls: 3)
        let store = try CallStore(folder: folder, plan: plan)
        let own = store.of(.default)
        #expect(try await own.page(CallFilter()).items.map(\.id) == ["ob-00000002", "ob-00000001", "ob-00000000"])
        #expect(try await own.page(CallFilter()).total == 3)
        #expect(try await own.statistics().totals.states[.completed] == 3)
        #expect(try await own.statistics().totals.days.map(\.total) == [3])
        #expect(try await own.statistics().totals.averageDuration == 20)
        var filter = CallFilter()
        filter.search = "purpose 1"
        #expect(try await own.page(filter).items.map(\.id) == ["ob-00000001"])
        #expect(try await own.numbers.isOnDoNotCallList("010-2222-2222"))
        #expect(try await own.numbers.doNotCall().items.map(\.addedBy) == ["t"])
        #expect(try await own.keys().map(\.id) == ["key-1"])
        #expect(try await store.installation.accounts.usersOfAll().map(\.company) == [.default])
        #expect(try await own.audit.page(action: "x", limit: 5, cursor: nil).items.count == 1)
        let again = try await store.storage.read { try $0.requests.known(.default, "admin k", at: Date())?.answer }
        #expect(again == "answer")
        // The counters follow: one more, and one less.
        #expect(try await store.erase(["ob-00000001"], recordings: folder) == 1)
        #expect(try await own.page(CallFilter()).total == 2)
        #expect(try await own.statistics().totals.days.map(\.total) == [2])
        #expect(!store.companies.areSeveral)
        store.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    /// A crash in the middle: the step is one transaction, so that what is on disk is the one schema or the other.
    @Test func aStepThatFailsLeavesTheSchemaOfBefore() throws {
        try write(calls: 3)
        let pool = try DatabasePool(path: folder + "/calls.sqlite")
        struct Crash: Error {}
        #expect(throws: Crash.self) {
            try pool.write { db in
                try Migrations.nameCompanies(db)
                throw Crash()
            }
        }
        try pool.read { db in
            #expect(try Row.fetchOne(db, sql: "SELECT * FROM sqlite_master WHERE name = 'companies'") == nil)
            #expect(try Int.fetchOne(db, sql: "SELECT SUM(n) FROM call_counts") == 3)
            let columns = try db.columns(in: "calls").map(\.name)
            #expect(!columns.contains("company"))
        }
        try pool.close()
        let store = try CallStore(folder: folder, plan: plan)
        store.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func aHundredThousandCallsTakeLessThanAMinute() throws {
        try write(calls: 1)
        let pool = try DatabasePool(path: folder + "/calls.sqlite")
        try pool.write { db in
            // Copies of the one, by SQL alone.
            try db.execute(
                sql: """
                    WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
                    INSERT INTO calls (id, direction, position, state, created_at, answered_at, completed_at, due_at,
                        remote_key, remote_tail, local_key, purpose, record)
                    SELECT printf('ob-%08x', i), direction, i, state, created_at + i, answered_at, completed_at, due_at,
                        remote_key || i, remote_tail, local_key, purpose, record
                    FROM n, calls WHERE position = 1
                    """)
            #expect(try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM calls") == 100_000)
        }
        try pool.close()
        let begun = ContinuousClock.now
        let store = try CallStore(folder: folder, plan: plan)
        let took = ContinuousClock.now - begun
        #expect(took < .seconds(60), "\(took)")
        store.close()
        try FileManager.default.removeItem(atPath: folder)
    }
}
