internal import GRDB

/// The schema, one step after the other. A step that has shipped is never changed.
enum Migrations {
    static var all: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 calls") { db in
            try db.execute(
                sql: """
                    CREATE TABLE calls (
                        outbound_id TEXT PRIMARY KEY NOT NULL,
                        position INTEGER NOT NULL UNIQUE,
                        state TEXT NOT NULL,
                        priority INTEGER NOT NULL,
                        created_at REAL NOT NULL,
                        answered_at REAL,
                        completed_at REAL,
                        callee_number TEXT NOT NULL,
                        caller_number TEXT NOT NULL,
                        purpose TEXT NOT NULL,
                        record TEXT NOT NULL
                    ) STRICT;
                    CREATE INDEX calls_by_state ON calls(state, position);
                    CREATE INDEX calls_by_time ON calls(created_at);
                    CREATE TABLE transcript (
                        outbound_id TEXT NOT NULL REFERENCES calls(outbound_id) ON DELETE CASCADE,
                        position INTEGER NOT NULL,
                        entry TEXT NOT NULL,
                        PRIMARY KEY (outbound_id, position)
                    ) STRICT, WITHOUT ROWID;
                    CREATE TABLE events (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        name TEXT NOT NULL,
                        at REAL NOT NULL,
                        outbound_id TEXT NOT NULL,
                        payload TEXT NOT NULL
                    ) STRICT;
                    CREATE INDEX events_by_call ON events(outbound_id, id);
                    """)
        }
        migrator.registerMigration("2 keys") { db in
            try db.execute(
                sql: """
                    CREATE TABLE api_keys (
                        hash TEXT PRIMARY KEY NOT NULL,
                        name TEXT NOT NULL,
                        role TEXT NOT NULL,
                        created_at REAL NOT NULL
                    ) STRICT;
                    """)
        }
        migrator.registerMigration("3 knowledge") { db in
            try db.execute(
                sql: """
                    CREATE TABLE knowledge (
                        id TEXT PRIMARY KEY NOT NULL,
                        kind TEXT NOT NULL,
                        title TEXT NOT NULL,
                        answer TEXT,
                        created_at REAL NOT NULL
                    ) STRICT;
                    CREATE TABLE knowledge_chunks (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        knowledge_id TEXT NOT NULL REFERENCES knowledge(id) ON DELETE CASCADE,
                        position INTEGER NOT NULL,
                        text TEXT NOT NULL,
                        vector BLOB
                    ) STRICT;
                    CREATE INDEX knowledge_chunks_by_item ON knowledge_chunks(knowledge_id);
                    CREATE VIRTUAL TABLE knowledge_index USING fts5(tokens, tokenize = 'unicode61 remove_diacritics 2');
                    CREATE TRIGGER knowledge_chunk_gone AFTER DELETE ON knowledge_chunks BEGIN
                        DELETE FROM knowledge_index WHERE rowid = old.id;
                    END;
                    """)
        }
        return migrator
    }
}
