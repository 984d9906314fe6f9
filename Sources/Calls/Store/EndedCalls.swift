internal import Foundation
internal import GRDB
internal import Synchronization

/// Calls that have ended and that nobody has looked at since (`CallAnalyst`).
extension CallStore {
    /// Whether calls are put on that list as they end.
    func keepEnded(_ keeps: Bool) { subscribers.withLock { $0.wantsEndedCalls = keeps } }

    /// In the transaction that ends the call.
    func noteEnded(_ outboundID: String, _ db: Database) throws {
        guard subscribers.withLock({ $0.wantsEndedCalls }) else { return }
        try db.run("INSERT OR IGNORE INTO ended_calls (outbound_id) VALUES (?)", arguments: [outboundID])
    }

    func endedCalls(limit: Int) async throws(StoreError) -> [String] {
        try await look { db in
            try String.fetchAll(db, sql: "SELECT outbound_id FROM ended_calls ORDER BY rowid LIMIT ?", arguments: [limit])
        }
    }

    func forgetEnded(_ outboundID: String) async throws(StoreError) {
        try await change { db in try db.run("DELETE FROM ended_calls WHERE outbound_id = ?", arguments: [outboundID]) }
    }
}
