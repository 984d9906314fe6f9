import Foundation
import GRDB
import Testing

@testable import Calls
@testable import Store

/// SIP addresses were listed as they were written, up to schema 9; since then they stand for their number.
@Suite struct OldNumbersTests {
    @Test func entriesOfOlderVersionsGoOnBlocking() async throws {
        let folder = NSTemporaryDirectory() + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let vault = Vault(), address = "sip:01012345678@h"
        let pool = try DatabasePool(path: folder + "/calls.sqlite")
        let reading = Reading(number: { $0 }, words: { _ in [] })
        try Migrations.all(vault, reading).migrate(pool, upTo: "9 sessions")
        try await pool.write { db in
            let numbers = NumberIndex(secret: try Storage.indexSecret(SQLiteTransaction(db), vault))
            let entry = DoNotCallEntry(number: address, reason: "asked us", addedAt: Date(), addedBy: "t")
            let key = numbers.hash(address)
            let text = String(decoding: try JSONEncoder().encode(entry), as: UTF8.self)
            try db.execute(
                sql: "INSERT INTO do_not_call (key, position, entry) VALUES (?, 1, ?)",
                arguments: [key, try vault.encrypt(text, row: "do_not_call/" + key)])
        }
        try pool.close()
        let store = try CallStore(folder: folder)
        #expect(try await store.numbers.isOnDoNotCallList("010 1234 5678"))
        #expect(try await store.numbers.isOnDoNotCallList(address))
        #expect(try await store.numbers.doNotCall().items.map(\.reason) == ["asked us"])
        store.close()
    }
}
