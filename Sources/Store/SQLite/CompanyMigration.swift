internal import GRDB

extension Migrations {
    /// Every row says whose it is. What was there before is the company `default`'s.
    ///
    /// Transcripts, SIP traces, ended calls and pieces of knowledge go with the row that they belong to, which says it.
    /// Columns are added in place, so that a database of a million calls is not written anew; only small tables with a
    /// key that is no longer unique by itself are. It is one transaction: a crash leaves the schema of before.
    static func nameCompanies(_ db: Database) throws {
        try db.execute(sql: columns + indexes + counters + rebuilt + companies)
    }

    private static let columns = [
        "calls", "events", "deliveries", "caller_numbers", "operators", "knowledge", "audit", "api_keys", "users",
        "sessions", "dials", "idempotency",
    ].map { "ALTER TABLE \($0) ADD COLUMN company TEXT NOT NULL DEFAULT 'default';\n" }.joined()

    private static let indexes = """
        DROP INDEX calls_by_direction;
        DROP INDEX calls_by_state;
        DROP INDEX calls_by_carrier;
        DROP INDEX calls_by_dialect;
        DROP INDEX calls_by_time;
        DROP INDEX calls_by_callee;
        DROP INDEX calls_by_tail;
        DROP INDEX calls_by_caller;
        CREATE INDEX calls_by_direction ON calls(company, direction, position);
        CREATE INDEX calls_by_state ON calls(company, direction, state, position);
        CREATE INDEX calls_by_carrier ON calls(company, direction, carrier, position) WHERE carrier IS NOT NULL;
        CREATE INDEX calls_by_dialect ON calls(company, direction, dialect, position) WHERE dialect IS NOT NULL;
        CREATE INDEX calls_by_time ON calls(company, created_at, position);
        CREATE INDEX calls_by_callee ON calls(company, remote_key, position);
        CREATE INDEX calls_by_tail ON calls(company, remote_tail, position);
        CREATE INDEX calls_by_caller ON calls(company, local_key, position);
        CREATE INDEX events_by_company ON events(company, id);
        CREATE INDEX deliveries_by_company ON deliveries(company, id);
        CREATE INDEX deliveries_by_state ON deliveries(company, state, id);
        DROP INDEX audit_by_action;
        CREATE INDEX audit_by_action ON audit(company, action, id);
        CREATE INDEX audit_by_company ON audit(company, id);
        CREATE INDEX numbers_by_company ON caller_numbers(company, position);
        CREATE INDEX operators_by_company ON operators(company, id);
        CREATE INDEX knowledge_by_company ON knowledge(company, created_at);
        CREATE INDEX keys_by_company ON api_keys(company, created_at);
        DROP INDEX dials_by_callee;
        DROP INDEX dials_by_caller;
        CREATE INDEX dials_by_callee ON dials(company, remote_key, at);
        CREATE INDEX dials_by_caller ON dials(company, local_key, at);

        """

    private static let counters = """
        DROP TRIGGER call_counted;
        DROP TRIGGER call_moved;
        DROP TRIGGER call_gone;
        DROP TRIGGER call_day;
        DROP TRIGGER call_day_moved;
        CREATE TABLE new_counts (
            company TEXT NOT NULL, direction TEXT NOT NULL, state TEXT NOT NULL, n INTEGER NOT NULL,
            PRIMARY KEY (company, direction, state)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO new_counts SELECT 'default', direction, state, n FROM call_counts;
        DROP TABLE call_counts;
        ALTER TABLE new_counts RENAME TO call_counts;
        CREATE TABLE new_days (
            company TEXT NOT NULL, direction TEXT NOT NULL, day TEXT NOT NULL, total INTEGER NOT NULL,
            completed INTEGER NOT NULL, ended INTEGER NOT NULL, seconds REAL NOT NULL,
            PRIMARY KEY (company, direction, day)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO new_days SELECT 'default', direction, day, total, completed, ended, seconds FROM call_days;
        DROP TABLE call_days;
        ALTER TABLE new_days RENAME TO call_days;
        CREATE TRIGGER call_counted AFTER INSERT ON calls BEGIN
            INSERT INTO call_counts VALUES (new.company, new.direction, new.state, 1)
                ON CONFLICT (company, direction, state) DO UPDATE SET n = n + 1;
        END;
        CREATE TRIGGER call_moved AFTER UPDATE OF state ON calls WHEN old.state <> new.state BEGIN
            UPDATE call_counts SET n = n - 1
                WHERE company = old.company AND direction = old.direction AND state = old.state;
            INSERT INTO call_counts VALUES (new.company, new.direction, new.state, 1)
                ON CONFLICT (company, direction, state) DO UPDATE SET n = n + 1;
        END;
        CREATE TRIGGER call_gone AFTER DELETE ON calls BEGIN
            UPDATE call_counts SET n = n - 1
                WHERE company = old.company AND direction = old.direction AND state = old.state;
            UPDATE call_days SET total = total - 1, completed = completed - (old.state = 'completed'),
                ended = ended - (old.completed_at IS NOT NULL AND old.answered_at IS NOT NULL),
                seconds = seconds - COALESCE(old.completed_at - old.answered_at, 0)
                WHERE company = old.company AND direction = old.direction AND day = date(old.created_at, 'unixepoch');
            DELETE FROM call_words WHERE rowid = old.position;
        END;
        CREATE TRIGGER call_day AFTER INSERT ON calls BEGIN
            INSERT INTO call_days
                VALUES (new.company, new.direction, date(new.created_at, 'unixepoch'), 1, 0, 0, 0.0)
                ON CONFLICT (company, direction, day) DO UPDATE SET total = total + 1;
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
                WHERE company = new.company AND direction = new.direction AND day = date(new.created_at, 'unixepoch');
        END;

        """

    /// A name of a template and a number that must not be called are a company's own. Names of users, names of phones
    /// and numbers of ours stay unique in the installation: who logs in, registers or calls names no company.
    private static let rebuilt = """
        CREATE TABLE new_templates (
            id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, created_at REAL NOT NULL, updated_at REAL NOT NULL,
            entry BLOB NOT NULL, company TEXT NOT NULL DEFAULT 'default', UNIQUE (company, name)
        ) STRICT;
        INSERT INTO new_templates (id, name, created_at, updated_at, entry)
            SELECT id, name, created_at, updated_at, entry FROM templates;
        DROP TABLE templates;
        ALTER TABLE new_templates RENAME TO templates;
        CREATE TABLE new_list (
            company TEXT NOT NULL DEFAULT 'default', key TEXT NOT NULL, position INTEGER NOT NULL UNIQUE,
            entry BLOB NOT NULL, PRIMARY KEY (company, key)
        ) STRICT;
        INSERT INTO new_list (key, position, entry) SELECT key, position, entry FROM do_not_call;
        DROP TABLE do_not_call;
        ALTER TABLE new_list RENAME TO do_not_call;
        CREATE INDEX do_not_call_by_company ON do_not_call(company, position);

        """

    /// All companies but `default`, and what each has used in a month.
    private static let companies = """
        CREATE TABLE companies (
            slug TEXT PRIMARY KEY NOT NULL, created_at REAL NOT NULL, entry BLOB NOT NULL
        ) STRICT;
        CREATE TABLE company_usage (
            company TEXT NOT NULL, month TEXT NOT NULL, component TEXT NOT NULL, unit TEXT NOT NULL,
            quantity INTEGER NOT NULL, PRIMARY KEY (company, month, component, unit)
        ) STRICT, WITHOUT ROWID;
        """
}
