public import Foundation
internal import GRDB

/// Somebody who must not be called.
public struct DoNotCallEntry: Sendable, Equatable, Codable {
    public var number: String
    public var reason: String
    public var addedAt: Date
    public var addedBy: String
    public init(number: String, reason: String, addedAt: Date, addedBy: String) {
        self.number = number
        self.reason = reason
        self.addedAt = addedAt
        self.addedBy = addedBy
    }
}

/// A number of ours that may be shown to callees.
public struct CallerNumber: Sendable, Equatable, Codable {
    public var number: String
    public var label: String
    /// Calls in a day; nil: the policy's.
    public var dailyCap: Int?
    /// What the AI does for who calls the number; nil: it is no number of the AI's, or one of `inbound.numbers`.
    public var templateID: String?
    public var addedAt: Date
    public var addedBy: String
    public init(number: String, label: String, dailyCap: Int?, templateID: String? = nil, addedAt: Date, addedBy: String) {
        self.templateID = templateID
        self.number = number
        self.label = label
        self.dailyCap = dailyCap
        self.addedAt = addedAt
        self.addedBy = addedBy
    }

    init(sealed: Data, key: String, _ vault: Vault) throws {
        self = try JSONDecoder().decode(CallerNumber.self, from: Data(try vault.open(sealed, row: "caller_numbers/" + key).utf8))
    }
}

extension CallStore {
    public static let doNotCallLimit = 1_000_000
    public static let callerNumberLimit = 10_000

    /// Rows of a list of numbers, newest first.
    public struct NumberPage<Item: Sendable>: Sendable {
        public var items: [Item]
        public var nextCursor: Int64?
        public var total: Int
    }

    private enum List: String {
        case doNotCall = "do_not_call"
        case callerNumbers = "caller_numbers"
        var limit: Int { self == .doNotCall ? doNotCallLimit : callerNumberLimit }
    }

    /// A number under its keyed hash; one that is there is replaced. Returns how many are new.
    private func add<Item: Codable & Sendable>(_ items: [(number: String, item: Item)], to list: List) async throws(StoreError) -> Int {
        try await change { [self] db in
            var position = try Int64.fetchOne(db, sql: "SELECT COALESCE(MAX(position), 0) FROM \(list.rawValue)") ?? 0
            let before = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM \(list.rawValue)") ?? 0
            guard before + items.count <= list.limit else { throw StoreError(.conflict, "the list is full: \(list.limit) numbers") }
            for (number, item) in items {
                let key = numbers.hash(plan.key(number))
                let text = String(decoding: try JSONEncoder().encode(item), as: UTF8.self)
                position += 1
                try db.run(
                    """
                    INSERT INTO \(list.rawValue) (key, position, entry) VALUES (?, ?, ?)
                    ON CONFLICT (key) DO UPDATE SET entry = excluded.entry
                    """, arguments: [key, position, try vault.seal(text, row: "\(list.rawValue)/\(key)")])
            }
            return (try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM \(list.rawValue)") ?? 0) - before
        }
    }

    private func remove(_ number: String, from list: List) async throws(StoreError) {
        let key = numbers.hash(plan.key(number))
        try await change { db in
            try db.run("DELETE FROM \(list.rawValue) WHERE key = ?", arguments: [key])
            if db.changesCount == 0 { throw StoreError(.notFound, "the number is not on the list") }
        }
    }

    private func list<Item: Codable & Sendable>(_ list: List, search: String?, limit: Int, cursor: Int64?) async throws(StoreError) -> NumberPage<
        Item
    > {
        let before = cursor ?? .max
        let key = search.flatMap { $0.isEmpty ? nil : numbers.hash(plan.key($0)) }
        return try await look { [vault] db in
            let rows = try Row.fetchAll(
                db,
                sql: "SELECT * FROM \(list.rawValue) WHERE position < ?\(key == nil ? "" : " AND key = ?") ORDER BY position DESC LIMIT ?",
                arguments: key.map { [before, $0, limit + 1] } ?? [before, limit + 1])
            let items = try Self.opened(rows.prefix(limit)) { row in
                let text = try vault.open(row["entry"], row: "\(list.rawValue)/\(row["key"] as String)")
                return try JSONDecoder().decode(Item.self, from: Data(text.utf8))
            }
            let cursor = rows.count > limit ? rows[limit - 1]["position"] as Int64 : nil
            return NumberPage(
                items: items, nextCursor: cursor,
                total: try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM \(list.rawValue)") ?? 0)
        }
    }

    // MARK: Do not call

    public func addDoNotCall(_ entries: [DoNotCallEntry]) async throws(StoreError) -> Int {
        try await add(entries.map { ($0.number, $0) }, to: .doNotCall)
    }
    public func removeDoNotCall(_ number: String) async throws(StoreError) { try await remove(number, from: .doNotCall) }
    /// - Parameter callee: a number, or a SIP address that may stand for one.
    public func isOnDoNotCallList(_ callee: String) async throws(StoreError) -> Bool {
        let key = calleeKey(callee)
        return try await look { db in try Bool.fetchOne(db, sql: "SELECT 1 FROM do_not_call WHERE key = ?", arguments: [key]) != nil }
    }
    public func doNotCall(search: String? = nil, limit: Int = 50, cursor: Int64? = nil) async throws(StoreError) -> NumberPage<DoNotCallEntry> {
        try await list(.doNotCall, search: search, limit: limit, cursor: cursor)
    }

    // MARK: Numbers of ours

    public func addCallerNumber(_ number: CallerNumber) async throws(StoreError) { _ = try await add([(number.number, number)], to: .callerNumbers) }
    public func removeCallerNumber(_ number: String) async throws(StoreError) { try await remove(number, from: .callerNumbers) }
    public func callerNumbers(search: String? = nil, limit: Int = 50, cursor: Int64? = nil) async throws(StoreError) -> NumberPage<CallerNumber> {
        try await list(.callerNumbers, search: search, limit: limit, cursor: cursor)
    }
    /// Numbers with a template of their own, and what is to be done for their callers.
    func assignments() async throws(StoreError) -> [String: CallTemplate] {
        let templates = Dictionary(try await templates().map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        var found: [String: CallTemplate] = [:]
        var cursor: Int64?
        repeat {
            let page = try await callerNumbers(limit: 500, cursor: cursor)
            for number in page.items { if let template = number.templateID.flatMap({ templates[$0] }) { found[plan.key(number.number)] = template } }
            cursor = page.nextCursor
        } while cursor != nil
        return found
    }

    public func isCallerNumber(_ number: String) async throws(StoreError) -> Bool {
        let key = numbers.hash(plan.key(number))
        return try await look { db in try Bool.fetchOne(db, sql: "SELECT 1 FROM caller_numbers WHERE key = ?", arguments: [key]) != nil }
    }

    /// Calls in which a number was shown, since a time.
    public func dials(showing number: String, since: Date) async throws(StoreError) -> Int {
        let key = numbers.hash(plan.key(number))
        return try await look { db in
            try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM dials WHERE caller_key = ? AND at >= ?", arguments: [key, since.timeIntervalSince1970])
                ?? 0
        }
    }
}
