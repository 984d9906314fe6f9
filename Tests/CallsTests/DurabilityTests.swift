import Foundation
import GRDB
import Testing

@testable import Calls

@Suite struct DurabilityTests {
    @Test func whatIsAcknowledgedIsOnDisk() async throws {
        let folder = NSTemporaryDirectory() + "durability-\(UInt32.random(in: .min ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try CallStore(folder: folder)
        // 2: FULL, an fdatasync before a commit returns.
        let level: Int? = try await store.change { db in try Int.fetchOne(db, sql: "PRAGMA synchronous") }
        #expect(level == 2)
        store.close()
    }
}
