public import Foundation
internal import GRDB
public import Realtime

/// The store cannot do what was asked; says what the operator should look at.
public struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: Sendable, Equatable { case cannotOpen, unavailable, full, notFound, conflict }
    public var code: Code
    public var message: String
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
    public var description: String { message }
}

/// A page of calls, newest first.
public struct CallPage: Sendable {
    public var items: [Call]
    /// Pass it to get the next page; nil on the last.
    public var nextCursor: String?
    public var total: Int
}

public struct CallFilter: Sendable, Equatable {
    public static let limitRange = 1...200
    public var state: CallState?
    /// Found in purpose, id and numbers.
    public var search: String?
    public var from: Date?
    public var to: Date?
    public var limit = 50
    public var cursor: String?
    public init() {}
}

/// Totals for the dashboard.
public struct CallStatistics: Sendable, Equatable {
    public struct Day: Sendable, Equatable {
        public var day: String
        public var total: Int
        public var completed: Int
    }
    public var states: [CallState: Int] = [:]
    public var averageDuration: Double?
    /// Question text → status or value → count.
    public var answers: [String: [String: Int]] = [:]
    public var days: [Day] = []
}

/// Calls, transcripts and events in SQLite: WAL, and `synchronous=FULL`, so that what was acknowledged survives a power cut.
public final class CallStore: Sendable {
    /// Events kept for `after=`; older ones go.
    public static let eventHistoryLimit: Int64 = 20_000
    /// Milliseconds a write waits for another process's lock.
    private static let busyTimeout: TimeInterval = 5
    /// Ended calls looked at for the distribution of answers.
    private static let answerSampleLimit = 1_000

    public let feed = EventFeed()
    private let database: DatabasePool

    /// Opens or creates `calls.sqlite` in a folder and brings the schema up to date.
    public init(folder: String) throws(StoreError) {
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StoreError(.cannotOpen, "cannot create the data folder \(folder): is its parent writable? (--data chooses another)")
        }
        var configuration = Configuration()
        configuration.busyMode = .timeout(Self.busyTimeout)
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
        }
        do {
            database = try DatabasePool(path: folder + "/calls.sqlite", configuration: configuration)
            try Migrations.all.migrate(database)
            // SQLite opens a file that it may not write without a word; a write tells.
            try database.write { try $0.execute(sql: "PRAGMA user_version = 1") }
        } catch let error as DatabaseError {
            let advice =
                switch error.resultCode {
                case .SQLITE_BUSY, .SQLITE_LOCKED: "another process holds the database: is a second trunkline running on this folder?"
                case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM: "the folder or file is not writable"
                case .SQLITE_FULL: "the disk is full"
                case .SQLITE_CORRUPT, .SQLITE_NOTADB: "the file is damaged or no database: restore a backup"
                default: error.message ?? "SQLite error \(error.resultCode.rawValue)"
                }
            throw StoreError(.cannotOpen, "cannot open the database \(folder)/calls.sqlite: \(advice)")
        } catch {
            throw StoreError(.cannotOpen, "cannot open the database \(folder)/calls.sqlite: \(error)")
        }
    }

    public func close() { try? database.close() }

    private static func translate(_ error: any Error) -> StoreError {
        if let error = error as? StoreError { return error }
        guard let error = error as? DatabaseError else { return StoreError(.unavailable, "the database failed: \(error)") }
        switch error.resultCode {
        case .SQLITE_FULL: return StoreError(.full, "the disk is full: nothing was stored")
        case .SQLITE_BUSY, .SQLITE_LOCKED: return StoreError(.unavailable, "the database is locked by another process: nothing was stored")
        case .SQLITE_READONLY: return StoreError(.unavailable, "the database is read-only: nothing was stored")
        default: return StoreError(.unavailable, "the database failed: \(error.message ?? "error \(error.resultCode.rawValue)")")
        }
    }

    private func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> (Value, [CallEvent])) async throws(StoreError) -> Value {
        do {
            let (value, events) = try await database.write(body)
            feed.publish(events)
            return value
        } catch { throw Self.translate(error) }
    }

    /// For what else is kept in this database.
    func change(_ body: @escaping @Sendable (Database) throws -> Void) async throws(StoreError) {
        try await write { db in
            try body(db)
            return ((), [])
        }
    }
    func look<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws(StoreError) -> Value { try await read(body) }

    private func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws(StoreError) -> Value {
        do { return try await database.read(body) } catch { throw Self.translate(error) }
    }

    // MARK: Calls

    private static func encode(_ call: Call) throws -> String {
        String(decoding: try JSONEncoder().encode(call), as: UTF8.self)
    }

    private static func decode(_ row: Row) throws -> Call {
        try JSONDecoder().decode(Call.self, from: Data((row["record"] as String).utf8))
    }

    /// Stores a new call with its first events; on return all is on disk.
    public func insert(_ call: Call, events: [CallEvent]) async throws(StoreError) {
        try await write { db in
            let next = try Int64.fetchOne(db, sql: "SELECT COALESCE(MAX(position), 0) + 1 FROM calls") ?? 1
            try db.run(
                """
                INSERT INTO calls (outbound_id, position, state, priority, created_at, callee_number, caller_number, purpose, record)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                arguments: [
                    call.outboundID, next, call.state.rawValue, call.priority, call.createdAt.timeIntervalSince1970,
                    call.calleeNumber, call.callerNumber, call.brief.purpose, try Self.encode(call),
                ])
            return ((), try events.map { try Self.append($0, db) })
        }
    }

    /// Changes a call and stores the events that tell of it, in one transaction. Returns the call as stored.
    @discardableResult
    public func update(_ outboundID: String, _ change: @escaping @Sendable (inout Call) throws -> [CallEvent]) async throws(StoreError) -> Call {
        try await write { db in
            let select = try db.cachedStatement(sql: "SELECT record FROM calls WHERE outbound_id = ?")
            guard let row = try Row.fetchOne(select, arguments: [outboundID]) else {
                throw StoreError(.notFound, "there is no call \(outboundID)")
            }
            var call = try Self.decode(row)
            let events: [CallEvent]
            do { events = try change(&call) } catch let error as CallStateMachine.ImpossibleTransition {
                throw StoreError(.conflict, error.description)
            }
            try db.run(
                "UPDATE calls SET state = ?, answered_at = ?, completed_at = ?, record = ? WHERE outbound_id = ?",
                arguments: [
                    call.state.rawValue, call.answeredAt?.timeIntervalSince1970, call.completedAt?.timeIntervalSince1970,
                    try Self.encode(call), outboundID,
                ])
            return (call, try events.map { try Self.append($0, db) })
        }
    }

    public func call(_ outboundID: String) async throws(StoreError) -> Call? {
        try await read { db in
            try Row.fetchOne(db, sql: "SELECT record FROM calls WHERE outbound_id = ?", arguments: [outboundID]).map(Self.decode)
        }
    }

    /// Calls in one of these states, oldest first.
    public func calls(in states: [CallState]) async throws(StoreError) -> [Call] {
        try await read { db in
            let marks = databaseQuestionMarks(count: states.count)
            return try Row.fetchAll(
                db, sql: "SELECT record FROM calls WHERE state IN (\(marks)) ORDER BY position",
                arguments: StatementArguments(states.map(\.rawValue))
            ).map(Self.decode)
        }
    }

    public func page(_ filter: CallFilter) async throws(StoreError) -> CallPage {
        let before: Int64? = if let cursor = filter.cursor { Int64(cursor, radix: 36) } else { nil }
        if filter.cursor != nil, before == nil { throw StoreError(.conflict, "the cursor is not one of ours") }
        return try await read { db in
            var conditions: [String] = []
            var arguments: [any DatabaseValueConvertible] = []
            if let state = filter.state {
                conditions.append("state = ?")
                arguments.append(state.rawValue)
            }
            if let search = filter.search, !search.isEmpty {
                let pattern = "%" + search.replacing("\\", with: "\\\\").replacing("%", with: "\\%").replacing("_", with: "\\_") + "%"
                conditions.append(
                    "(purpose LIKE ? ESCAPE '\\' OR outbound_id LIKE ? ESCAPE '\\' OR callee_number LIKE ? ESCAPE '\\' OR caller_number LIKE ? ESCAPE '\\')"
                )
                arguments += [pattern, pattern, pattern, pattern]
            }
            if let from = filter.from {
                conditions.append("created_at >= ?")
                arguments.append(from.timeIntervalSince1970)
            }
            if let to = filter.to {
                conditions.append("created_at < ?")
                arguments.append(to.timeIntervalSince1970)
            }
            let filtered = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
            let total = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM calls" + filtered, arguments: StatementArguments(arguments)) ?? 0
            if let before {
                conditions.append("position < ?")
                arguments.append(before)
            }
            let paged = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
            let rows = try Row.fetchAll(
                db, sql: "SELECT position, record FROM calls\(paged) ORDER BY position DESC LIMIT \(filter.limit + 1)",
                arguments: StatementArguments(arguments))
            let items = try rows.prefix(filter.limit).map(Self.decode)
            let cursor = rows.count > filter.limit ? (rows[filter.limit - 1]["position"] as Int64) : nil
            return CallPage(items: items, nextCursor: cursor.map { String($0, radix: 36) }, total: total)
        }
    }

    public func statistics() async throws(StoreError) -> CallStatistics {
        try await read { db in
            var result = CallStatistics()
            for row in try Row.fetchAll(db, sql: "SELECT state, COUNT(*) AS n FROM calls GROUP BY state") {
                if let state = CallState(rawValue: row["state"]) { result.states[state] = row["n"] }
            }
            result.averageDuration = try Double.fetchOne(
                db, sql: "SELECT AVG(completed_at - answered_at) FROM calls WHERE answered_at IS NOT NULL AND completed_at IS NOT NULL")
            let days = try Row.fetchAll(
                db,
                sql: """
                    SELECT date(created_at, 'unixepoch') AS day, COUNT(*) AS n, SUM(state = 'completed') AS done
                    FROM calls GROUP BY day ORDER BY day DESC LIMIT 31
                    """)
            result.days = days.map { .init(day: $0["day"], total: $0["n"], completed: $0["done"]) }
            let ended = try Row.fetchAll(
                db,
                sql:
                    "SELECT record FROM calls WHERE answered_at IS NOT NULL AND completed_at IS NOT NULL ORDER BY position DESC LIMIT \(Self.answerSampleLimit)"
            )
            for row in ended {
                let call = try Self.decode(row)
                for question in call.brief.questions {
                    guard let answer = call.answers.first(where: { $0.questionID == question.id }) else { continue }
                    let label = answer.status == .answered ? (answer.summary ?? answer.text ?? "answered") : answer.status.rawValue
                    result.answers[question.text, default: [:]][label, default: 0] += 1
                }
            }
            return result
        }
    }

    // MARK: Transcript

    public func append(_ entry: TranscriptEntry, at position: Int, to outboundID: String, event: CallEvent) async throws(StoreError) {
        try await write { db in
            let text = String(decoding: try JSONEncoder().encode(entry), as: UTF8.self)
            try db.run(
                "INSERT OR REPLACE INTO transcript (outbound_id, position, entry) VALUES (?, ?, ?)",
                arguments: [outboundID, position, text])
            return ((), [try Self.append(event, db)])
        }
    }

    public func transcript(of outboundID: String) async throws(StoreError) -> [TranscriptEntry] {
        try await read { db in
            try String.fetchAll(db, sql: "SELECT entry FROM transcript WHERE outbound_id = ? ORDER BY position", arguments: [outboundID])
                .map { try JSONDecoder().decode(TranscriptEntry.self, from: Data($0.utf8)) }
        }
    }

    /// A new attempt begins: what an earlier one left behind goes.
    public func clearTranscript(of outboundID: String) async throws(StoreError) {
        try await write { db in
            try db.execute(sql: "DELETE FROM transcript WHERE outbound_id = ?", arguments: [outboundID])
            return ((), [])
        }
    }

    // MARK: Events

    private static func append(_ event: CallEvent, _ db: Database) throws -> CallEvent {
        try db.run(
            "INSERT INTO events (name, at, outbound_id, payload) VALUES (?, ?, ?, ?)",
            arguments: [event.name, event.at.timeIntervalSince1970, event.outboundID, event.payload])
        var stored = event
        stored.id = db.lastInsertedRowID
        if stored.id % 1_000 == 0 {
            try db.execute(sql: "DELETE FROM events WHERE id <= ?", arguments: [stored.id - Self.eventHistoryLimit])
        }
        return stored
    }

    private static func event(_ row: Row) -> CallEvent {
        CallEvent(
            id: row["id"], name: row["name"], at: Date(timeIntervalSince1970: row["at"]), outboundID: row["outbound_id"],
            payload: row["payload"])
    }

    /// Events after an id, oldest first, at most `limit`; of one call where one is named.
    public func events(after id: Int64, of outboundID: String? = nil, limit: Int = 1_000) async throws(StoreError) -> [CallEvent] {
        try await read { db in
            let sql =
                outboundID == nil
                ? "SELECT * FROM events WHERE id > ? ORDER BY id LIMIT ?"
                : "SELECT * FROM events WHERE id > ? AND outbound_id = ? ORDER BY id LIMIT ?"
            let arguments: StatementArguments = outboundID.map { [id, $0, limit] } ?? [id, limit]
            return try Row.fetchAll(db, sql: sql, arguments: arguments).map(Self.event)
        }
    }

    // MARK: API keys

    public struct StoredKey: Sendable, Equatable {
        public var hash: String
        public var name: String
        public var role: String
        public init(hash: String, name: String, role: String) {
            self.hash = hash
            self.name = name
            self.role = role
        }
    }

    public func keys() async throws(StoreError) -> [StoredKey] {
        try await read { db in
            try Row.fetchAll(db, sql: "SELECT hash, name, role FROM api_keys").map { StoredKey(hash: $0["hash"], name: $0["name"], role: $0["role"]) }
        }
    }

    public func insert(_ key: StoredKey, at date: Date) async throws(StoreError) {
        try await write { db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO api_keys (hash, name, role, created_at) VALUES (?, ?, ?, ?)",
                arguments: [key.hash, key.name, key.role, date.timeIntervalSince1970])
            return ((), [])
        }
    }
}

extension Database {
    /// Runs a statement that is wanted often: it is compiled once.
    fileprivate func run(_ sql: String, arguments: StatementArguments) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }
}
