import Foundation
import Testing

@testable import Store

@Suite struct DurabilityTests {
    @Test func acknowledgedWritesAreOnDisk() async throws {
        let folder = NSTemporaryDirectory() + "durability-\(UInt32.random(in: .min ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let storage = try Storage(
            folder: folder, vault: Vault(), reading: Reading(number: { $0 }, words: { [$0] }))
        // 2: FULL, an fdatasync before a commit returns.
        let level: Int? = try await storage.write { try $0.transaction.value("PRAGMA synchronous") }
        #expect(level == 2)
        storage.close()
    }
}
