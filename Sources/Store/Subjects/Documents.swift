public import Foundation
internal import Problems

/// Templates and operators: encrypted documents under an id, whose shape the room above knows.
public struct Documents: Sendable {
    enum Kind: Sendable { case templates, operators }
    /// Documents of one kind.
    public static let limit = 1_000

    let storage: Storage
    let kind: Kind

    private var table: SQL { kind == .templates ? "templates" : "operators" }
    private func row(_ id: String) -> String { (kind == .templates ? "templates/" : "operators/") + id }

    /// - Throws: `StoreError.conflict`.
    private func check(_ id: String, in work: Work) throws {
        guard try work.transaction.count("SELECT COUNT(*) FROM \(table) WHERE id <> ?", id) < Self.limit else {
            throw StoreError(
                .conflict, kind == .templates ? .tooManyTemplates : .tooManyOperators, ["limit": .number(Self.limit)])
        }
    }

    private func other(_ column: SQL, _ value: String, than id: String, in work: Work) throws -> String? {
        try work.transaction.value("SELECT id FROM \(table) WHERE \(column) = ? AND id <> ?", value, id)
    }

    /// Stores a template under its id. Its name must be its own.
    public func saveTemplate(
        _ entry: some Encodable & Sendable, id: String, name: String, createdAt: Date, updatedAt: Date
    ) async throws(StoreError) {
        try await storage.write { work in
            if let other = try other("name", name, than: id, in: work) {
                throw StoreError(.conflict, .templateNameTaken, ["id": .text(other)])
            }
            try check(id, in: work)
            try work.transaction.run(
                """
                INSERT INTO templates (id, name, created_at, updated_at, entry) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET name = excluded.name, created_at = excluded.created_at,
                    updated_at = excluded.updated_at, entry = excluded.entry
                """, id, name, createdAt, updatedAt, try work.context.encrypt(entry, row: row(id)))
        }
    }

    /// Stores an operator under an id. User name and number must be the operator's own.
    public func saveOperator(_ entry: some Encodable & Sendable, id: String, sipUser: String, number: String?)
        async throws(StoreError)
    {
        try await storage.write { work in
            if let other = try other("sip_user", sipUser, than: id, in: work) {
                throw StoreError(.conflict, .sipUserTaken, ["id": .text(other)])
            }
            let key = number.map(work.context.key)
            if let key, let other = try other("number_key", key, than: id, in: work) {
                throw StoreError(.conflict, .numberTaken, ["id": .text(other)])
            }
            try check(id, in: work)
            try work.transaction.run(
                """
                INSERT INTO operators (id, sip_user, number_key, entry) VALUES (?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET sip_user = excluded.sip_user, number_key = excluded.number_key,
                    entry = excluded.entry
                """, id, sipUser, key, try work.context.encrypt(entry, row: row(id)))
        }
    }

    /// Templates by name; operators in no order.
    public func all<Entry: Decodable & Sendable>() async throws(StoreError) -> [Entry] {
        let order: SQL = kind == .templates ? "name" : "id"
        return try await storage.read { work in
            try Storage.opened(try work.transaction.rows("SELECT id, entry FROM \(table) ORDER BY \(order)")) {
                try work.context.open($0["entry"], row: row($0["id"]))
            }
        }
    }

    public func one<Entry: Decodable & Sendable>(_ id: String) async throws(StoreError) -> Entry? {
        try await storage.read { work in
            let encrypted: Data? = try work.transaction.value("SELECT entry FROM \(table) WHERE id = ?", id)
            return try encrypted.map { try work.context.open($0, row: row(id)) }
        }
    }

    public func remove(_ id: String) async throws(StoreError) {
        try await storage.write { work in
            if try work.transaction.run("DELETE FROM \(table) WHERE id = ?", id) == 0 {
                throw StoreError(
                    .notFound, kind == .templates ? .noTemplateNamed : .noOperatorNamed, ["id": .text(id)])
            }
        }
    }
}
