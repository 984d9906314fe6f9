public import Foundation
internal import GRDB

extension CallStore {
    /// Calls erased in one transaction.
    private static let erasureGroup = 200

    /// Erases ended calls with all that was kept of them: transcript, events, messages of the outbox, recordings. Nothing of it stays in
    /// the database's files. Returns how many there were.
    public func erase(_ ids: [String], recordings folder: String) async throws(StoreError) -> Int {
        let live = CallState.allCases.filter { !$0.isTerminal }.map { "'\($0.rawValue)'" }.joined(separator: ",")
        var erased: [String] = []
        for start in stride(from: 0, to: ids.count, by: Self.erasureGroup) {
            let group = Array(ids[start..<min(start + Self.erasureGroup, ids.count)])
            erased += try await change { [vault] db in
                var gone: [String] = []
                for id in group {
                    try db.run("DELETE FROM calls WHERE outbound_id = ? AND state NOT IN (\(live))", arguments: [id])
                    guard db.changesCount > 0 else { continue }
                    gone.append(id)
                    for table in ["events", "deliveries", "dials"] { try db.run("DELETE FROM \(table) WHERE outbound_id = ?", arguments: [id]) }
                }
                if !gone.isEmpty { try Self.noteErasure(db, vault) }
                return gone
            }
        }
        let wanted = Set(erased)
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where wanted.contains(String(name.prefix(11))) {
            try? FileManager.default.removeItem(atPath: folder + "/" + name)
        }
        if !erased.isEmpty { try await forgetErased() }
        return erased.count
    }

    /// Ids of calls that ended before, oldest first.
    public func ended(before date: Date, limit: Int) async throws(StoreError) -> [String] {
        try await look { db in
            try String.fetchAll(
                db, sql: "SELECT outbound_id FROM calls WHERE created_at < ? AND completed_at < ? ORDER BY created_at LIMIT ?",
                arguments: [date.timeIntervalSince1970, date.timeIntervalSince1970, limit])
        }
    }
}

/// Erases calls when their time is over.
public struct Retention: Sendable {
    /// Seconds between two looks, and calls erased at one.
    private static let interval = 600.0
    private static let limit = 5_000

    private let store: CallStore
    private let folder: String
    private let days: Int

    /// - Parameter days: since the end of a call.
    public init(_ store: CallStore, recordings folder: String, days: Int) {
        self.store = store
        self.folder = folder
        self.days = days
    }

    /// Until it is cancelled.
    public func run(now: @Sendable () -> Date = { Date() }, report: @Sendable (_ erased: Result<Int, StoreError>) -> Void) async {
        while !Task.isCancelled {
            do throws(StoreError) {
                let over = try await store.ended(before: now().addingTimeInterval(-Double(days) * 86_400), limit: Self.limit)
                if !over.isEmpty { report(.success(try await store.erase(over, recordings: folder))) }
            } catch { report(.failure(error)) }
            try? await Task.sleep(for: .seconds(Self.interval))
        }
    }
}
