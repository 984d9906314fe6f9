internal import Foundation
internal import GRDB

extension Migrations {
    /// Calls as they are from step 4 on: the record encrypted, numbers as keyed hashes, purposes found by words.
    static func encryptCalls(_ db: Database, _ vault: Vault, _ reading: Reading, _ numbers: NumberIndex) throws {
        try db.execute(
            sql: """
                CREATE TABLE new_calls (
                    outbound_id TEXT PRIMARY KEY NOT NULL,
                    position INTEGER NOT NULL UNIQUE,
                    state TEXT NOT NULL,
                    created_at REAL NOT NULL,
                    answered_at REAL,
                    completed_at REAL,
                    due_at REAL NOT NULL,
                    callee_key TEXT NOT NULL,
                    callee_tail TEXT,
                    caller_key TEXT NOT NULL,
                    purpose TEXT NOT NULL,
                    webhook BLOB,
                    record BLOB NOT NULL
                ) STRICT;
                CREATE TABLE call_counts (state TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
                CREATE VIRTUAL TABLE call_words USING fts5(tokens, tokenize = 'unicode61 remove_diacritics 2');
                """)
        let rows = try GRDB.Row.fetchCursor(db, sql: "SELECT * FROM calls ORDER BY position")
        while let row = try rows.next() {
            let id: String = row["outbound_id"], callee: String = row["callee_number"],
                caller: String = row["caller_number"]
            let purpose: String = row["purpose"], position: Int64 = row["position"]
            try db.execute(
                sql: "INSERT INTO new_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)",
                arguments: [
                    id, position, row["state"] as String, row["created_at"] as Double, row["answered_at"] as Double?,
                    row["completed_at"] as Double?, row["created_at"] as Double, numbers.hash(reading.number(callee)),
                    numbers.tail(callee), numbers.hash(reading.number(caller)), purpose,
                    try vault.encrypt(row["record"] as String, row: "calls/" + id),
                ])
            try db.execute(
                sql: "INSERT INTO call_words (rowid, tokens) VALUES (?, ?)",
                arguments: [position, reading.words(purpose).joined(separator: " ")])
        }
        try db.execute(
            sql: """
                DROP TABLE calls;
                ALTER TABLE new_calls RENAME TO calls;
                INSERT INTO call_counts SELECT state, COUNT(*) FROM calls GROUP BY state;
                CREATE INDEX calls_by_state ON calls(state, position);
                CREATE INDEX calls_by_time ON calls(created_at, position);
                CREATE INDEX calls_by_callee ON calls(callee_key, position);
                CREATE INDEX calls_by_tail ON calls(callee_tail, position);
                CREATE INDEX calls_by_caller ON calls(caller_key, position);
                CREATE TRIGGER call_counted AFTER INSERT ON calls BEGIN
                    INSERT INTO call_counts VALUES (new.state, 1) ON CONFLICT (state) DO UPDATE SET n = n + 1;
                END;
                CREATE TRIGGER call_moved AFTER UPDATE OF state ON calls WHEN old.state <> new.state BEGIN
                    UPDATE call_counts SET n = n - 1 WHERE state = old.state;
                    INSERT INTO call_counts VALUES (new.state, 1) ON CONFLICT (state) DO UPDATE SET n = n + 1;
                END;
                CREATE TRIGGER call_gone AFTER DELETE ON calls BEGIN
                    UPDATE call_counts SET n = n - 1 WHERE state = old.state;
                    DELETE FROM call_words WHERE rowid = old.position;
                END;
                """)
    }

    static func encryptTranscriptAndEvents(_ db: Database, _ vault: Vault) throws {
        try db.execute(
            sql: """
                CREATE TABLE new_transcript (
                    outbound_id TEXT NOT NULL REFERENCES calls(outbound_id) ON DELETE CASCADE,
                    position INTEGER NOT NULL,
                    entry BLOB NOT NULL,
                    PRIMARY KEY (outbound_id, position)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE new_events (
                    id INTEGER PRIMARY KEY AUTOINCREMENT,
                    name TEXT NOT NULL,
                    at REAL NOT NULL,
                    outbound_id TEXT NOT NULL,
                    payload BLOB NOT NULL
                ) STRICT;
                """)
        let entries = try GRDB.Row.fetchCursor(db, sql: "SELECT * FROM transcript")
        while let row = try entries.next() {
            let id: String = row["outbound_id"], position: Int = row["position"]
            try db.execute(
                sql: "INSERT INTO new_transcript VALUES (?, ?, ?)",
                arguments: [
                    id, position, try vault.encrypt(row["entry"] as String, row: "transcript/\(id)/\(position)"),
                ])
        }
        let events = try GRDB.Row.fetchCursor(db, sql: "SELECT * FROM events ORDER BY id")
        while let row = try events.next() {
            let call: String = row["outbound_id"], name: String = row["name"]
            try db.execute(
                sql: "INSERT INTO new_events VALUES (?, ?, ?, ?, ?)",
                arguments: [
                    row["id"] as Int64, name, row["at"] as Double, call,
                    try vault.encrypt(row["payload"] as String, row: "events/\(call)/\(name)"),
                ])
        }
        try db.execute(
            sql: """
                DROP TABLE transcript;
                ALTER TABLE new_transcript RENAME TO transcript;
                DROP TABLE events;
                ALTER TABLE new_events RENAME TO events;
                CREATE INDEX events_by_call ON events(outbound_id, id);
                """)
    }
}
