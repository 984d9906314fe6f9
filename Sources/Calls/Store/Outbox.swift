public import Foundation
internal import GRDB
internal import Synchronization

/// Who is told of events by HTTP, beside those whom a call names itself.
public struct WebhookSubscribers: Sendable, Equatable {
    public struct Endpoint: Sendable, Equatable {
        public var url: String
        /// Names of events; nil: all.
        public var events: Set<String>?
        public init(url: String, events: Set<String>? = nil) {
            self.url = url
            self.events = events
        }
    }
    public var endpoints: [Endpoint] = []
    /// Calls that end are put on a list.
    var wantsEndedCalls = false
    public init() {}
}

/// One message to one endpoint.
public struct Delivery: Sendable, Equatable {
    public enum State: String, Sendable, CaseIterable { case pending, delivered, dead }
    /// Of the list, `webhook-id` is `msg_` and it.
    public var id: Int64
    public var outboundID: String
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

extension CallStore {
    /// Messages that were delivered or given up are kept this long, days.
    private static let keptDays = 30.0
    /// Messages that wait; beyond it the oldest are given up.
    static let pendingLimit = 200_000

    private struct Message: Codable {
        var url: String
        var body: String
    }

    public func subscribe(_ endpoints: [WebhookSubscribers.Endpoint]) { subscribers.withLock { $0.endpoints = endpoints } }

    /// Puts an event into the outbox, in the transaction that stores it.
    func enqueue(_ event: CallEvent, of call: Call?, _ db: Database) throws {
        var urls = subscribers.withLock { $0.endpoints }.filter { $0.events?.contains(event.name) ?? true }.map(\.url)
        if let call {
            if let url = call.webhookURL { urls.append(url) }
        } else if let sealed = try Data.fetchOne(db, sql: "SELECT webhook FROM calls WHERE outbound_id = ?", arguments: [event.outboundID]) {
            urls.append(try vault.open(sealed, row: "webhook/" + event.outboundID))
        }
        for url in Set(urls) { try enqueue(url: url, body: event.envelope, name: event.name, of: event.outboundID, at: event.at, db) }
    }

    private func enqueue(url: String, body: String, name: String, of outboundID: String, at: Date, _ db: Database) throws {
        let message = String(decoding: try JSONEncoder().encode(Message(url: url, body: body)), as: UTF8.self)
        let time = at.timeIntervalSince1970
        try db.run(
            "INSERT INTO deliveries (stream, outbound_id, event, state, created_at, next_at, message) VALUES (?, ?, ?, 'pending', ?, ?, ?)",
            arguments: [
                numbers.hash("stream \(url) \(outboundID)"), outboundID, name, time, time,
                try vault.seal(message, row: "deliveries/\(outboundID)/\(name)"),
            ])
        guard db.lastInsertedRowID % 1_000 == 0 else { return }
        try db.run("DELETE FROM deliveries WHERE state <> 'pending' AND created_at < ?", arguments: [time - Self.keptDays * 86_400])
        try db.run(
            """
            UPDATE deliveries SET state = 'dead', last_error = 'too many messages wait'
            WHERE state = 'pending' AND id < (SELECT id FROM deliveries WHERE state = 'pending' ORDER BY id DESC LIMIT 1 OFFSET ?)
            """, arguments: [Self.pendingLimit])
    }

    /// Posts a text to an address of a call's own, in the order of its events.
    public func enqueue(body: String, named name: String, to url: String, of outboundID: String, at: Date) async throws(StoreError) {
        try await change { [self] db in try enqueue(url: url, body: body, name: name, of: outboundID, at: at, db) }
    }

    private static func delivery(_ row: Row, _ vault: Vault) throws -> Delivery {
        let call: String = row["outbound_id"], event: String = row["event"]
        let text = try vault.open(row["message"], row: "deliveries/\(call)/\(event)")
        let message = try JSONDecoder().decode(Message.self, from: Data(text.utf8))
        return Delivery(
            id: row["id"], outboundID: call, event: event, state: Delivery.State(rawValue: row["state"]) ?? .dead, attempts: row["attempts"],
            createdAt: Date(timeIntervalSince1970: row["created_at"]), nextAt: Date(timeIntervalSince1970: row["next_at"]),
            deliveredAt: (row["delivered_at"] as Double?).map { Date(timeIntervalSince1970: $0) }, lastStatus: row["last_status"],
            lastError: row["last_error"], url: message.url, body: message.body)
    }

    private static let heads = "id IN (SELECT MIN(id) FROM deliveries WHERE state = 'pending' GROUP BY stream)"

    /// Messages to send now: of each call and endpoint only the first that waits, so that their order is kept.
    func dueDeliveries(at now: Date, limit: Int) async throws(StoreError) -> [Delivery] {
        let (due, damaged) = try await look { [vault] db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT * FROM deliveries WHERE \(Self.heads) AND next_at <= ? ORDER BY next_at, id LIMIT ?",
                arguments: [now.timeIntervalSince1970, limit])
            let due = rows.map { row in try? Self.delivery(row, vault) }
            return (due.compactMap(\.self), zip(rows, due).filter { $0.1 == nil }.map { $0.0["id"] as Int64 })
        }
        if !damaged.isEmpty {
            // What cannot be read keeps nothing else waiting.
            try await change { db in
                for id in damaged {
                    try db.run("UPDATE deliveries SET state = 'dead', last_error = 'its row is damaged' WHERE id = ?", arguments: [id])
                }
            }
        }
        return due
    }

    func nextDelivery() async throws(StoreError) -> Date? {
        try await look { db in
            try Double.fetchOne(db, sql: "SELECT MIN(next_at) FROM deliveries WHERE \(Self.heads)").map { Date(timeIntervalSince1970: $0) }
        }
    }

    /// What came of one try.
    func tried(_ id: Int64, state: Delivery.State, status: Int?, error: String?, nextAt: Date, at now: Date) async throws(StoreError) {
        try await change { db in
            try db.run(
                """
                UPDATE deliveries SET state = ?, attempts = attempts + 1, last_status = ?, last_error = ?, next_at = ?, delivered_at = ?
                WHERE id = ?
                """,
                arguments: [
                    state.rawValue, status, error, nextAt.timeIntervalSince1970, state == .delivered ? now.timeIntervalSince1970 : nil, id,
                ])
        }
    }

    /// Newest first.
    public func deliveries(state: Delivery.State?, of outboundID: String?, limit: Int, cursor: Int64?) async throws(StoreError) -> DeliveryPage {
        let before = cursor ?? .max
        return try await look { [vault] db in
            var conditions = ["id < ?"]
            var arguments: [any DatabaseValueConvertible] = [before]
            if let state {
                conditions.append("state = ?")
                arguments.append(state.rawValue)
            }
            if let outboundID {
                conditions.append("outbound_id = ?")
                arguments.append(outboundID)
            }
            let rows = try Row.fetchAll(
                db, sql: "SELECT * FROM deliveries WHERE \(conditions.joined(separator: " AND ")) ORDER BY id DESC LIMIT \(limit + 1)",
                arguments: StatementArguments(arguments))
            let cursor = rows.count > limit ? rows[limit - 1]["id"] as Int64 : nil
            return DeliveryPage(
                items: try Self.opened(rows.prefix(limit)) { try Self.delivery($0, vault) }, nextCursor: cursor)
        }
    }

    /// Sends messages again, with all their tries: one, or all that were given up. Returns how many.
    public func replay(_ id: Int64?, at now: Date) async throws(StoreError) -> Int {
        try await change { db in
            try db.run(
                "UPDATE deliveries SET state = 'pending', attempts = 0, next_at = ? WHERE "
                    + (id == nil ? "state = 'dead'" : "id = ? AND state <> 'pending'"),
                arguments: id.map { [now.timeIntervalSince1970, $0] } ?? [now.timeIntervalSince1970])
            return db.changesCount
        }
    }
}
