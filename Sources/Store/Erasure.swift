internal import Foundation

extension Storage {
    /// Calls erased in one transaction.
    private static let erasureGroup = 200
    /// Tables with rows of a call that do not go with its row.
    private static let ofCalls: [SQL] = ["events", "deliveries", "dials"]

    /// Erases ended calls with all that was kept of them: transcript, events, messages of the outbox. `forgetErased`
    /// is to follow.
    /// - Returns: the ids of those that were there and had ended.
    public func erase(_ ids: [String]) async throws(StoreError) -> [String] {
        var erased: [String] = []
        for start in stride(from: 0, to: ids.count, by: Self.erasureGroup) {
            let group = Array(ids[start..<min(start + Self.erasureGroup, ids.count)])
            erased += try await write { work in
                var gone: [String] = []
                for id in group {
                    let deleted = try work.transaction.run(
                        "DELETE FROM calls WHERE id = ? AND state NOT IN \(SQL.marks(CallState.open.count))",
                        arguments: [id as any Storable] + CallState.open.map { $0 as any Storable })
                    guard deleted > 0 else { continue }
                    gone.append(id)
                    for table in Self.ofCalls {
                        try work.transaction.run("DELETE FROM \(table) WHERE call_id = ?", id)
                    }
                }
                if !gone.isEmpty { try Self.noteErasure(work) }
                return gone
            }
        }
        return erased
    }
}
