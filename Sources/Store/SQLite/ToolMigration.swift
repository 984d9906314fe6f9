internal import GRDB

extension Migrations {
    /// Tools, MCP servers and secrets of companies.
    static func addTools(_ db: Database) throws {
        for table in ["tools", "mcp_servers", "tool_secrets"] {
            try db.execute(
                sql: """
                    CREATE TABLE \(table) (
                        company TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL, created_at REAL NOT NULL,
                        updated_at REAL NOT NULL, entry BLOB NOT NULL, PRIMARY KEY (company, name)
                    ) STRICT, WITHOUT ROWID;
                    """)
        }
    }
}
