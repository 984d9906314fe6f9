public import Foundation
internal import Problems

/// An agent without its document.
public struct StoredAgent: Sendable, Equatable {
    public var slug: String
    /// These three are of the live version.
    public var name: String
    public var mode: String?
    public var language: String?
    /// The version that calls begin with.
    public var live: Int
    public var latest: Int
    /// Grows by one a change: of two states of an agent the later one is known by it.
    public var revision = 1
    public var createdAt: Date
    public var updatedAt: Date
    public var archivedAt: Date?
    /// When the live version became so, by whom, and why.
    public var publishedAt: Date
    public var publishedBy: String
    public var publishNote: String

    public init(
        slug: String, name: String, mode: String?, language: String?, live: Int = 1, latest: Int = 1, createdAt: Date,
        publishedBy: String, publishNote: String
    ) {
        self.slug = slug
        self.name = name
        self.mode = mode
        self.language = language
        self.live = live
        self.latest = latest
        self.createdAt = createdAt
        updatedAt = createdAt
        publishedAt = createdAt
        self.publishedBy = publishedBy
        self.publishNote = publishNote
    }

    fileprivate init(_ row: Row) throws {
        self.init(
            slug: try row["slug"], name: try row["name"], mode: try row["mode"], language: try row["language"],
            live: try row["live"], latest: try row["latest"], createdAt: try row["created_at"],
            publishedBy: try row["published_by"], publishNote: try row["publish_note"])
        revision = try row["revision"]
        updatedAt = try row["updated_at"]
        archivedAt = try row["archived_at"]
        publishedAt = try row["published_at"]
    }
}

/// A version of an agent: it never changes.
public struct StoredAgentVersion: Sendable, Equatable {
    public var version: Int
    public var madeAt: Date
    /// The name of a key or user.
    public var madeBy: String
    public var note: String
    /// JSON; empty in lists.
    public var document: String
    public init(version: Int, madeAt: Date, madeBy: String, note: String, document: String) {
        self.version = version
        self.madeAt = madeAt
        self.madeBy = madeBy
        self.note = note
        self.document = document
    }
}

/// Agents and their versions, inside a transaction.
public struct AgentRows {
    /// Agents of a company, and versions of an agent.
    public static let agentLimit = 200
    public static let versionLimit = 1_000

    let transaction: any Transaction
    let context: Context

    // MARK: Reading

    /// In the order of their slugs, without those that are archived.
    public func all(_ company: CompanyID) throws -> [StoredAgent] {
        try transaction.rows(
            "SELECT * FROM agents WHERE company = ? AND archived_at IS NULL ORDER BY slug", company.rawValue
        ).map { try StoredAgent($0) }
    }

    /// Of every company, with the documents of their live versions.
    public func live() throws -> [(company: CompanyID, agent: StoredAgent, document: String)] {
        try transaction.rows(
            """
            SELECT a.*, v.document FROM agents a
            JOIN agent_versions v ON v.company = a.company AND v.slug = a.slug AND v.version = a.live
            WHERE a.archived_at IS NULL
            """
        ).map { row in
            let company = CompanyID(rawValue: try row["company"]), agent = try StoredAgent(row)
            let document = try context.vault.open(row["document"], row: Self.row(company, agent.slug, agent.live))
            return (company, agent, document)
        }
    }

    public func agent(_ company: CompanyID, _ slug: String) throws -> StoredAgent? {
        try transaction.row("SELECT * FROM agents WHERE company = ? AND slug = ?", company.rawValue, slug).map {
            try StoredAgent($0)
        }
    }

    public func version(_ company: CompanyID, _ slug: String, _ version: Int) throws -> StoredAgentVersion? {
        try transaction.row(
            "SELECT * FROM agent_versions WHERE company = ? AND slug = ? AND version = ?", company.rawValue, slug,
            version
        ).map { row in
            StoredAgentVersion(
                version: try row["version"], madeAt: try row["made_at"], madeBy: try row["made_by"],
                note: try row["note"],
                document: try context.vault.open(row["document"], row: Self.row(company, slug, version)))
        }
    }

    /// Newest first, without documents.
    public func versions(_ company: CompanyID, _ slug: String, before: Int, limit: Int) throws -> [StoredAgentVersion] {
        try transaction.rows(
            """
            SELECT version, made_at, made_by, note FROM agent_versions
            WHERE company = ? AND slug = ? AND version < ? ORDER BY version DESC LIMIT ?
            """, company.rawValue, slug, before, limit
        ).map { row in
            StoredAgentVersion(
                version: try row["version"], madeAt: try row["made_at"], madeBy: try row["made_by"],
                note: try row["note"], document: "")
        }
    }

    /// Calls that wait to be dialled, by the slug of their agent; those of the configuration by `usual`.
    public func queuedCalls(_ company: CompanyID, usual: String) throws -> [String: Int] {
        let rows = try transaction.rows(
            """
            SELECT COALESCE(a.slug, ?) AS slug, COUNT(*) AS count FROM calls c
            LEFT JOIN call_agents a ON a.call_id = c.id WHERE c.state = ? AND COALESCE(a.company, ?) = ? GROUP BY 1
            """, usual, CallState.queued, company.rawValue, company.rawValue)
        return try rows.reduce(into: [:]) { $0[try $1["slug"]] = try $1["count"] }
    }

    // MARK: Changing

    /// - Throws: `StoreError.conflict`: the slug is or was taken, or there are too many.
    public func insert(_ company: CompanyID, _ agent: StoredAgent, _ version: StoredAgentVersion) throws {
        guard try self.agent(company, agent.slug) == nil else { throw StoreError(.conflict, .slugTaken) }
        let count = try transaction.count(
            "SELECT COUNT(*) FROM agents WHERE company = ? AND archived_at IS NULL", company.rawValue)
        guard count < Self.agentLimit else {
            throw StoreError(.conflict, .tooManyAgents, ["limit": .number(Self.agentLimit)])
        }
        try transaction.run(
            """
            INSERT INTO agents (company, slug, name, mode, language, live, latest, revision, created_at, updated_at,
                published_at, published_by, publish_note)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, company.rawValue, agent.slug, agent.name, agent.mode, agent.language, agent.live, agent.latest,
            agent.revision, agent.createdAt, agent.updatedAt, agent.publishedAt, agent.publishedBy, agent.publishNote)
        try append(company, agent.slug, version)
    }

    /// Stores a version behind the latest one, and the agent as it is with it.
    public func insert(_ company: CompanyID, _ version: StoredAgentVersion, of agent: StoredAgent) throws {
        guard version.version <= Self.versionLimit else {
            throw StoreError(.conflict, .tooManyVersions, ["limit": .number(Self.versionLimit)])
        }
        try append(company, agent.slug, version)
        try update(company, agent)
    }

    public func update(_ company: CompanyID, _ agent: StoredAgent) throws {
        try transaction.run(
            """
            UPDATE agents SET name = ?, mode = ?, language = ?, live = ?, latest = ?, revision = ?, updated_at = ?,
                archived_at = ?, published_at = ?, published_by = ?, publish_note = ?
            WHERE company = ? AND slug = ?
            """, agent.name, agent.mode, agent.language, agent.live, agent.latest, agent.revision, agent.updatedAt,
            agent.archivedAt, agent.publishedAt, agent.publishedBy, agent.publishNote, company.rawValue, agent.slug)
    }

    private func append(_ company: CompanyID, _ slug: String, _ version: StoredAgentVersion) throws {
        try transaction.run(
            """
            INSERT INTO agent_versions (company, slug, version, made_at, made_by, note, document)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """, company.rawValue, slug, version.version, version.madeAt, version.madeBy, version.note,
            try context.vault.encrypt(version.document, row: Self.row(company, slug, version.version)))
    }

    /// Notes which version a call begins with.
    public func note(_ company: CompanyID, call: String, slug: String, version: Int) throws {
        try transaction.run(
            """
            INSERT INTO call_agents (company, call_id, slug, version) VALUES (?, ?, ?, ?)
            ON CONFLICT (company, call_id) DO UPDATE SET slug = excluded.slug, version = excluded.version
            """, company.rawValue, call, slug, version)
    }

    static func row(_ company: CompanyID, _ slug: String, _ version: Int) -> String {
        "agents/\(company)/\(slug)/\(version)"
    }
}
