internal import Foundation
internal import GRDB
internal import Net
internal import Problems

/// SQLite in WAL mode, with `synchronous=FULL`: what was acknowledged survives a power cut.
final class SQLiteEngine: Engine {
    /// Seconds a write waits for another process's lock.
    private static let busyTimeout: TimeInterval = 5
    /// Milliseconds between two tries to empty the log while another reader (perhaps a backup) has it open, and the
    /// number of tries.
    private static let logRetryMs = 100
    private static let logTries = 30

    let dialect: any Dialect = SQLiteDialect()
    private let database: DatabasePool
    private let writer: GroupWriter

    var watched: any WatchedThread { writer }

    private init(_ database: DatabasePool) {
        self.database = database
        writer = GroupWriter(database)
    }

    /// Opens or creates `calls.sqlite` in a folder and brings its schema up to date.
    static func open(folder: String, vault: Vault, reading: Reading) throws(StoreError) -> (
        engine: SQLiteEngine, numbers: NumberIndex
    ) {
        let path = folder + "/calls.sqlite"
        var configuration = GRDB.Configuration()
        configuration.busyMode = .timeout(busyTimeout)
        configuration.prepareDatabase { db in
            // Deleted content is overwritten with zeros.
            try db.execute(sql: "PRAGMA secure_delete = ON")
        }
        PrivateFiles.prepare(database: path)
        do {
            let database = try DatabasePool(path: path, configuration: configuration)
            try Migrations.all(vault, reading).migrate(database)
            // GRDB sets NORMAL for WAL as it opens the pool, which would acknowledge what a power cut takes back.
            try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            // SQLite opens a file that it may not write without a word; a write tells.
            try database.write { try $0.execute(sql: "PRAGMA user_version = 1") }
            let secret = try database.read { try Storage.indexSecret(SQLiteTransaction($0), vault) }
            return (SQLiteEngine(database), NumberIndex(secret: secret))
        } catch {
            throw StoreError(
                .cannotOpen, .cannotOpenDatabase, ["path": .text(path), "problem": .text(advice(on: error))])
        }
    }

    private static func advice(on error: any Error) -> String {
        if let error = error as? StoreError { return error.message }
        guard let error = error as? DatabaseError else { return "\(error)" }
        return switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            "another process holds the database: is a second trunkline running on this folder?"
        case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM: "the folder or file is not writable"
        case .SQLITE_FULL: "the disk is full"
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: "the file is damaged or no database: restore a backup"
        default: error.message ?? "SQLite error \(error.resultCode.rawValue)"
        }
    }

    func write<Value: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> Value) async throws -> Value {
        try await writer.write { try body(SQLiteTransaction($0)) }
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> Value) async throws -> Value {
        try await database.read { try body(SQLiteTransaction($0)) }
    }

    func translate(_ error: any Error) -> StoreError {
        guard let error = error as? DatabaseError else {
            return StoreError(.unavailable, .databaseFailed, ["problem": "\(error)"])
        }
        return switch error.resultCode {
        case .SQLITE_FULL: StoreError(.full, .diskFull)
        case .SQLITE_BUSY, .SQLITE_LOCKED: StoreError(.unavailable, .databaseLocked)
        case .SQLITE_READONLY: StoreError(.unavailable, .databaseReadOnly)
        default:
            StoreError(
                .unavailable, .databaseFailed,
                ["problem": .text(error.message ?? "error \(error.resultCode.rawValue)")])
        }
    }

    func check() async throws {
        let problems = try await database.read { try String.fetchAll($0, sql: "PRAGMA quick_check") }
        guard problems == ["ok"] else { throw StoreError(.cannotOpen, .databaseDamaged) }
    }

    /// By SQLite's backup API.
    func backUp(to path: String) throws {
        let copy = try DatabaseQueue(path: path)
        try database.backup(to: copy)
        try copy.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA journal_mode = DELETE") }
        try copy.close()
    }

    func scrub() async throws -> Bool {
        for table in WordTables.all {
            for step in 0..<WordTables.mergeLimit {
                let isDone = try await writer.write { try WordTables.merge(table, step: step, $0) }
                if isDone { break }
            }
        }
        return try await emptyLog()
    }

    func emptyLog() async throws -> Bool {
        for attempt in 0..<Self.logTries {
            if attempt > 0 { try? await Task.sleep(for: .milliseconds(Self.logRetryMs)) }
            if try await truncateLog() { return true }
        }
        return false
    }

    /// False: another reader has the write-ahead log open. Does not wait for it: all others would wait too.
    private func truncateLog() async throws -> Bool {
        try await database.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA busy_timeout = 0")
            defer { try? db.execute(sql: "PRAGMA busy_timeout = \(Int(Self.busyTimeout * 1_000))") }
            return try Bool.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)") == false
        }
    }

    func close() { try? database.close() }
}
