public import Foundation
internal import Problems

/// Tools, MCP servers and secrets of companies: encrypted texts under names, whose meaning the room above knows.
public struct ToolRows: Sendable {
    public enum Kind: String, Sendable { case tools, servers = "mcp_servers", secrets = "tool_secrets" }

    /// Rows of one kind in a company.
    public static let limit = 200

    /// One of them.
    public struct Entry: Sendable, Equatable {
        public var name: String
        public var text: String
        /// Grows by one with each change.
        public var revision: Int
        public var createdAt: Date
        public var updatedAt: Date

        public init(name: String, text: String, revision: Int, createdAt: Date, updatedAt: Date) {
            self.name = name
            self.text = text
            self.revision = revision
            self.createdAt = createdAt
            self.updatedAt = updatedAt
        }
    }

    let storage: Storage
    let kind: Kind

    private var table: SQL {
        switch kind {
        case .tools: "tools"
        case .servers: "mcp_servers"
        case .secrets: "tool_secrets"
        }
    }

    private func row(_ company: CompanyID, _ name: String) -> String { "\(kind.rawValue)/\(company)/\(name)" }

    private func entry(_ row: Row, _ company: CompanyID, _ context: Context) throws -> Entry {
        let name: String = try row["name"]
        return Entry(
            name: name, text: try context.vault.open(try row["entry"], row: self.row(company, name)),
            revision: try row["revision"], createdAt: try row["created_at"], updatedAt: try row["updated_at"])
    }

    /// Companies that have any.
    public func companies() async throws(StoreError) -> [CompanyID] {
        try await storage.read { work in
            try work.transaction.rows("SELECT DISTINCT company FROM \(table) ORDER BY company").map {
                CompanyID(rawValue: try $0[0])
            }
        }
    }

    /// By name.
    public func all(_ company: CompanyID) async throws(StoreError) -> [Entry] {
        try await storage.read { work in
            try work.transaction.rows("SELECT * FROM \(table) WHERE company = ? ORDER BY name", company.rawValue).map {
                try entry($0, company, work.context)
            }
        }
    }

    public func one(_ company: CompanyID, _ name: String) async throws(StoreError) -> Entry? {
        try await storage.read { work in
            try work.transaction.row("SELECT * FROM \(table) WHERE company = ? AND name = ?", company.rawValue, name)
                .map { try entry($0, company, work.context) }
        }
    }

    /// Stores a text under a new name.
    /// - Throws: `StoreError.conflict`: the name is taken, or there are too many.
    public func create(_ company: CompanyID, _ name: String, _ text: String, at date: Date) async throws(StoreError)
        -> Entry
    {
        try await storage.write { work in
            let isTaken = try work.transaction.exists(
                "SELECT 1 FROM \(table) WHERE company = ? AND name = ?", company.rawValue, name)
            guard !isTaken else { throw StoreError(.conflict, taken, ["name": .text(name)]) }
            try check(company, in: work)
            try work.transaction.run(
                """
                INSERT INTO \(table) (company, name, revision, created_at, updated_at, entry) VALUES (?, ?, 1, ?, ?, ?)
                """, company.rawValue, name, date, date,
                try work.context.vault.encrypt(text, row: row(company, name)))
            return Entry(name: name, text: text, revision: 1, createdAt: date, updatedAt: date)
        }
    }

    /// Stores another text under a name that there is.
    /// - Parameter expected: the revision that is to be replaced; nil: whichever it is.
    /// - Throws: `StoreError.notFound`; `StoreError.conflict` with `toolChangedMeanwhile`.
    public func replace(_ company: CompanyID, _ name: String, _ text: String, expected: Int? = nil, at date: Date)
        async throws(StoreError) -> Entry
    {
        try await storage.write { work in
            let found = try work.transaction.row(
                "SELECT * FROM \(table) WHERE company = ? AND name = ?", company.rawValue, name)
            guard let found else { throw StoreError(.notFound, missing, ["name": .text(name)]) }
            var entry = try entry(found, company, work.context)
            guard expected == nil || expected == entry.revision else {
                throw StoreError(.conflict, .toolChangedMeanwhile)
            }
            guard entry.text != text else { return entry }
            entry.text = text
            entry.revision += 1
            entry.updatedAt = date
            try work.transaction.run(
                "UPDATE \(table) SET revision = ?, updated_at = ?, entry = ? WHERE company = ? AND name = ?",
                entry.revision, date, try work.context.vault.encrypt(text, row: row(company, name)), company.rawValue,
                name)
            return entry
        }
    }

    /// Stores a text under a name, whether it is there or not.
    public func set(_ company: CompanyID, _ name: String, _ text: String, at date: Date) async throws(StoreError) {
        try await storage.write { work in
            if try !work.transaction.exists(
                "SELECT 1 FROM \(table) WHERE company = ? AND name = ?", company.rawValue, name)
            {
                try check(company, in: work)
            }
            try work.transaction.run(
                """
                INSERT INTO \(table) (company, name, revision, created_at, updated_at, entry) VALUES (?, ?, 1, ?, ?, ?)
                ON CONFLICT (company, name) DO UPDATE SET revision = \(table).revision + 1,
                    updated_at = excluded.updated_at, entry = excluded.entry
                """, company.rawValue, name, date, date,
                try work.context.vault.encrypt(text, row: row(company, name)))
        }
    }

    /// - Throws: `StoreError.notFound`.
    public func remove(_ company: CompanyID, _ name: String) async throws(StoreError) {
        try await storage.write { work in
            let count = try work.transaction.run(
                "DELETE FROM \(table) WHERE company = ? AND name = ?", company.rawValue, name)
            guard count > 0 else { throw StoreError(.notFound, missing, ["name": .text(name)]) }
            // A secret that was taken away is not to be found in the files either.
            try Storage.noteErasure(work)
        }
        if kind == .secrets { try await storage.forgetErased() }
    }

    private func check(_ company: CompanyID, in work: Work) throws {
        let count = try work.transaction.count("SELECT COUNT(*) FROM \(table) WHERE company = ?", company.rawValue)
        guard count < Self.limit else { throw StoreError(.conflict, tooMany, ["limit": .number(Self.limit)]) }
    }

    private var taken: ProblemCode { kind == .servers ? .mcpServerNameTaken : .toolNameTaken }
    private var missing: ProblemCode {
        switch kind {
        case .tools: .noTool
        case .servers: .noMcpServer
        case .secrets: .noSecret
        }
    }
    private var tooMany: ProblemCode {
        switch kind {
        case .tools: .tooManyTools
        case .servers: .tooManyMcpServers
        case .secrets: .tooManySecrets
        }
    }
}
