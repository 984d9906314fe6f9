public import Foundation

/// A call as it is stored: the record, and beside it what it is found by.
public struct CallRow: Sendable {
    public var id: String
    /// Never changed once it is stored.
    public var company: CompanyID
    public var direction: CallDirection
    public var state: CallState
    public var createdAt: Date
    public var answeredAt: Date?
    public var completedAt: Date?
    /// When it is dialled, or was.
    public var dueAt: Date
    public var localNumber: String
    public var remoteNumber: String
    public var priority: Int
    /// Calls that we placed are found by its words. Of calls that came in it is the server's own, the same for all.
    public var purpose: String
    /// Where the events of this call are posted.
    public var webhook: String?
    /// What carries it, and the dialect of its media stream.
    public var carrier: String?
    public var dialect: String?
    /// JSON.
    public var record: String

    public init(
        id: String, company: CompanyID, direction: CallDirection, state: CallState, createdAt: Date, answeredAt: Date?,
        completedAt: Date?, dueAt: Date, localNumber: String, remoteNumber: String, priority: Int, purpose: String,
        webhook: String?,
        carrier: String? = nil, dialect: String? = nil, record: String
    ) {
        self.id = id
        self.company = company
        self.direction = direction
        self.state = state
        self.createdAt = createdAt
        self.answeredAt = answeredAt
        self.completedAt = completedAt
        self.dueAt = dueAt
        self.localNumber = localNumber
        self.remoteNumber = remoteNumber
        self.priority = priority
        self.purpose = purpose
        self.webhook = webhook
        self.carrier = carrier
        self.dialect = dialect
        self.record = record
    }
}

/// The record of a call that was read.
public struct CallRecord: Sendable {
    public let id: String
    public let company: CompanyID
    /// As it stands in the database: as long as it is the same, so is the record.
    public let encrypted: Data
    /// The key of our own number.
    public let localKey: String
    private let vault: Vault

    init(_ row: Row, _ vault: Vault) throws {
        id = try row["id"]
        company = try row["company"]
        encrypted = try row["record"]
        localKey = try row["local_key"]
        self.vault = vault
    }

    /// JSON.
    /// - Throws: `StoreError`: it was changed, or its key is missing.
    public func open() throws -> String { try vault.open(encrypted, row: "calls/" + id) }
}

/// A call that waits to be dialled, without its record.
public struct WaitingCall: Sendable {
    public let id: String
    public let company: CompanyID
    public let priority: Int
    public let createdAt: Date
    public let dueAt: Date
    public let remoteKey: String
}

/// Calls, inside a transaction.
///
/// What takes no company is for the installation's own work on a call that it knows by its id, or on those of all
/// companies: to dial, to go on after a restart. What somebody asks for takes the company first.
public struct CallRows {
    let transaction: any Transaction
    let context: Context

    static let columns: SQL = "id, company, record, local_key"

    public func insert(_ call: CallRow) throws {
        let remote = context.reading.number(call.remoteNumber)
        let position: Int64 = try transaction.value("SELECT COALESCE(MAX(position), 0) + 1 FROM calls") ?? 1
        try transaction.run(
            """
            INSERT INTO calls (id, direction, position, state, created_at, answered_at, completed_at, due_at,
                remote_key, remote_tail, local_key, purpose, webhook, record, priority,
                carrier, dialect, company)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            call.id, call.direction, position, call.state, call.createdAt, call.answeredAt, call.completedAt,
            call.dueAt,
            context.numbers.hash(remote), context.numbers.tail(remote), context.key(call.localNumber), call.purpose,
            try call.webhook.map { try context.vault.encrypt($0, row: "webhook/" + call.id) },
            try context.vault.encrypt(call.record, row: "calls/" + call.id), call.priority, call.carrier,
            call.dialect, call.company)
        if call.direction == .outbound {
            try context.dialect.index(call: position, words: context.reading.words(call.purpose), transaction)
        }
    }

    /// Stores what may change of a call: its state, its times, its way and its record.
    public func update(_ call: CallRow) throws {
        try transaction.run(
            """
            UPDATE calls SET state = ?, answered_at = ?, completed_at = ?, due_at = ?, carrier = ?, dialect = ?,
                record = ? WHERE id = ?
            """,
            call.state, call.answeredAt, call.completedAt, call.dueAt, call.carrier, call.dialect,
            try context.vault.encrypt(call.record, row: "calls/" + call.id), call.id)
    }

    public func record(_ company: CompanyID, _ id: String) throws -> CallRecord? {
        try transaction.row("SELECT \(Self.columns) FROM calls WHERE id = ? AND company = ?", id, company).map {
            try CallRecord($0, context.vault)
        }
    }

    /// A call that the installation works on, whosever it is.
    public func record(_ id: String) throws -> CallRecord? {
        try transaction.row("SELECT \(Self.columns) FROM calls WHERE id = ?", id).map {
            try CallRecord($0, context.vault)
        }
    }

    /// The newest one.
    func latest() throws -> CallRecord? {
        try transaction.row("SELECT \(Self.columns) FROM calls ORDER BY position DESC LIMIT 1").map {
            try CallRecord($0, context.vault)
        }
    }

    /// Calls of all companies in one of these states, oldest first.
    public func records(in states: [CallState]) throws -> [CallRecord] {
        try transaction.rows(
            "SELECT \(Self.columns) FROM calls WHERE state IN \(SQL.marks(states.count)) ORDER BY position",
            arguments: states.map { $0 as any Storable }
        ).map { try CallRecord($0, context.vault) }
    }

    /// Those of all companies.
    public func waiting() throws -> [WaitingCall] {
        try transaction.rows(
            "SELECT id, company, priority, created_at, due_at, remote_key FROM calls WHERE state = ? ORDER BY position",
            CallState.queued
        ).map {
            WaitingCall(
                id: try $0["id"], company: try $0["company"], priority: try $0["priority"],
                createdAt: try $0["created_at"],
                dueAt: try $0["due_at"], remoteKey: try $0["remote_key"])
        }
    }

    /// A call to this number that has not ended and is due within a time of another; one that is overdue is due now.
    public func open(
        _ company: CompanyID, to number: String, dueWithin window: TimeInterval, of due: Date, at now: Date
    ) throws -> String? {
        try transaction.rows(
            """
            SELECT id FROM calls WHERE company = ? AND remote_key = ? AND state IN \(SQL.marks(CallState.open.count))
                AND ABS(CASE WHEN due_at > ? THEN due_at ELSE ? END - ?) < ? LIMIT 1
            """,
            arguments: [company as any Storable, context.key(number)] + CallState.open.map { $0 as any Storable } + [
                now, now, due, window,
            ]
        ).first?["id"]
    }

    /// Whose a call is, and where its events are posted, beside the addresses that are told of all the company's calls.
    /// nil: it was erased.
    public func audience(of id: String) throws -> (company: CompanyID, webhook: String?)? {
        guard let row = try transaction.row("SELECT company, webhook FROM calls WHERE id = ?", id) else { return nil }
        let encrypted: Data? = try row["webhook"]
        return (try row["company"], try encrypted.map { try context.vault.open($0, row: "webhook/" + id) })
    }

    /// Ids of calls that ended before, oldest first.
    public func ended(_ company: CompanyID, before date: Date, limit: Int) throws -> [String] {
        try transaction.rows(
            """
            SELECT id FROM calls WHERE company = ? AND created_at < ? AND completed_at < ?
            ORDER BY created_at LIMIT ?
            """, company, date, date, limit
        ).map { try $0["id"] }
    }

    /// Ids of calls of a company, oldest first.
    public func ids(_ company: CompanyID, limit: Int) throws -> [String] {
        try transaction.rows("SELECT id FROM calls WHERE company = ? ORDER BY position LIMIT ?", company, limit).map {
            try $0["id"]
        }
    }

    // MARK: The list of ended calls that are not analysed yet

    public func noteEnded(_ id: String) throws {
        try transaction.run("INSERT INTO ended_calls (call_id) VALUES (?) ON CONFLICT (call_id) DO NOTHING", id)
    }

    /// In the order in which they ended.
    public func listEnded(limit: Int) throws -> [String] {
        try transaction.rows(
            "SELECT c.id FROM ended_calls e JOIN calls c ON c.id = e.call_id ORDER BY c.completed_at, c.id LIMIT ?",
            limit
        ).map { try $0["id"] }
    }

    public func forgetEnded(_ id: String) throws {
        try transaction.run("DELETE FROM ended_calls WHERE call_id = ?", id)
    }
}
