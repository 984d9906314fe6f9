internal import Foundation
internal import GRDB
internal import Net
internal import Synchronization

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

/// Calls, transcripts and events in SQLite: WAL, and `synchronous=FULL`, so that what was acknowledged survives a power cut.
///
/// Everything that says something of a person is sealed by the `Vault`; numbers are found by keyed hashes.
public final class CallStore: Sendable {
    /// Seconds a write waits for another process's lock.
    private static let busyTimeout: TimeInterval = 5

    public let feed = EventFeed()
    let vault: Vault
    /// What is kept is encrypted.
    public var isSealed: Bool { vault.seals }
    let plan: NumberingPlan
    let numbers: NumberIndex
    private let database: DatabasePool
    private let writer: GroupWriter
    let forgetting = SharedRuns()
    /// Who is told of every event by HTTP; in the same transaction.
    let subscribers = Mutex(WebhookSubscribers())
    /// Of the calls that the statistics looked at last: pages ask again and again, and few records have changed.
    let samples = Mutex<[String: AnswerSample]>([:])

    /// Opens or creates `calls.sqlite` in a folder and brings the schema up to date.
    public init(folder: String, vault: Vault = Vault(), plan: NumberingPlan = NumberingPlan()) throws(StoreError) {
        self.vault = vault
        self.plan = plan
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StoreError(.cannotOpen, "cannot create the data folder \(folder): is its parent writable? (--data chooses another)")
        }
        var configuration = Configuration()
        configuration.busyMode = .timeout(Self.busyTimeout)
        configuration.prepareDatabase { db in
            // What is deleted is overwritten.
            try db.execute(sql: "PRAGMA secure_delete = ON")
        }
        PrivateFiles.prepare(database: folder + "/calls.sqlite")
        do {
            database = try DatabasePool(path: folder + "/calls.sqlite", configuration: configuration)
            try Migrations.all(vault, plan).migrate(database)
            // GRDB sets NORMAL for WAL as it opens the pool, which would acknowledge what a power cut takes back.
            try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            // SQLite opens a file that it may not write without a word; a write tells.
            try database.write { try $0.execute(sql: "PRAGMA user_version = 1") }
            numbers = NumberIndex(secret: try database.read { try Self.indexSecret($0, vault) })
        } catch let error as StoreError {
            throw StoreError(.cannotOpen, "cannot open the database \(folder)/calls.sqlite: \(error.message)")
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
        writer = GroupWriter(database)
    }

    static let indexSecretName = "number_index"

    /// The secret of the keyed hashes, of this database alone.
    static func indexSecret(_ db: Database, _ vault: Vault) throws -> [UInt8] {
        guard let sealed = try Data.fetchOne(db, sql: "SELECT value FROM meta WHERE name = ?", arguments: [indexSecretName]),
            let secret = Data(base64Encoded: try vault.open(sealed, row: "meta/" + indexSecretName))
        else { throw StoreError(.cannotOpen, "the secret of the number index is missing") }
        return Array(secret)
    }

    /// A secret of this database alone, made when it is first wanted.
    public func secret(named name: String, make: @escaping @Sendable () -> String) async throws(StoreError) -> (text: String, isNew: Bool) {
        try await change { [vault] db in
            if let sealed = try Data.fetchOne(db, sql: "SELECT value FROM meta WHERE name = ?", arguments: [name]) {
                return (try vault.open(sealed, row: "meta/" + name), false)
            }
            let text = make()
            try db.run("INSERT INTO meta (name, value) VALUES (?, ?)", arguments: [name, try vault.seal(text, row: "meta/" + name)])
            return (text, true)
        }
    }

    public func close() { try? database.close() }

    static func translate(_ error: any Error) -> StoreError {
        if let error = error as? StoreError { return error }
        // What it says may hold a part of the row.
        if error is DecodingError { return StoreError(.unavailable, "a stored row is damaged") }
        guard let error = error as? DatabaseError else { return StoreError(.unavailable, "the database failed: \(error)") }
        switch error.resultCode {
        case .SQLITE_FULL: return StoreError(.full, "the disk is full: nothing was stored")
        case .SQLITE_BUSY, .SQLITE_LOCKED: return StoreError(.unavailable, "the database is locked by another process: nothing was stored")
        case .SQLITE_READONLY: return StoreError(.unavailable, "the database is read-only: nothing was stored")
        default: return StoreError(.unavailable, "the database failed: \(error.message ?? "error \(error.resultCode.rawValue)")")
        }
    }

    /// What `body` changes is on disk on return, all of it or nothing; then its events are told.
    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> (Value, [CallEvent])) async throws(StoreError) -> Value {
        do {
            let (value, events) = try await writer.write(body)
            feed.publish(events)
            return value
        } catch { throw Self.translate(error) }
    }

    /// For what else is kept in this database.
    func change<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws(StoreError) -> Value {
        try await write { (try body($0), []) }
    }

    func look<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws(StoreError) -> Value {
        do { return try await database.read(body) } catch { throw Self.translate(error) }
    }

    /// Whether the database is whole, and its rows can be opened with our key.
    public func check() async throws(StoreError) {
        try await look { [vault] db in
            let problems = try String.fetchAll(db, sql: "PRAGMA quick_check")
            guard problems == ["ok"] else { throw StoreError(.cannotOpen, "the database is damaged: restore a backup") }
            _ = try Self.indexSecret(db, vault)
            if let row = try Row.fetchOne(db, sql: "SELECT outbound_id, record FROM calls ORDER BY position DESC LIMIT 1") {
                _ = try Self.decode(row, vault)
            }
        }
    }

    /// A copy of the database as it is at one moment, while it is in use (SQLite's backup API).
    public func backUp(to path: String) throws(StoreError) {
        PrivateFiles.prepare(database: path)
        do {
            let copy = try DatabaseQueue(path: path)
            try database.backup(to: copy)
            try copy.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA journal_mode = DELETE") }
            try copy.close()
        } catch { throw Self.translate(error) }
    }

    /// False: somebody else reads the write-ahead log. Does not wait for him, for everybody else would wait too.
    func truncateLog() async throws(StoreError) -> Bool {
        do {
            return try await database.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA busy_timeout = 0")
                defer { try? db.execute(sql: "PRAGMA busy_timeout = \(Int(Self.busyTimeout * 1_000))") }
                return try Bool.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)") == false
            }
        } catch { throw Self.translate(error) }
    }
}

/// Writes that come at once share one transaction, so that they share its `fdatasync` too.
///
/// Each has a savepoint of its own: one that fails takes nothing of the others with it.
final class GroupWriter: Sendable {
    /// Writes of one transaction.
    private static let groupLimit = 256

    private struct Job: Sendable {
        var run: @Sendable (Database) throws -> Void
        /// nil: it is on disk.
        var finish: @Sendable ((any Error)?) -> Void
    }
    private struct State {
        var waiting: [Job] = []
        var isRunning = false
    }
    private let database: DatabasePool
    private let state = Mutex(State())

    init(_ database: DatabasePool) { self.database = database }

    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        let result = Mutex<Result<Value, any Error>?>(nil)
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let job = Job(
                run: { db in
                    // Kept back until the whole group is on disk.
                    do {
                        var value: Value?
                        try db.inSavepoint {
                            value = try body(db)
                            return .commit
                        }
                        if let value { result.withLock { $0 = .success(value) } }
                    } catch {
                        result.withLock { $0 = .failure(error) }
                        // A full disk ends the whole transaction, and what came after would stand alone.
                        if !db.isInsideTransaction { throw error }
                    }
                },
                finish: { error in if let error { continuation.resume(throwing: error) } else { continuation.resume() } })
            let starts = state.withLock { state in
                state.waiting.append(job)
                defer { state.isRunning = true }
                return !state.isRunning
            }
            if starts { runNext() }
        }
        guard let result = result.withLock({ $0 }) else { throw StoreError(.unavailable, "the database gave no answer") }
        return try result.get()
    }

    private func runNext() {
        let group = state.withLock { state -> [Job] in
            let group = Array(state.waiting.prefix(Self.groupLimit))
            state.waiting.removeFirst(group.count)
            if group.isEmpty { state.isRunning = false }
            return group
        }
        guard !group.isEmpty else { return }
        database.asyncWrite { db in
            for job in group { try job.run(db) }
        } completion: { [self] _, result in
            var failure: (any Error)?
            if case .failure(let error) = result { failure = error }
            for job in group { job.finish(failure) }
            runNext()
        }
    }
}

extension Database {
    /// Runs a statement that is wanted often: it is compiled once.
    func run(_ sql: String, arguments: StatementArguments) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }
}
