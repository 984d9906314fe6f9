internal import GRDB

extension Migrations {
    /// Agents, their versions, and which version a call began with.
    static func makeAgents(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE agents (
                    company TEXT NOT NULL, slug TEXT NOT NULL, name TEXT NOT NULL, mode TEXT, language TEXT,
                    live INTEGER NOT NULL, latest INTEGER NOT NULL, revision INTEGER NOT NULL,
                    created_at REAL NOT NULL, updated_at REAL NOT NULL, archived_at REAL,
                    published_at REAL NOT NULL, published_by TEXT NOT NULL, publish_note TEXT NOT NULL,
                    PRIMARY KEY (company, slug)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE agent_versions (
                    company TEXT NOT NULL, slug TEXT NOT NULL, version INTEGER NOT NULL, made_at REAL NOT NULL,
                    made_by TEXT NOT NULL, note TEXT NOT NULL, document BLOB NOT NULL,
                    PRIMARY KEY (company, slug, version),
                    FOREIGN KEY (company, slug) REFERENCES agents(company, slug) ON DELETE CASCADE
                ) STRICT;
                CREATE TABLE call_agents (
                    company TEXT NOT NULL, call_id TEXT NOT NULL REFERENCES calls(id) ON DELETE CASCADE,
                    slug TEXT NOT NULL, version INTEGER NOT NULL,
                    PRIMARY KEY (company, call_id)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX call_agents_by_slug ON call_agents(company, slug);
                CREATE INDEX call_agents_by_call ON call_agents(call_id);
                """)
    }
}
