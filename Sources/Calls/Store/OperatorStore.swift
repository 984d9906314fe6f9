internal import Foundation
internal import GRDB

extension CallStore {
    public static let operatorLimit = 1_000

    /// Stores an operator under his id. His user name and number must be his own.
    public func save(_ known: Operator) async throws(StoreError) {
        let key = known.number.map { numbers.hash(plan.key($0)) }
        try await change { [vault] db in
            let user = try String.fetchOne(db, sql: "SELECT id FROM operators WHERE sip_user = ? AND id <> ?", arguments: [known.sipUser, known.id])
            if let user { throw StoreError(.conflict, "another operator, \(user), has this sip_user") }
            if let key,
                let other = try String.fetchOne(db, sql: "SELECT id FROM operators WHERE number_key = ? AND id <> ?", arguments: [key, known.id])
            {
                throw StoreError(.conflict, "another operator, \(other), has this number")
            }
            guard try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM operators WHERE id <> ?", arguments: [known.id]) ?? 0 < Self.operatorLimit else {
                throw StoreError(.conflict, "there are \(Self.operatorLimit) operators already")
            }
            let text = String(decoding: try JSONEncoder().encode(known), as: UTF8.self)
            try db.run(
                "INSERT OR REPLACE INTO operators (id, sip_user, number_key, entry) VALUES (?, ?, ?, ?)",
                arguments: [known.id, known.sipUser, key, try vault.seal(text, row: "operators/" + known.id)])
        }
    }

    public func operators() async throws(StoreError) -> [Operator] {
        try await look { [vault] db in
            try Self.opened(try Row.fetchAll(db, sql: "SELECT id, entry FROM operators")) { row in
                let text = try vault.open(row["entry"], row: "operators/" + (row["id"] as String))
                return try JSONDecoder().decode(Operator.self, from: Data(text.utf8))
            }
        }
    }

    public func removeOperator(_ id: String) async throws(StoreError) {
        try await change { db in
            try db.run("DELETE FROM operators WHERE id = ?", arguments: [id])
            if db.changesCount == 0 { throw StoreError(.notFound, "there is no operator \(id)") }
        }
    }
}
