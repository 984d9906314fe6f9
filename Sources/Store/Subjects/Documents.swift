public import Foundation
internal import Problems

/// A company's templates and operators: encrypted documents under an id, whose shape the room above knows.
///
/// A template's name is unique in its company. An operator's SIP user and number are unique in the installation: who
/// registers or dials names no company.
public struct Documents: Sendable {
    enum Kind: Sendable { case templates, operators }
    /// Documents of one kind.
    public static let limit = 1_000

    let storage: Storage
    let company: CompanyID
    let kind: Kind

    private var table: SQL { kind == .templates ? "templates" : "operators" }
    private func row(_ id: String) -> String { (kind == .templates ? "templates/" : "operators/") + id }

    /// - Throws: `StoreError.conflict`.
    private func check(_ id: String, in work: Work) throws {
        guard
            try work.transaction.count("SELECT COUNT(*) FROM \(table) WHERE company = ? AND id <> ?", company, id)
                < Self.limit
        else {
            throw StoreError(
                .conflict, kind == .templates ? .tooManyTemplates : .tooManyOperators, ["limit": .number(Self.limit)])
        }
    }

    /// Another document of the installation with the same value; its id is told to its own company alone.
    private func checkNoOther(
        has column: SQL, _ value: String, than id: String, _ problem: ProblemCode, in work: Work
    ) throws {
        let row = try work.transaction.row(
            "SELECT id, company FROM \(table) WHERE \(column) = ? AND id <> ?", value, id)
        guard let row else { return }
        guard try row["company"] as CompanyID == company else { throw StoreError(.conflict, .takenElsewhere) }
        throw StoreError(.conflict, problem, ["id": .text(try row["id"])])
    }

    /// Stores a template under its id. Its name must be its own.
    public func saveTemplate(
        _ entry: some Encodable & Sendable, id: String, name: String, createdAt: Date, updatedAt: Date
    ) async throws(StoreError) {
        try await storage.write { work in
            let other: String? = try work.transaction.value(
                "SELECT id FROM templates WHERE company = ? AND name = ? AND id <> ?", company, name, id)
            if let other { throw StoreError(.conflict, .templateNameTaken, ["id": .text(other)]) }
            try check(id, in: work)
            try work.transaction.run(
                """
                INSERT INTO templates (id, name, created_at, updated_at, entry, company) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET name = excluded.name, created_at = excluded.created_at,
                    updated_at = excluded.updated_at, entry = excluded.entry
                """, id, name, createdAt, updatedAt, try work.context.encrypt(entry, row: row(id)), company)
        }
    }

    /// Stores an operator under an id. User name and number must be the operator's own.
    public func saveOperator(_ entry: some Encodable & Sendable, id: String, sipUser: String, number: String?)
        async throws(StoreError)
    {
        try await storage.write { work in
            try checkNoOther(has: "sip_user", sipUser, than: id, .sipUserTaken, in: work)
            let key = number.map(work.context.key)
            if let key { try checkNoOther(has: "number_key", key, than: id, .numberTaken, in: work) }
            try check(id, in: work)
            try work.transaction.run(
                """
                INSERT INTO operators (id, sip_user, number_key, entry, company) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET sip_user = excluded.sip_user, number_key = excluded.number_key,
                    entry = excluded.entry
                """, id, sipUser, key, try work.context.encrypt(entry, row: row(id)), company)
        }
    }

    /// Templates by name; operators in no order.
    public func all<Entry: Decodable & Sendable>() async throws(StoreError) -> [Entry] {
        let order: SQL = kind == .templates ? "name" : "id"
        return try await storage.read { work in
            let rows = try work.transaction.rows(
                "SELECT id, entry FROM \(table) WHERE company = ? ORDER BY \(order)", company)
            return try Storage.opened(rows) { try work.context.open($0["entry"], row: row($0["id"])) }
        }
    }

    public func one<Entry: Decodable & Sendable>(_ id: String) async throws(StoreError) -> Entry? {
        try await storage.read { work in
            let encrypted: Data? = try work.transaction.value(
                "SELECT entry FROM \(table) WHERE company = ? AND id = ?", company, id)
            return try encrypted.map { try work.context.open($0, row: row(id)) }
        }
    }

    public func remove(_ id: String) async throws(StoreError) {
        try await storage.write { work in
            if try work.transaction.run("DELETE FROM \(table) WHERE company = ? AND id = ?", company, id) == 0 {
                throw StoreError(
                    .notFound, kind == .templates ? .noTemplateNamed : .noOperatorNamed, ["id": .text(id)])
            }
        }
    }
}
