public import Foundation
internal import GRDB
public import Realtime

/// A purpose and its questions, saved under a name.
public struct CallTemplate: Sendable, Equatable, Codable {
    /// `tp-` and 8 hex digits.
    public var id: String
    public var name: String
    public var purpose: String
    public var questions: [Question]
    public var language: String?
    public var callerDisplayName: String
    /// Said first to who calls a number of the template; nil: that of all incoming calls.
    public var greeting: String?
    public var createdAt: Date
    public var updatedAt: Date
    public init(
        id: String = "tp-" + Call.hex(.random(in: .min ... .max)), name: String, purpose: String, questions: [Question], language: String? = nil,
        callerDisplayName: String = "", createdAt: Date, updatedAt: Date
    ) {
        self.id = id
        self.name = name
        self.purpose = purpose
        self.questions = questions
        self.language = language
        self.callerDisplayName = callerDisplayName
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

extension CallStore {
    public static let templateLimit = 1_000

    /// Stores a template under its id. Its name must be its own.
    public func save(_ template: CallTemplate) async throws(StoreError) {
        try await change { [vault] db in
            let other = try String.fetchOne(db, sql: "SELECT id FROM templates WHERE name = ?", arguments: [template.name])
            if let other, other != template.id { throw StoreError(.conflict, "another template, \(other), has this name") }
            guard try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM templates WHERE id <> ?", arguments: [template.id]) ?? 0 < Self.templateLimit else {
                throw StoreError(.conflict, "there are \(Self.templateLimit) templates already")
            }
            let text = String(decoding: try JSONEncoder().encode(template), as: UTF8.self)
            try db.run(
                "INSERT OR REPLACE INTO templates (id, name, created_at, updated_at, entry) VALUES (?, ?, ?, ?, ?)",
                arguments: [
                    template.id, template.name, template.createdAt.timeIntervalSince1970, template.updatedAt.timeIntervalSince1970,
                    try vault.seal(text, row: "templates/" + template.id),
                ])
        }
    }

    public func templates() async throws(StoreError) -> [CallTemplate] {
        try await look { [vault] db in
            try Self.opened(try Row.fetchAll(db, sql: "SELECT id, entry FROM templates ORDER BY name")) { try Self.template($0, vault) }
        }
    }

    public func template(_ id: String) async throws(StoreError) -> CallTemplate? {
        try await look { [vault] db in
            try Row.fetchOne(db, sql: "SELECT id, entry FROM templates WHERE id = ?", arguments: [id]).map { try Self.template($0, vault) }
        }
    }

    private static func template(_ row: Row, _ vault: Vault) throws -> CallTemplate {
        let text = try vault.open(row["entry"], row: "templates/" + (row["id"] as String))
        return try JSONDecoder().decode(CallTemplate.self, from: Data(text.utf8))
    }

    public func removeTemplate(_ id: String) async throws(StoreError) {
        try await change { db in
            try db.run("DELETE FROM templates WHERE id = ?", arguments: [id])
            if db.changesCount == 0 { throw StoreError(.notFound, "there is no template \(id)") }
        }
    }
}
