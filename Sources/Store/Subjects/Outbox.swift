public import Foundation
internal import Problems

/// One message to one endpoint.
public struct Delivery: Sendable, Equatable {
    public enum State: String, Sendable, CaseIterable { case pending, delivered, dead }
    /// Of the list, `webhook-id` is `msg_` and it.
    public var id: Int64
    public var callID: String
    /// Of the call: by its secret the message is signed.
    public var company: CompanyID
    public var event: String
    public var state: State
    public var attempts: Int
    public var createdAt: Date
    /// When it is tried next, while it is pending.
    public var nextAt: Date
    public var deliveredAt: Date?
    public var lastStatus: Int?
    public var lastError: String?
    public var url: String
    /// JSON.
    public var body: String
}

public struct DeliveryPage: Sendable {
    public var items: [Delivery]
    public var nextCursor: Int64?
}

/// Messages to be posted, inside a transaction.
public struct OutboxRows {
    /// Messages that were delivered or given up are kept this long, days.
    private static let keptDays = 30.0
    /// Messages that wait; beyond it the oldest are given up.
    static let pendingLimit = 200_000
    /// One message in so many triggers the removal of old ones.
    private static let sweep: Int64 = 1_000

    private struct Message: Codable {
        var url: String
        var body: String
    }

    let transaction: any Transaction
    let context: Context

    /// Puts a message behind those of the same call to the same endpoint.
    public func enqueue(
        _ company: CompanyID, url: String, body: String, named name: String, of call: String, at: Date
    ) throws {
        let id: Int64? = try transaction.value(
            """
            INSERT INTO deliveries (company, stream, call_id, event, state, created_at, next_at, message)
            VALUES (?, ?, ?, ?, 'pending', ?, ?, ?) RETURNING id
            """,
            company, context.numbers.hash("stream \(url) \(call)"), call, name, at, at, Data())
        guard let id else { throw StoreError(.unavailable, .databaseGaveNoId) }
        try transaction.run(
            "UPDATE deliveries SET message = ? WHERE id = ?",
            try context.encrypt(Message(url: url, body: body), row: Self.row(id, call, name)), id)
        guard id % Self.sweep == 0 else { return }
        try transaction.run(
            "DELETE FROM deliveries WHERE state <> 'pending' AND created_at < ?",
            at.addingTimeInterval(-Self.keptDays * 86_400))
        try transaction.run(
            """
            UPDATE deliveries SET state = 'dead', last_error = 'too many messages wait'
            WHERE state = 'pending' AND id < (
                SELECT id FROM deliveries WHERE state = 'pending' ORDER BY id DESC LIMIT 1 OFFSET ?)
            """, Self.pendingLimit)
    }

    /// What a message is bound to, its id too: an event goes to several endpoints.
    static func row(_ id: Int64, _ call: String, _ event: String) -> String { "deliveries/\(call)/\(event)/\(id)" }

    private func delivery(_ row: Row) throws -> Delivery {
        let id: Int64 = try row["id"], call: String = try row["call_id"], event: String = try row["event"]
        let message: Message = try context.open(row["message"], row: Self.row(id, call, event))
        return Delivery(
            id: id, callID: call, company: try row["company"], event: event,
            state: Delivery.State(rawValue: try row["state"]) ?? .dead,
            attempts: try row["attempts"], createdAt: try row["created_at"], nextAt: try row["next_at"],
            deliveredAt: try row["delivered_at"], lastStatus: try row["last_status"], lastError: try row["last_error"],
            url: message.url, body: message.body)
    }

    /// The first message that waits, of each call and endpoint.
    private static let heads: SQL = "id IN (SELECT MIN(id) FROM deliveries WHERE state = 'pending' GROUP BY stream)"

    /// Messages to send now: of each call and endpoint only the first that waits, so that their order is kept.
    /// - Returns: also the ids of rows that cannot be read.
    public func due(at now: Date, limit: Int) throws -> (deliveries: [Delivery], damaged: [Int64]) {
        var result: (deliveries: [Delivery], damaged: [Int64]) = ([], [])
        for row in try transaction.rows(
            "SELECT * FROM deliveries WHERE \(Self.heads) AND next_at <= ? ORDER BY next_at, id LIMIT ?", now, limit)
        {
            if let delivery = try? delivery(row) {
                result.deliveries.append(delivery)
            } else {
                result.damaged.append(try row["id"])
            }
        }
        return result
    }

    public func giveUp(_ ids: [Int64], error: String) throws {
        for id in ids {
            try transaction.run("UPDATE deliveries SET state = 'dead', last_error = ? WHERE id = ?", error, id)
        }
    }

    /// When the next message is to be sent.
    public func next() throws -> Date? {
        try transaction.value("SELECT MIN(next_at) FROM deliveries WHERE \(Self.heads)")
    }

    /// What came of one try.
    public func tried(_ id: Int64, state: Delivery.State, status: Int?, error: String?, nextAt: Date, at now: Date)
        throws
    {
        try transaction.run(
            """
            UPDATE deliveries SET state = ?, attempts = attempts + 1, last_status = ?, last_error = ?, next_at = ?,
                delivered_at = ?
            WHERE id = ?
            """, state.rawValue, status, error, nextAt, state == .delivered ? now : Date?.none, id)
    }

    /// Newest first.
    public func page(_ company: CompanyID, state: Delivery.State?, of call: String?, limit: Int, cursor: Int64?) throws
        -> DeliveryPage
    {
        var conditions: [SQL] = ["company = ?", "id < ?"]
        var arguments: [any Storable] = [company, cursor ?? .max]
        if let state {
            conditions.append("state = ?")
            arguments.append(state.rawValue)
        }
        if let call {
            conditions.append("call_id = ?")
            arguments.append(call)
        }
        let rows = try transaction.rows(
            "SELECT * FROM deliveries WHERE \(conditions.joined(separator: " AND ")) ORDER BY id DESC LIMIT ?",
            arguments: arguments + [limit + 1])
        return DeliveryPage(
            items: try Storage.opened(rows.prefix(limit)) { try delivery($0) },
            nextCursor: rows.count > limit ? try rows[limit - 1]["id"] : nil)
    }

    /// Sends messages again, with all their tries: one, or all that were given up. Returns how many.
    public func replay(_ company: CompanyID, _ id: Int64?, at now: Date) throws -> Int {
        let change: SQL = "UPDATE deliveries SET state = 'pending', attempts = 0, next_at = ? WHERE company = ? AND "
        guard let id else { return try transaction.run(change + "state = 'dead'", now, company) }
        return try transaction.run(change + "id = ? AND state <> 'pending'", now, company, id)
    }
}

/// Where events are posted to.
public struct WebhookEndpoint: Sendable, Equatable {
    public var url: String
    /// Names of events; nil: all.
    public var events: Set<String>?
    public init(url: String, events: Set<String>? = nil) {
        self.url = url
        self.events = events
    }
}

/// The messages of all companies, for who sends them; each step is a transaction of its own.
public struct Outbox: Sendable {
    let storage: Storage

    /// Messages to send now: of each call and endpoint only the first that waits, so that their order is kept.
    public func due(at now: Date, limit: Int) async throws(StoreError) -> [Delivery] {
        let (due, damaged) = try await storage.read { try $0.outbox.due(at: now, limit: limit) }
        if !damaged.isEmpty {
            // What cannot be read keeps nothing else waiting.
            try await storage.write { try $0.outbox.giveUp(damaged, error: "its row is damaged") }
        }
        return due
    }

    /// When the next message is to be sent; nil: none waits.
    public func next() async throws(StoreError) -> Date? { try await storage.read { try $0.outbox.next() } }

    /// Stores the result of one try.
    public func tried(_ id: Int64, state: Delivery.State, status: Int?, error: String?, nextAt: Date, at now: Date)
        async throws(StoreError)
    {
        try await storage.write {
            try $0.outbox.tried(id, state: state, status: status, error: error, nextAt: nextAt, at: now)
        }
    }

}

/// A company's messages.
public struct Deliveries: Sendable {
    let storage: Storage
    let company: CompanyID

    /// Newest first.
    public func page(state: Delivery.State?, of callID: String?, limit: Int, cursor: Int64?)
        async throws(StoreError) -> DeliveryPage
    {
        try await storage.read { [company] in
            try $0.outbox.page(company, state: state, of: callID, limit: limit, cursor: cursor)
        }
    }

    /// Sends messages again, with all their tries: one, or all that were given up. Returns how many.
    public func replay(_ id: Int64?, at now: Date) async throws(StoreError) -> Int {
        try await storage.write { [company] in try $0.outbox.replay(company, id, at: now) }
    }
}
