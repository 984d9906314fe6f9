internal import GRDB

extension Migrations {
    /// What was known before belongs to the set `default`.
    static func addKnowledgeSets(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE knowledge ADD COLUMN set_name TEXT NOT NULL DEFAULT 'default';
                CREATE INDEX knowledge_by_set ON knowledge(company, set_name, created_at);
                """)
    }
}
