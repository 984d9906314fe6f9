import Foundation
import GRDB
import Realtime
import Testing

@testable import Calls
@testable import Store

/// A data folder of schema 10, before calls knew their direction, opens with all that is in it.
@Suite struct OldDatabaseTests {
    private static let purpose = "a dinner for ten"
    private static let key = String(repeating: "11", count: 32)

    /// Writes the database with the statements of its time, then opens it as of today.
    private func opened(encrypted: Bool) throws -> (store: CallStore, folder: String) {
        let folder = NSTemporaryDirectory() + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let vault = encrypted ? Vault(current: try Vault.Key(Self.key)) : Vault(), plan = NumberingPlan()
        let reading = Reading(number: { plan.key($0) }, words: { KnowledgeWords.tokens($0) })
        let pool = try DatabasePool(path: folder + "/calls.sqlite")
        try Migrations.all(vault, reading).migrate(pool, upTo: "10 numbers of sip addresses")
        try pool.write { db in
            let numbers = NumberIndex(secret: try Storage.indexSecret(SQLiteTransaction(db), vault))
            func insert(
                _ id: String, _ state: String, callee: String, caller: String, _ purpose: String, _ json: String
            ) throws {
                let position = try Int64.fetchOne(db, sql: "SELECT COUNT(*) + 1 FROM calls") ?? 1
                let isOver = state != "queued"
                try db.execute(
                    sql: """
                        INSERT INTO calls (outbound_id, position, state, created_at, answered_at, completed_at, due_at,
                            callee_key, callee_tail, caller_key, purpose, record)
                        VALUES (?, ?, ?, 1795514019.5, ?, ?, 1795514019.5, ?, ?, ?, ?, ?)
                        """,
                    arguments: [
                        id, position, state, state == "completed" ? 1_795_514_020.0 : nil,
                        isOver ? 1_795_514_040.0 : nil, numbers.hash(plan.key(callee)), numbers.tail(plan.key(callee)),
                        numbers.hash(plan.key(caller)), purpose, try vault.encrypt(json, row: "calls/" + id),
                    ])
                if id.hasPrefix("ob-") {
                    try db.execute(
                        sql: "INSERT INTO call_words (rowid, tokens) VALUES (?, ?)", arguments: [position, purpose])
                }
            }
            try insert(
                "ob-ea4bcb0b", "completed", callee: "sip:callee@127.0.0.1:21508", caller: "025550100", Self.purpose,
                OldRecords.made)
            try insert(
                "ob-1ebb514f", "queued", callee: "sip:010-1234-5678@127.0.0.1:9", caller: "025550100",
                "waits for a while", OldRecords.waiting)
            try insert(
                "in-ca19f139", "failed", callee: "01098765432", caller: "0255501234", "You answer a call",
                OldRecords.arrived)
            let said = #"{"isInterrupted":false,"endMs":918,"speaker":"ai","text":"Good evening.","startMs":20}"#
            try db.execute(
                sql: "INSERT INTO transcript (outbound_id, position, entry) VALUES ('ob-ea4bcb0b', 0, ?)",
                arguments: [try vault.encrypt(said, row: "transcript/ob-ea4bcb0b/0")])
            for (name, id) in [("outbound_completed", "ob-ea4bcb0b"), ("operator_ringing", "in-ca19f139")] {
                try db.execute(
                    sql: "INSERT INTO events (name, at, outbound_id, payload) VALUES (?, 1795514020.0, ?, ?)",
                    arguments: [name, id, try vault.encrypt("{}", row: "events/\(id)/\(name)")])
            }
            try db.execute(
                sql: """
                    INSERT INTO deliveries (stream, outbound_id, event, state, created_at, next_at, message)
                    VALUES ('s', 'in-ca19f139', 'inbound_failed', 'dead', 1795514020.0, 1795514020.0, ?)
                    """,
                arguments: [
                    try vault.encrypt(#"{"url":"http://h/","body":"{}"}"#, row: "deliveries/in-ca19f139/inbound_failed")
                ])
            try db.execute(
                sql: """
                    INSERT INTO dials (outbound_id, at, callee_key, caller_key) VALUES ('ob-ea4bcb0b', 1795514019, ?, ?)
                    """,
                arguments: [
                    numbers.hash(plan.key("sip:callee@127.0.0.1:21508")), numbers.hash(plan.key("025550100")),
                ])
            try db.execute(sql: "INSERT INTO ended_calls (outbound_id) VALUES ('ob-ea4bcb0b')")
        }
        try pool.close()
        return (try CallStore(folder: folder, vault: vault, plan: plan), folder)
    }

    private func ids(_ store: CallStore, _ direction: CallDirection, search: String? = nil) async throws -> [String] {
        var filter = CallFilter()
        filter.direction = direction
        filter.search = search
        let page = try await store.page(filter)
        #expect(page.total == page.items.count)
        return page.items.map(\.id)
    }

    @Test(arguments: [false, true]) func recordsHaveTheirDirectionAndNumbers(encrypted: Bool) async throws {
        let (store, folder) = try opened(encrypted: encrypted)
        let made = try #require(await store.call("ob-ea4bcb0b"))
        #expect(made.direction == .outbound && made.localNumber == "025550100")
        #expect(made.remoteNumber == "sip:callee@127.0.0.1:21508")
        #expect(made.providerCallID == "outbound-ob-ea4bcb0b-af6c37dc" && made.recording == "ob-ea4bcb0b-1.wav")
        #expect(made.answers.map(\.status) == [.answered, .answered] && made.metadata == #"{"k":"v"}"#)
        #expect(made.completedAt == Date(timeIntervalSinceReferenceDate: 817_206_840.0254989))
        let arrived = try #require(await store.call("in-ca19f139"))
        #expect(arrived.direction == .inbound && arrived.localNumber == "0255501234")
        #expect(arrived.remoteNumber == "01098765432" && arrived.providerCallID == "hand-51dee09d2bc3983d")
        #expect(try await store.transcript(of: made.id).map(\.text) == ["Good evening."])
        let events = try await store.events(after: 0)
        #expect(events.map(\.direction) == [.outbound, .inbound])
        #expect(events[1].envelope.contains(#""inbound_id":"in-ca19f139""#))
        let deliveries = try await store.deliveries.page(state: .dead, of: arrived.id, limit: 5, cursor: nil).items
        #expect(deliveries.map(\.callID) == [arrived.id])
        #expect(try await store.endedCalls(limit: 5) == [made.id])
        store.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test(arguments: [false, true]) func searchesAndCountsFindThem(encrypted: Bool) async throws {
        let (store, folder) = try opened(encrypted: encrypted)
        #expect(try await ids(store, .outbound) == ["ob-1ebb514f", "ob-ea4bcb0b"])
        #expect(try await ids(store, .inbound) == ["in-ca19f139"])
        #expect(try await ids(store, .outbound, search: "din") == ["ob-ea4bcb0b"])
        #expect(try await ids(store, .outbound, search: "ob-1ebb") == ["ob-1ebb514f"])
        #expect(try await ids(store, .outbound, search: "025550100") == ["ob-1ebb514f", "ob-ea4bcb0b"])
        #expect(try await ids(store, .inbound, search: "010 9876 5432") == ["in-ca19f139"])
        #expect(try await ids(store, .inbound, search: "5432") == ["in-ca19f139"])
        #expect(try await ids(store, .inbound, search: "in-ca") == ["in-ca19f139"])
        #expect(try await store.active(ActiveFilter()).states == [.queued: 1])
        #expect(try await store.statistics().totals.states == [.queued: 1, .completed: 1])
        #expect(try await store.waiting().map(\.callID) == ["ob-1ebb514f"])
        store.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func aCallThatChangesIsWrittenWithTodaysNames() async throws {
        let (store, folder) = try opened(encrypted: false)
        try await store.update("in-ca19f139") { call in
            call.summary = "nobody spoke"
            return []
        }
        let json = try await store.storage.read { try $0.calls.record("in-ca19f139")?.open() ?? "" }
        #expect(json.contains(#""direction":"inbound""#) && json.contains(#""localNumber":"0255501234""#))
        #expect(!json.contains("outboundID") && !json.contains("calleeNumber"))
        #expect(try await store.call("in-ca19f139")?.summary == "nobody spoke")
        // Counts follow a call that changes its state, and one that goes.
        #expect(try await store.erase(["in-ca19f139"], recordings: folder) == 1)
        #expect(try await ids(store, .inbound) == [])
        store.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func anIDTellsItsDirectionOnlyWhereItIsWellFormed() {
        #expect(CallDirection(id: "ob-0badcafe") == .outbound && CallDirection(id: "in-0BADCAFE") == .inbound)
        for id in ["", "ob-", "in-0badcaf", "in-0badcafeb", "ob-0badcafg", "xx-0badcafe", "ob_0badcafe"] {
            #expect(CallDirection(id: id) == nil, "\(id)")
        }
        #expect(CallDirection.allCases.allSatisfy { CallDirection(id: $0.newID()) == $0 })
    }
}
