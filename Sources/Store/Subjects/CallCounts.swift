internal import Foundation

/// What to know of calls that have not ended.
public struct ActiveFilter: Sendable, Equatable {
    public static let states: [CallState] = [.queued, .dialing, .ringing, .connected]
    public var direction = CallDirection.outbound
    public var states = Self.states
    public var limit = CallFilter.limitRange.upperBound
    /// `nextCursor` of the page before.
    public var cursor: Int64?
    public init() {}
}

/// What `/metrics` tells of the store.
public struct StoreCounts: Sendable {
    public var states: [CallState: Int] = [:]
    public var deliveries: [Delivery.State: Int] = [:]
    public var lastEvent: Int64 = 0
    public var blockedRequests = 0
    public var databaseBytes = 0
}

/// Totals of the calls that we placed.
public struct CallTotals: Sendable {
    public struct Day: Sendable, Equatable {
        /// `2026-11-24`, UTC.
        public var day: String
        public var total: Int
        public var completed: Int
    }
    public var states: [CallState: Int] = [:]
    public var averageDuration: Double?
    /// The newest first.
    public var days: [Day] = []
}

extension CallRows {
    /// Days of the totals.
    private static let dayLimit = 31

    /// Those that have not ended, oldest first, and how many there are in each state, asked for or not: however long
    /// the queue is, a page of them.
    public func active(_ company: CompanyID, _ filter: ActiveFilter) throws -> (
        page: RecordPage, states: [CallState: Int]
    ) {
        let states = try states(company, of: filter.direction).filter { !$0.key.isTerminal }
        var arguments: [any Storable] = [company, filter.direction]
        arguments += filter.states.map { $0 as any Storable }
        arguments += [filter.cursor ?? 0, filter.limit + 1] as [any Storable]
        let rows = try transaction.rows(
            """
            SELECT \(Self.columns), position FROM calls\(context.dialect.hintByState)
            WHERE company = ? AND direction = ? AND state IN \(SQL.marks(filter.states.count)) AND position > ?
            ORDER BY position LIMIT ?
            """, arguments: arguments)
        let shown = rows.prefix(filter.limit)
        let page = RecordPage(
            records: try shown.map { try CallRecord($0, context.vault) },
            nextCursor: rows.count > filter.limit ? try shown.last?["position"] : nil,
            total: filter.states.reduce(0) { $0 + (states[$1] ?? 0) })
        return (page, states)
    }

    private func states(_ company: CompanyID, of direction: CallDirection) throws -> [CallState: Int] {
        var states: [CallState: Int] = [:]
        for row in try transaction.rows(
            "SELECT state, n FROM call_counts WHERE company = ? AND direction = ?", company, direction)
        {
            if let state = CallState(rawValue: try row["state"]) { states[state] = try row["n"] }
        }
        return states
    }

    public func totals(_ company: CompanyID) throws -> CallTotals {
        let direction = CallDirection.outbound
        return CallTotals(
            states: try states(company, of: direction),
            averageDuration: try transaction.value(
                "SELECT SUM(seconds) / NULLIF(SUM(ended), 0) FROM call_days WHERE company = ? AND direction = ?",
                company, direction),
            days: try transaction.rows(
                """
                SELECT day, total, completed FROM call_days WHERE company = ? AND direction = ? AND total > 0
                ORDER BY day DESC LIMIT ?
                """, company, direction, Self.dayLimit
            ).map { .init(day: try $0["day"], total: try $0["total"], completed: try $0["completed"]) })
    }

    /// Calls that we placed, that were answered and have ended, newest first.
    public func answered(_ company: CompanyID, limit: Int) throws -> [CallRecord] {
        try transaction.rows(
            """
            SELECT \(Self.columns) FROM calls
            WHERE company = ? AND direction = ? AND answered_at IS NOT NULL AND completed_at IS NOT NULL
            ORDER BY position DESC LIMIT ?
            """, company, CallDirection.outbound, limit
        ).map { try CallRecord($0, context.vault) }
    }

    /// Calls that were placed on a day, `2026-11-24`, UTC.
    public func placed(_ company: CompanyID, on day: String) throws -> Int {
        try transaction.count(
            "SELECT total FROM call_days WHERE company = ? AND direction = ? AND day = ?", company,
            CallDirection.outbound, day)
    }

    /// Calls that have not ended, in both directions.
    public func live(_ company: CompanyID) throws -> Int {
        try transaction.rows(
            """
            SELECT COALESCE(SUM(n), 0) FROM call_counts
            WHERE company = ? AND state IN \(SQL.marks(CallState.open.count)) AND state <> 'queued'
            """, arguments: [company as any Storable] + CallState.open.map { $0 as any Storable }
        ).first?[0] ?? 0
    }
}

extension Storage {
    /// What `/metrics` tells of a company. (The latest event and the size are the installation's.)
    public func counts(_ company: CompanyID) async throws(StoreError) -> StoreCounts {
        try await read { work in
            let transaction = work.transaction
            var counts = StoreCounts()
            for row in try transaction.rows(
                "SELECT state, SUM(n) AS n FROM call_counts WHERE company = ? GROUP BY state", company)
            {
                if let state = CallState(rawValue: try row["state"]) { counts.states[state] = try row["n"] }
            }
            for row in try transaction.rows(
                "SELECT state, COUNT(*) AS n FROM deliveries WHERE company = ? GROUP BY state", company)
            {
                if let state = Delivery.State(rawValue: try row["state"]) { counts.deliveries[state] = try row["n"] }
            }
            counts.lastEvent = try work.events.latest()
            counts.blockedRequests = try transaction.count(
                "SELECT COUNT(*) FROM audit WHERE company = ? AND action = 'dial.blocked'", company)
            counts.databaseBytes = try work.context.dialect.bytes(transaction)
            return counts
        }
    }
}
