internal import Foundation
internal import Problems

/// The companies beside `default`, inside a transaction.
public struct CompanyRows {
    /// Companies of an installation, beside `default`.
    public static let limit = 1_000

    let transaction: any Transaction
    let context: Context

    private func row(_ slug: String) -> String { "companies/" + slug }

    /// By slug.
    public func all() throws -> [Company] {
        try Storage.opened(try transaction.rows("SELECT slug, entry FROM companies ORDER BY slug")) {
            try context.open($0["entry"], row: row($0["slug"]))
        }
    }

    public func company(_ slug: CompanyID) throws -> Company? {
        let encrypted: Data? = try transaction.value("SELECT entry FROM companies WHERE slug = ?", slug)
        return try encrypted.map { try context.open($0, row: row(slug.rawValue)) }
    }

    /// - Throws: `StoreError.conflict`: there is one with this slug, or there are too many.
    public func insert(_ company: Company) throws {
        guard try !transaction.exists("SELECT 1 FROM companies WHERE slug = ?", company.slug) else {
            throw StoreError(.conflict, .companySlugTaken, ["slug": .text(company.slug.rawValue)])
        }
        guard try transaction.count("SELECT COUNT(*) FROM companies") < Self.limit else {
            throw StoreError(.conflict, .tooManyCompanies, ["limit": .number(Self.limit)])
        }
        try transaction.run(
            "INSERT INTO companies (slug, created_at, entry) VALUES (?, ?, ?)", company.slug, company.createdAt,
            try context.encrypt(company, row: row(company.slug.rawValue)))
    }

    public func update(_ company: Company) throws {
        let changed = try transaction.run(
            "UPDATE companies SET entry = ? WHERE slug = ?",
            try context.encrypt(company, row: row(company.slug.rawValue)), company.slug)
        if changed == 0 { throw StoreError(.notFound, .noCompanyNamed, ["slug": .text(company.slug.rawValue)]) }
    }

    /// Tables with rows of a company, its calls' apart: another one goes on the list with its migration, or a test
    /// says so.
    static let tables: [SQL] = [
        "events", "deliveries", "templates", "operators", "knowledge", "do_not_call", "caller_numbers", "audit",
        "api_keys", "users", "sessions", "dials", "idempotency", "company_usage", "call_counts", "call_days",
        "agents", "agent_versions", "call_agents", "tools", "mcp_servers", "tool_secrets",
    ]

    /// Removes a company whose calls are erased already, with all that is its.
    /// - Throws: `StoreError.conflict`: it has calls.
    public func remove(_ slug: CompanyID) throws {
        let calls = try transaction.count("SELECT COUNT(*) FROM calls WHERE company = ?", slug)
        guard calls == 0 else { throw StoreError(.conflict, .companyHasLiveCalls, ["count": .number(calls)]) }
        for table in Self.tables { try transaction.run("DELETE FROM \(table) WHERE company = ?", slug) }
        try transaction.run("DELETE FROM companies WHERE slug = ?", slug)
        try Storage.noteErasure(Work(transaction: transaction, context: context))
    }
}
