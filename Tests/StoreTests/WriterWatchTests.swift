import Foundation
import Synchronization
import Testing

@testable import Net
@testable import Store

/// A write that does not end, as on a disk that hangs. The watchdog's looks are its clock: half a second each.
@Suite struct WriterWatchTests {
    private func storage() throws -> (storage: Storage, folder: String) {
        let folder = NSTemporaryDirectory() + UUID().uuidString
        return (try Storage(folder: folder, vault: Vault(), reading: Reading(number: { $0 }, words: { [$0] })), folder)
    }

    @Test func aWriteThatHangsIsReportedAndEndsNothing() async throws {
        let (storage, folder) = try storage()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let findings = Mutex<[LoopWatchdog.Finding]>([])
        let watchdog = LoopWatchdog(
            watching: [storage.watched], report: { finding in findings.withLock { $0.append(finding) } },
            abort: { Issue.record("the process was ended") })
        // Nothing to do is no hang.
        for _ in 0..<30 { #expect(watchdog.look()) }
        #expect(watchdog.problem == nil && findings.withLock { $0.isEmpty })

        let release = DispatchSemaphore(value: 0)
        let (begins, begun) = AsyncStream<Void>.makeStream()
        let write = Task {
            try await storage.write { work in
                begun.finish()
                release.wait()
                try work.transaction.run("INSERT INTO meta (name, value) VALUES (?, ?)", "late", Data([1]))
            }
        }
        for await _ in begins {}
        // The first look sees where it is, and a write that waits behind it changes nothing.
        let second = Task { try await storage.write { _ in } }
        for _ in 0..<4 { #expect(watchdog.look()) }
        #expect(watchdog.problem == nil)
        #expect(watchdog.look())
        #expect(watchdog.problem == "database has not turned for 2000 ms")
        #expect(findings.withLock { $0 } == [.held(thread: "database", milliseconds: 2_000, doing: "a write")])
        for _ in 0..<60 { #expect(watchdog.look()) }
        #expect(findings.withLock { $0.count } == 1)

        release.signal()
        try await write.value
        try await second.value
        for _ in 0..<2 { #expect(watchdog.look()) }
        #expect(watchdog.problem == nil && findings.withLock { $0.last } == .freed(thread: "database"))
        #expect(
            try await storage.read { try $0.transaction.exists("SELECT 1 FROM meta WHERE name = ?", "late") })
        storage.close()
    }
}
