public import Bridge
internal import Foundation
internal import GRDB

extension CallStore {
    /// SIP messages of one call that are kept, all its attempts together.
    static let traceLimit = 400

    /// Adds what an attempt sent and received.
    func appendTrace(_ messages: [SIPTrace.Message], to outboundID: String) async throws(StoreError) {
        guard !messages.isEmpty else { return }
        try await change { [vault] db in
            let all = try Self.trace(of: outboundID, db, vault) + messages
            let text = String(decoding: try JSONEncoder().encode(Array(all.suffix(Self.traceLimit))), as: UTF8.self)
            // Erased meanwhile: then there is nothing to keep.
            guard try Bool.fetchOne(db, sql: "SELECT 1 FROM calls WHERE outbound_id = ?", arguments: [outboundID]) != nil else { return }
            try db.run(
                "INSERT OR REPLACE INTO sip_traces (outbound_id, entry) VALUES (?, ?)",
                arguments: [outboundID, try vault.seal(text, row: "sip_traces/" + outboundID)])
        }
    }

    /// What was sent and received for a call that has ended, oldest first.
    public func trace(of outboundID: String) async throws(StoreError) -> [SIPTrace.Message] {
        try await look { [vault] db in try Self.trace(of: outboundID, db, vault) }
    }

    private static func trace(of outboundID: String, _ db: Database, _ vault: Vault) throws -> [SIPTrace.Message] {
        guard let sealed = try Data.fetchOne(db, sql: "SELECT entry FROM sip_traces WHERE outbound_id = ?", arguments: [outboundID]) else {
            return []
        }
        return try JSONDecoder().decode([SIPTrace.Message].self, from: Data(try vault.open(sealed, row: "sip_traces/" + outboundID).utf8))
    }
}
