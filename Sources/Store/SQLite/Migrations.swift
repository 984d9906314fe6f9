internal import Crypto
internal import Foundation
internal import GRDB

/// The schema, one step after the other. A step that has shipped is never changed.
enum Migrations {
    static func all(_ vault: Vault, _ reading: Reading) -> DatabaseMigrator {
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
        migrator.registerMigration("4 sealed rows, policy, outbox") { db in
            try db.execute(sql: "CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL) STRICT")
            let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
            try db.execute(
                sql: "INSERT INTO meta (name, value) VALUES (?, ?)",
                arguments: [
                    Storage.indexSecretName,
                    try vault.encrypt(secret.base64EncodedString(), row: "meta/" + Storage.indexSecretName),
                ])
            try encryptCalls(db, vault, reading, NumberIndex(secret: Array(secret)))
            try encryptTranscriptAndEvents(db, vault)
            try db.execute(
                sql: """
                    CREATE TABLE dials (
                        outbound_id TEXT NOT NULL,
                        at REAL NOT NULL,
                        callee_key TEXT NOT NULL,
                        caller_key TEXT NOT NULL
                    ) STRICT;
                    CREATE INDEX dials_by_callee ON dials(callee_key, at);
                    CREATE INDEX dials_by_caller ON dials(caller_key, at);
                    CREATE INDEX dials_by_time ON dials(at);
                    CREATE TABLE idempotency (
                        key TEXT PRIMARY KEY NOT NULL,
                        request TEXT NOT NULL,
                        answer TEXT NOT NULL,
                        at REAL NOT NULL
                    ) STRICT;
                    CREATE INDEX idempotency_by_time ON idempotency(at);
                    CREATE TABLE do_not_call (
                        key TEXT PRIMARY KEY NOT NULL,
                        position INTEGER NOT NULL UNIQUE,
                        entry BLOB NOT NULL
                    ) STRICT;
                    CREATE TABLE caller_numbers (
                        key TEXT PRIMARY KEY NOT NULL,
                        position INTEGER NOT NULL UNIQUE,
                        entry BLOB NOT NULL
                    ) STRICT;
                    CREATE TABLE templates (
                        id TEXT PRIMARY KEY NOT NULL,
                        name TEXT NOT NULL UNIQUE,
                        created_at REAL NOT NULL,
                        updated_at REAL NOT NULL,
                        entry BLOB NOT NULL
                    ) STRICT;
                    CREATE TABLE audit (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        at REAL NOT NULL,
                        actor TEXT NOT NULL,
                        action TEXT NOT NULL,
                        target TEXT NOT NULL,
                        detail TEXT NOT NULL
                    ) STRICT;
                    CREATE INDEX audit_by_action ON audit(action, id);
                    CREATE TABLE deliveries (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        stream TEXT NOT NULL,
                        outbound_id TEXT NOT NULL,
                        event TEXT NOT NULL,
                        state TEXT NOT NULL,
                        attempts INTEGER NOT NULL DEFAULT 0,
                        created_at REAL NOT NULL,
                        next_at REAL NOT NULL,
                        delivered_at REAL,
                        last_status INTEGER,
                        last_error TEXT,
                        message BLOB NOT NULL
                    ) STRICT;
                    CREATE INDEX deliveries_by_stream ON deliveries(state, stream, id);
                    CREATE INDEX deliveries_by_call ON deliveries(outbound_id, id);
                    CREATE TABLE new_keys (
                        id TEXT PRIMARY KEY NOT NULL,
                        hash TEXT NOT NULL UNIQUE,
                        name TEXT NOT NULL,
                        role TEXT NOT NULL,
                        created_at REAL NOT NULL,
                        created_by TEXT NOT NULL,
                        expires_at REAL,
                        revoked_at REAL,
                        last_used_at REAL
                    ) STRICT;
                    INSERT INTO new_keys (id, hash, name, role, created_at, created_by)
                        SELECT 'key-' || substr(hash, 1, 8), hash, name, role, created_at, 'first start' FROM api_keys;
                    DROP TABLE api_keys;
                    ALTER TABLE new_keys RENAME TO api_keys;
                    """)
        }
        migrator.registerMigration("5 users") { db in
            try db.execute(
                sql: """
                    CREATE TABLE users (
                        name TEXT PRIMARY KEY NOT NULL,
                        role TEXT NOT NULL,
                        password TEXT NOT NULL,
                        created_at REAL NOT NULL,
                        created_by TEXT NOT NULL
                    ) STRICT;
                    """)
        }
        migrator.registerMigration("6 ended calls, priorities, beginnings of words") { db in
            try db.execute(
                sql: """
                    CREATE TABLE ended_calls (
                        outbound_id TEXT PRIMARY KEY NOT NULL REFERENCES calls(outbound_id) ON DELETE CASCADE
                    ) STRICT;
                    ALTER TABLE calls ADD COLUMN priority INTEGER NOT NULL DEFAULT 5;
                    CREATE VIRTUAL TABLE new_words USING fts5(
                        tokens, prefix = '2 3 4 5', tokenize = 'unicode61 remove_diacritics 2'
                    );
                    INSERT INTO new_words (rowid, tokens) SELECT rowid, tokens FROM call_words ORDER BY rowid;
                    DROP TRIGGER call_gone;
                    DROP TABLE call_words;
                    ALTER TABLE new_words RENAME TO call_words;
                    CREATE TRIGGER call_gone AFTER DELETE ON calls BEGIN
                        UPDATE call_counts SET n = n - 1 WHERE state = old.state;
                        DELETE FROM call_words WHERE rowid = old.position;
                    END;
                    """)
            for row in try GRDB.Row.fetchAll(db, sql: "SELECT outbound_id, record FROM calls WHERE state = 'queued'") {
                let id: String = row["outbound_id"]
                try db.execute(
                    sql: "UPDATE calls SET priority = ? WHERE outbound_id = ?",
                    arguments: [try priority(row, id, vault), id])
            }
        }
        migrator.registerMigration("7 incoming calls") { db in
            try db.execute(
                sql: """
                    ALTER TABLE calls ADD COLUMN direction TEXT GENERATED ALWAYS AS (substr(outbound_id, 1, 2)) VIRTUAL;
                    CREATE INDEX calls_by_direction ON calls(direction, position);
                    DROP INDEX calls_by_state;
                    CREATE INDEX calls_by_state ON calls(direction, state, position);
                    CREATE INDEX calls_open ON calls(state, position);
                    DROP TRIGGER call_counted;
                    DROP TRIGGER call_moved;
                    DROP TRIGGER call_gone;
                    DROP TABLE call_counts;
                    CREATE TABLE call_counts (
                        direction TEXT NOT NULL, state TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (direction, state)
                    ) STRICT, WITHOUT ROWID;
                    INSERT INTO call_counts SELECT direction, state, COUNT(*) FROM calls GROUP BY direction, state;
                    CREATE TRIGGER call_counted AFTER INSERT ON calls BEGIN
                        INSERT INTO call_counts VALUES (substr(new.outbound_id, 1, 2), new.state, 1)
                            ON CONFLICT (direction, state) DO UPDATE SET n = n + 1;
                    END;
                    CREATE TRIGGER call_moved AFTER UPDATE OF state ON calls WHEN old.state <> new.state BEGIN
                        UPDATE call_counts SET n = n - 1
                            WHERE direction = substr(old.outbound_id, 1, 2) AND state = old.state;
                        INSERT INTO call_counts VALUES (substr(new.outbound_id, 1, 2), new.state, 1)
                            ON CONFLICT (direction, state) DO UPDATE SET n = n + 1;
                    END;
                    CREATE TRIGGER call_gone AFTER DELETE ON calls BEGIN
                        UPDATE call_counts SET n = n - 1
                            WHERE direction = substr(old.outbound_id, 1, 2) AND state = old.state;
                        UPDATE call_days SET total = total - 1, completed = completed - (old.state = 'completed'),
                            ended = ended - (old.completed_at IS NOT NULL AND old.answered_at IS NOT NULL),
                            seconds = seconds - COALESCE(old.completed_at - old.answered_at, 0)
                            WHERE direction = substr(old.outbound_id, 1, 2) AND day = date(old.created_at, 'unixepoch');
                        DELETE FROM call_words WHERE rowid = old.position;
                    END;
                    CREATE TABLE call_days (
                        direction TEXT NOT NULL, day TEXT NOT NULL, total INTEGER NOT NULL, completed INTEGER NOT NULL,
                        ended INTEGER NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (direction, day)
                    ) STRICT, WITHOUT ROWID;
                    INSERT INTO call_days SELECT direction, date(created_at, 'unixepoch') AS day, COUNT(*),
                        SUM(state = 'completed'), SUM(completed_at IS NOT NULL AND answered_at IS NOT NULL),
                        SUM(COALESCE(completed_at - answered_at, 0.0))
                        FROM calls GROUP BY direction, day;
                    CREATE TRIGGER call_day AFTER INSERT ON calls BEGIN
                        INSERT INTO call_days
                            VALUES (substr(new.outbound_id, 1, 2), date(new.created_at, 'unixepoch'), 1, 0, 0, 0.0)
                            ON CONFLICT (direction, day) DO UPDATE SET total = total + 1;
                    END;
                    CREATE TRIGGER call_day_moved AFTER UPDATE OF state, answered_at, completed_at ON calls
                        WHEN old.state <> new.state OR old.answered_at IS NOT new.answered_at
                            OR old.completed_at IS NOT new.completed_at
                    BEGIN
                        UPDATE call_days SET
                            completed = completed + (new.state = 'completed') - (old.state = 'completed'),
                            ended = ended + (new.completed_at IS NOT NULL AND new.answered_at IS NOT NULL)
                                - (old.completed_at IS NOT NULL AND old.answered_at IS NOT NULL),
                            seconds = seconds + COALESCE(new.completed_at - new.answered_at, 0)
                                - COALESCE(old.completed_at - old.answered_at, 0)
                            WHERE direction = substr(new.outbound_id, 1, 2) AND day = date(new.created_at, 'unixepoch');
                    END;
                    """)
        }
        migrator.registerMigration("8 operators") { db in
            try db.execute(
                sql: """
                    CREATE TABLE sip_traces (
                        outbound_id TEXT PRIMARY KEY REFERENCES calls(outbound_id) ON DELETE CASCADE,
                        entry BLOB NOT NULL
                    ) STRICT;
                    CREATE TABLE operators (
                        id TEXT PRIMARY KEY, sip_user TEXT NOT NULL UNIQUE, number_key TEXT UNIQUE, entry BLOB NOT NULL
                    ) STRICT;
                    """)
        }
        migrator.registerMigration("9 sessions") { db in
            try db.execute(
                sql: """
                    CREATE TABLE sessions (
                        hash TEXT PRIMARY KEY, name TEXT NOT NULL, key_id TEXT NOT NULL, role TEXT NOT NULL,
                        expires_at REAL NOT NULL
                    ) STRICT, WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("10 numbers of sip addresses") { db in try rekeyDoNotCall(db, vault, reading) }
        migrator.registerMigration("11 direction, local and remote numbers") { db in try nameDirections(db) }
        migrator.registerMigration("12 carrier and dialect") { db in
            try db.execute(
                sql: """
                    ALTER TABLE calls ADD COLUMN carrier TEXT;
                    ALTER TABLE calls ADD COLUMN dialect TEXT;
                    CREATE INDEX calls_by_carrier ON calls(direction, carrier, position) WHERE carrier IS NOT NULL;
                    CREATE INDEX calls_by_dialect ON calls(direction, dialect, position) WHERE dialect IS NOT NULL;
                    """)
        }
        migrator.registerMigration("13 events and deliveries bound to their ids") { db in try bindToIDs(db, vault) }
        migrator.registerMigration("15 agents") { db in try makeAgents(db) }
        return migrator
    }

    /// Of a call's record, whose names are the room's above; only this one is read here.
    private static func priority(_ row: GRDB.Row, _ id: String, _ vault: Vault) throws -> Int {
        struct Priority: Decodable { var priority: Int }
        let json = try vault.open(row["record"], row: "calls/" + id)
        return try JSONDecoder().decode(Priority.self, from: Data(json.utf8)).priority
    }
}
