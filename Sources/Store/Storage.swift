internal import Foundation
public import Net
internal import Problems

/// How numbers and texts are read, which the store leaves to the room above.
public struct Reading: Sendable {
    /// The one form of a number by which it is found.
    var number: @Sendable (String) -> String
    /// The words of a text by which it is found: letters and digits only.
    var words: @Sendable (String) -> [String]

    public init(number: @escaping @Sendable (String) -> String, words: @escaping @Sendable (String) -> [String]) {
        self.number = number
        self.words = words
    }
}

/// What repositories need beside a transaction.
struct Context: Sendable {
    let vault: Vault
    let numbers: NumberIndex
    let reading: Reading
    let dialect: any Dialect

    func key(_ number: String) -> String { numbers.hash(reading.number(number)) }

    func encrypt(_ value: some Encodable, row: String) throws -> Data {
        try vault.encrypt(String(decoding: try JSONEncoder().encode(value), as: UTF8.self), row: row)
    }
    func open<Value: Decodable>(_ encrypted: Data, row: String) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(try vault.open(encrypted, row: row).utf8))
    }
}

/// One unit of work: the repositories of calls inside one transaction.
///
/// All changes made with it are stored together, or none is. Valid only inside the closure that receives it.
public struct Work {
    let transaction: any Transaction
    let context: Context

    public var calls: CallRows { CallRows(transaction: transaction, context: context) }
    public var texts: CallTexts { CallTexts(transaction: transaction, context: context) }
    public var dials: DialRows { DialRows(transaction: transaction, context: context) }
    public var requests: RequestRows { RequestRows(transaction: transaction, context: context) }
    public var events: EventRows { EventRows(transaction: transaction, context: context) }
    public var outbox: OutboxRows { OutboxRows(transaction: transaction, context: context) }
    public var audit: AuditRows { AuditRows(transaction: transaction) }
    public var agents: AgentRows { AgentRows(transaction: transaction, context: context) }
}

/// The data of one server: what was acknowledged survives a power cut.
///
/// Everything that says something of a person is encrypted by the `Vault`; numbers are found by keyed hashes.
public final class Storage: Sendable {
    private let engine: any Engine
    let context: Context
    private let forgetting = SharedRuns()

    public var vault: Vault { context.vault }
    public var accounts: Accounts { Accounts(storage: self) }
    public var numbers: NumberLists { NumberLists(storage: self) }
    public var audit: AuditLog { AuditLog(storage: self) }
    public var deliveries: Deliveries { Deliveries(storage: self) }
    public var knowledge: KnowledgeItems { KnowledgeItems(storage: self) }
    public var templates: Documents { Documents(storage: self, kind: .templates) }
    public var operators: Documents { Documents(storage: self, kind: .operators) }

    /// Opens or creates `calls.sqlite` in a folder and brings its schema up to date.
    public init(folder: String, vault: Vault, reading: Reading) throws(StoreError) {
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StoreError(.cannotOpen, .cannotCreateFolder, ["path": .text(folder)])
        }
        let opened = try SQLiteEngine.open(folder: folder, vault: vault, reading: reading)
        engine = opened.engine
        context = Context(vault: vault, numbers: opened.numbers, reading: reading, dialect: opened.engine.dialect)
    }

    public func close() { engine.close() }

    /// Its writer, for the watchdog.
    public var watched: any WatchedThread { engine.watched }

    /// What `body` changes is on disk on return, all of it or nothing.
    public func write<Value: Sendable>(_ body: @escaping @Sendable (Work) throws -> Value) async throws(StoreError)
        -> Value
    {
        do {
            return try await engine.write { [context] in try body(Work(transaction: $0, context: context)) }
        } catch { throw translate(error) }
    }

    /// All that `body` reads is of one moment.
    public func read<Value: Sendable>(_ body: @escaping @Sendable (Work) throws -> Value) async throws(StoreError)
        -> Value
    {
        do {
            return try await engine.read { [context] in try body(Work(transaction: $0, context: context)) }
        } catch { throw translate(error) }
    }

    func translate(_ error: any Error) -> StoreError {
        if let error = error as? StoreError { return error }
        // What it says may hold a part of the row.
        if error is DecodingError { return .damaged }
        return engine.translate(error)
    }

    /// By what a number is known.
    public func key(_ number: String) -> String { context.key(number) }

    /// A secret of this database alone, made when it is first wanted.
    public func secret(named name: String, make: @escaping @Sendable () -> String) async throws(StoreError) -> (
        text: String, isNew: Bool
    ) {
        try await write { work in
            let row = "meta/" + name
            if let encrypted: Data = try work.transaction.value("SELECT value FROM meta WHERE name = ?", name) {
                return (try work.context.vault.open(encrypted, row: row), false)
            }
            let text = make()
            try work.transaction.run(
                "INSERT INTO meta (name, value) VALUES (?, ?)", name, try work.context.vault.encrypt(text, row: row))
            return (text, true)
        }
    }

    // MARK: Maintenance

    /// Whether the database is whole, and its rows can be opened with our key.
    public func check() async throws(StoreError) {
        do { try await engine.check() } catch { throw translate(error) }
        try await read { work in
            _ = try Self.indexSecret(work.transaction, work.context.vault)
            // A single row that was damaged is for `damage` to count; a key that is not known is every row's.
            do { _ = try work.calls.latest()?.open() } catch let error as StoreError
                where [.encryptedRowMoved, .encryptedRowDamaged].contains(error.problem.code)
            {}
        }
    }

    /// A copy of the database as it is at one moment, while it is in use.
    public func backUp(to path: String) throws(StoreError) {
        PrivateFiles.prepare(database: path)
        do { try engine.backUp(to: path) } catch { throw translate(error) }
    }

    func emptyLog() async throws(StoreError) -> Bool {
        do { return try await engine.emptyLog() } catch { throw translate(error) }
    }

    static let indexSecretName = "number_index"

    /// The secret of the keyed hashes, of this database alone.
    static func indexSecret(_ transaction: any Transaction, _ vault: Vault) throws -> [UInt8] {
        guard
            let encrypted: Data = try transaction.value("SELECT value FROM meta WHERE name = ?", indexSecretName),
            let secret = Data(base64Encoded: try vault.open(encrypted, row: "meta/" + indexSecretName))
        else { throw StoreError(.cannotOpen, .noIndexSecret) }
        return Array(secret)
    }

    // MARK: Erasure

    /// A row of `meta` that is there while something erased may still be in the files.
    private static let pendingName = "erasure"

    /// In the transaction that deletes: what has to follow is done after a crash too.
    static func noteErasure(_ work: Work) throws {
        let mark = try work.context.vault.encrypt(UUID().uuidString, row: "meta/" + pendingName)
        try work.transaction.run(
            "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            pendingName, mark)
    }

    /// Removes erased content from the files. If another reader blocks this, `finishErasure` continues later.
    public func forgetErased() async throws(StoreError) {
        do { try await forgetting.run { [self] in try await forget() } } catch { throw translate(error) }
    }

    /// Goes on with what a crash, or another reader of the files, has left. To be called now and then.
    public func finishErasure() async throws(StoreError) {
        let isPending = try await read {
            try $0.transaction.exists("SELECT 1 FROM meta WHERE name = ?", Self.pendingName)
        }
        if isPending { try await forgetErased() }
    }

    private func forget() async throws {
        let mark: Data? = try await read {
            try $0.transaction.value("SELECT value FROM meta WHERE name = ?", Self.pendingName)
        }
        guard try await engine.scrub(), let mark else { return }
        // Unless more was erased meanwhile.
        try await write {
            _ = try $0.transaction.run("DELETE FROM meta WHERE name = ? AND value = ?", Self.pendingName, mark)
        }
    }
}

/// Runs that must not overlap. Requests during a run share the next run.
actor SharedRuns {
    private var current: Task<Void, any Error>?
    private var next: Task<Void, any Error>?

    func run(_ work: @escaping @Sendable () async throws -> Void) async throws {
        if let next { return try await next.value }
        let before = current
        let task = Task {
            _ = await before?.result
            begin()
            try await work()
        }
        next = task
        try await task.value
    }

    private func begin() {
        current = next
        next = nil
    }
}
