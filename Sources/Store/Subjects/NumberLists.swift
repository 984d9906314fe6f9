public import Foundation
internal import Problems

/// An entry of the do-not-call list.
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
    /// The template for calls to the number; nil: the AI does not answer the number, or it is in `inbound.numbers`.
    public var templateID: String?
    /// The agent for calls to the number, in place of a template: `salon`, or `salon@7`.
    public var agent: String?
    public var addedAt: Date
    public var addedBy: String
    public init(
        number: String, label: String, dailyCap: Int?, templateID: String? = nil, agent: String? = nil, addedAt: Date,
        addedBy: String
    ) {
        self.templateID = templateID
        self.agent = agent
        self.number = number
        self.label = label
        self.dailyCap = dailyCap
        self.addedAt = addedAt
        self.addedBy = addedBy
    }
}

/// Rows of a list of numbers, newest first.
public struct NumberPage<Item: Sendable>: Sendable {
    public var items: [Item]
    public var nextCursor: Int64?
    public var total: Int
}

/// Numbers that must not be called, and our own. Each stands under its keyed hash.
public struct NumberLists: Sendable {
    public static let doNotCallLimit = 1_000_000
    public static let callerNumberLimit = 10_000

    private enum List: Sendable {
        case doNotCall, callerNumbers
        var table: SQL { self == .doNotCall ? "do_not_call" : "caller_numbers" }
        var limit: Int { self == .doNotCall ? doNotCallLimit : callerNumberLimit }
        /// The name by which a row is encrypted.
        func row(_ key: String) -> String { (self == .doNotCall ? "do_not_call/" : "caller_numbers/") + key }
    }

    let storage: Storage

    /// One that is there is replaced. Returns how many are new.
    private func add<Item: Codable & Sendable>(_ items: [(number: String, item: Item)], to list: List)
        async throws(StoreError) -> Int
    {
        try await storage.write { work in
            let before = try work.transaction.count("SELECT COUNT(*) FROM \(list.table)")
            guard before + items.count <= list.limit else {
                throw StoreError(.conflict, .listFull, ["limit": .number(list.limit)])
            }
            var position: Int64 = try work.transaction.value("SELECT MAX(position) FROM \(list.table)") ?? 0
            for (number, item) in items {
                let key = work.context.key(number)
                position += 1
                try work.transaction.run(
                    """
                    INSERT INTO \(list.table) (key, position, entry) VALUES (?, ?, ?)
                    ON CONFLICT (key) DO UPDATE SET entry = excluded.entry
                    """, key, position, try work.context.encrypt(item, row: list.row(key)))
            }
            return try work.transaction.count("SELECT COUNT(*) FROM \(list.table)") - before
        }
    }

    private func remove(_ number: String, from list: List) async throws(StoreError) {
        try await storage.write { work in
            let changed = try work.transaction.run(
                "DELETE FROM \(list.table) WHERE key = ?", work.context.key(number))
            if changed == 0 { throw StoreError(.notFound, .numberNotListed) }
        }
    }

    private func page<Item: Codable & Sendable>(_ list: List, search: String?, limit: Int, cursor: Int64?)
        async throws(StoreError) -> NumberPage<Item>
    {
        let before = cursor ?? .max
        let search = search.flatMap { $0.isEmpty ? nil : $0 }
        return try await storage.read { work in
            let rows =
                try search.map {
                    try work.transaction.rows(
                        "SELECT * FROM \(list.table) WHERE position < ? AND key = ? ORDER BY position DESC LIMIT ?",
                        before, work.context.key($0), limit + 1)
                }
                ?? work.transaction.rows(
                    "SELECT * FROM \(list.table) WHERE position < ? ORDER BY position DESC LIMIT ?", before, limit + 1)
            return NumberPage(
                items: try Storage.opened(rows.prefix(limit)) { row -> Item in
                    try work.context.open(row["entry"], row: list.row(row["key"]))
                },
                nextCursor: rows.count > limit ? try rows[limit - 1]["position"] : nil,
                total: try work.transaction.count("SELECT COUNT(*) FROM \(list.table)"))
        }
    }

    private func contains(_ number: String, _ list: List) async throws(StoreError) -> Bool {
        try await storage.read { work in
            try work.transaction.exists("SELECT 1 FROM \(list.table) WHERE key = ?", work.context.key(number))
        }
    }

    // MARK: Do not call

    public func addDoNotCall(_ entries: [DoNotCallEntry]) async throws(StoreError) -> Int {
        try await add(entries.map { ($0.number, $0) }, to: .doNotCall)
    }
    public func removeDoNotCall(_ number: String) async throws(StoreError) {
        try await remove(number, from: .doNotCall)
    }
    /// - Parameter callee: a number, or a SIP address that may stand for one.
    public func isOnDoNotCallList(_ callee: String) async throws(StoreError) -> Bool {
        try await contains(callee, .doNotCall)
    }
    public func doNotCall(search: String? = nil, limit: Int = 50, cursor: Int64? = nil) async throws(StoreError)
        -> NumberPage<DoNotCallEntry>
    {
        try await page(.doNotCall, search: search, limit: limit, cursor: cursor)
    }

    // MARK: Numbers of ours

    public func addCallerNumber(_ number: CallerNumber) async throws(StoreError) {
        _ = try await add([(number.number, number)], to: .callerNumbers)
    }
    public func removeCallerNumber(_ number: String) async throws(StoreError) {
        try await remove(number, from: .callerNumbers)
    }
    public func callerNumbers(search: String? = nil, limit: Int = 50, cursor: Int64? = nil) async throws(StoreError)
        -> NumberPage<CallerNumber>
    {
        try await page(.callerNumbers, search: search, limit: limit, cursor: cursor)
    }
    public func isCallerNumber(_ number: String) async throws(StoreError) -> Bool {
        try await contains(number, .callerNumbers)
    }

    /// Calls in which a number was shown, since a time.
    public func dials(showing number: String, since: Date) async throws(StoreError) -> Int {
        try await storage.read { work in
            try work.dials.count(from: work.context.key(number), since: since, until: .distantFuture)
        }
    }
}
