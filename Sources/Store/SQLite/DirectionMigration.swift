internal import GRDB

extension Migrations {
    /// Calls know their direction, and numbers are ours or the other party's. Records keep their JSON: `StoredCall`.
    ///
    /// Columns are renamed and added in place, so that a database of a million calls is not written anew.
    static func nameDirections(_ db: Database) throws {
        // By the primary key's index: "." follows "-".
        func isInbound(_ id: String) -> String { "\(id) >= 'in-' AND \(id) < 'in.'" }
        try db.execute(
            sql: """
                DROP TRIGGER call_counted;
                DROP TRIGGER call_moved;
                DROP TRIGGER call_gone;
                DROP TRIGGER call_day;
                DROP TRIGGER call_day_moved;
                DROP INDEX calls_by_direction;
                DROP INDEX calls_by_state;
                ALTER TABLE calls DROP COLUMN direction;
                ALTER TABLE calls RENAME COLUMN outbound_id TO id;
                ALTER TABLE calls RENAME COLUMN callee_key TO remote_key;
                ALTER TABLE calls RENAME COLUMN callee_tail TO remote_tail;
                ALTER TABLE calls RENAME COLUMN caller_key TO local_key;
                ALTER TABLE calls ADD COLUMN direction TEXT NOT NULL DEFAULT 'outbound';
                UPDATE calls SET direction = 'inbound' WHERE \(isInbound("id"));
                CREATE INDEX calls_by_direction ON calls(direction, position);
                CREATE INDEX calls_by_state ON calls(direction, state, position);

                ALTER TABLE dials RENAME COLUMN outbound_id TO call_id;
                ALTER TABLE dials RENAME COLUMN callee_key TO remote_key;
                ALTER TABLE dials RENAME COLUMN caller_key TO local_key;
                ALTER TABLE transcript RENAME COLUMN outbound_id TO call_id;
                ALTER TABLE deliveries RENAME COLUMN outbound_id TO call_id;
                ALTER TABLE ended_calls RENAME COLUMN outbound_id TO call_id;
                ALTER TABLE sip_traces RENAME COLUMN outbound_id TO call_id;
                ALTER TABLE events RENAME COLUMN outbound_id TO call_id;
                ALTER TABLE events ADD COLUMN direction TEXT NOT NULL DEFAULT 'outbound';
                UPDATE events SET direction = 'inbound' WHERE \(isInbound("call_id"));

                UPDATE call_counts SET direction = CASE direction WHEN 'in' THEN 'inbound' ELSE 'outbound' END;
                UPDATE call_days SET direction = CASE direction WHEN 'in' THEN 'inbound' ELSE 'outbound' END;
                CREATE TRIGGER call_counted AFTER INSERT ON calls BEGIN
                    INSERT INTO call_counts VALUES (new.direction, new.state, 1)
                        ON CONFLICT (direction, state) DO UPDATE SET n = n + 1;
                END;
                CREATE TRIGGER call_moved AFTER UPDATE OF state ON calls WHEN old.state <> new.state BEGIN
                    UPDATE call_counts SET n = n - 1 WHERE direction = old.direction AND state = old.state;
                    INSERT INTO call_counts VALUES (new.direction, new.state, 1)
                        ON CONFLICT (direction, state) DO UPDATE SET n = n + 1;
                END;
                CREATE TRIGGER call_gone AFTER DELETE ON calls BEGIN
                    UPDATE call_counts SET n = n - 1 WHERE direction = old.direction AND state = old.state;
                    UPDATE call_days SET total = total - 1, completed = completed - (old.state = 'completed'),
                        ended = ended - (old.completed_at IS NOT NULL AND old.answered_at IS NOT NULL),
                        seconds = seconds - COALESCE(old.completed_at - old.answered_at, 0)
                        WHERE direction = old.direction AND day = date(old.created_at, 'unixepoch');
                    DELETE FROM call_words WHERE rowid = old.position;
                END;
                CREATE TRIGGER call_day AFTER INSERT ON calls BEGIN
                    INSERT INTO call_days VALUES (new.direction, date(new.created_at, 'unixepoch'), 1, 0, 0, 0.0)
                        ON CONFLICT (direction, day) DO UPDATE SET total = total + 1;
                END;
                CREATE TRIGGER call_day_moved AFTER UPDATE OF state, answered_at, completed_at ON calls
                    WHEN old.state <> new.state OR old.answered_at IS NOT new.answered_at
                        OR old.completed_at IS NOT new.completed_at
                BEGIN
                    UPDATE call_days SET completed = completed + (new.state = 'completed') - (old.state = 'completed'),
                        ended = ended + (new.completed_at IS NOT NULL AND new.answered_at IS NOT NULL)
                            - (old.completed_at IS NOT NULL AND old.answered_at IS NOT NULL),
                        seconds = seconds + COALESCE(new.completed_at - new.answered_at, 0)
                            - COALESCE(old.completed_at - old.answered_at, 0)
                        WHERE direction = new.direction AND day = date(new.created_at, 'unixepoch');
                END;
                """)
    }
}
