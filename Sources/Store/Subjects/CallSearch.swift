public import Foundation

public struct CallFilter: Sendable, Equatable {
    public static let limitRange = 1...200
    /// Characters of a search.
    public static let searchLimit = 200
    public var direction = CallDirection.outbound
    public var state: CallState?
    public var carrier: String?
    public var dialect: String?
    /// Found in purpose, id and numbers.
    public var search: String?
    public var from: Date?
    public var to: Date?
    public var limit = 50
    /// `nextCursor` of the page before.
    public var cursor: Int64?
    public init() {}

    var isByWay: Bool { carrier != nil || dialect != nil }
}

/// A page of calls, newest first.
public struct RecordPage: Sendable {
    public var records: [CallRecord]
    /// Pass it to get the next page; nil on the last.
    public var nextCursor: Int64?
    public var total: Int
    /// There are more than were counted.
    public var isTotalCapped = false
}

extension CallRows {
    /// Calls of a search that are counted; beyond it the total says so. Fewer where every match must be looked up.
    public static let countLimit = 1_000
    private static let lookedUpLimit = 250
    /// Words of a search that are looked for.
    private static let wordLimit = 16

    /// One way in which calls are found; a search may have several.
    private struct Branch {
        var tables: SQL = "calls"
        /// Gives a call's position.
        var position: SQL = "position"
        var isByWords = false
        /// Calls are found by the words as they stand first, and by the beginning of the last one where those are few.
        var wholeWords: String?
        var countLimit = CallRows.countLimit
        var conditions: [SQL] = []
        var arguments: [any Storable] = []

        func select(_ columns: SQL) -> SQL {
            let all: SQL = "SELECT \(columns) FROM \(tables)"
            return conditions.isEmpty ? all : all + " WHERE " + conditions.joined(separator: " AND ")
        }

        /// Those that hold the words as they stand.
        func whole(_ words: String) -> Branch {
            var branch = self
            branch.arguments[branch.arguments.count - 1] = words
            return branch
        }

        /// Their number, as far as it is counted.
        func count(_ transaction: any Transaction) throws -> Int {
            try transaction.rows(
                "SELECT COUNT(*) FROM (\(select(position)) LIMIT ?) AS found", arguments: arguments + [countLimit]
            ).first?[0] ?? 0
        }

        /// Those found by words come in the order of their positions by themselves: as many as are counted, newest
        /// first. What stands there whole is enough where there is enough of it.
        func newestByWords(_ transaction: any Transaction) throws -> [Int64] {
            if let wholeWords {
                let found = try whole(wholeWords).newestInOrder(transaction)
                if found.count >= countLimit { return found }
            }
            return try newestInOrder(transaction)
        }

        private func newestInOrder(_ transaction: any Transaction) throws -> [Int64] {
            try transaction.rows(
                "\(select(position)) ORDER BY \(position) DESC LIMIT ?", arguments: arguments + [countLimit]
            ).map { try $0[0] }
        }

        /// The newest of them, before a position. Few are found by their index and sorted; of many, the newest come
        /// first by themselves.
        func newest(
            _ count: Int, before: Int64?, areFew: Bool, isByTime: Bool, _ dialect: any Dialect,
            _ transaction: any Transaction
        ) throws -> [Int64] {
            var branch = self
            if let before {
                branch.conditions.append((areFew || isByTime ? dialect.unindexed : "") + position + " < ?")
                branch.arguments.append(before)
                if isByTime, !areFew {
                    branch.conditions.append("created_at <= (SELECT created_at FROM calls WHERE position = ?)")
                    branch.arguments.append(before)
                }
            }
            let order: SQL =
                areFew
                ? "\(dialect.unindexed)\(position) DESC"
                : isByTime ? "created_at DESC, position DESC" : "\(position) DESC"
            return try transaction.rows(
                "\(branch.select(position)) ORDER BY \(order) LIMIT ?", arguments: branch.arguments + [count]
            ).map { try $0[0] }
        }
    }

    /// A page of calls. What is searched is found in purposes by words, in ids by their beginning, and in numbers whole
    /// or by the last four digits.
    public func page(_ company: CompanyID, _ filter: CallFilter) throws -> RecordPage {
        let branches = try branches(company, filter)
        let isByTime = filter.from != nil || filter.to != nil
        let isUnfiltered = !isByTime && !filter.isByWay && (filter.search ?? "").isEmpty
        var found: Set<Int64> = []
        var total = isUnfiltered ? try counted(company, filter) : 0
        var isCapped = false
        for branch in branches {
            var areFew = false
            var branch = branch
            if branch.isByWords, filter.cursor == nil {
                let newest = try branch.newestByWords(transaction)
                isCapped = isCapped || newest.count >= branch.countLimit
                total += newest.count
                found.formUnion(newest.prefix(filter.limit + 1))
                continue
            }
            if !isUnfiltered {
                var count = 0
                if let words = branch.wholeWords {
                    let whole = branch.whole(words)
                    count = try whole.count(transaction)
                    if count >= branch.countLimit { branch = whole } else { count = try branch.count(transaction) }
                } else {
                    count = try branch.count(transaction)
                }
                areFew = count < branch.countLimit
                isCapped = isCapped || !areFew
                total += count
            }
            found.formUnion(
                try branch.newest(
                    filter.limit + 1, before: filter.cursor, areFew: areFew, isByTime: isByTime && !branch.isByWords,
                    context.dialect, transaction))
        }
        if branches.count > 1, !isCapped {
            // A call may have been found in more than one way.
            let union = branches.map { $0.select($0.position) }.joined(separator: " UNION ")
            total =
                try transaction.rows(
                    "SELECT COUNT(*) FROM (\(union)) AS found", arguments: branches.flatMap(\.arguments)
                ).first?[0] ?? 0
        }
        let positions = found.sorted(by: >).prefix(filter.limit + 1)
        let shown = Array(positions.prefix(filter.limit))
        return RecordPage(
            records: try records(at: shown), nextCursor: positions.count > filter.limit ? shown.last : nil,
            total: total, isTotalCapped: isCapped)
    }

    private func records(at positions: [Int64]) throws -> [CallRecord] {
        try transaction.rows(
            """
            SELECT \(Self.columns) FROM calls WHERE position IN \(SQL.marks(positions.count)) ORDER BY position DESC
            """, arguments: positions.map { $0 as any Storable }
        ).map { try CallRecord($0, context.vault) }
    }

    /// From the counters by state.
    private func counted(_ company: CompanyID, _ filter: CallFilter) throws -> Int {
        let sum: SQL = "SELECT COALESCE(SUM(n), 0) FROM call_counts WHERE company = ? AND direction = ?"
        guard let state = filter.state else { return try transaction.count(sum, company, filter.direction) }
        return try transaction.count(sum + " AND state = ?", company, filter.direction, state)
    }

    private func branches(_ company: CompanyID, _ filter: CallFilter) throws -> [Branch] {
        // An index by time, number or id is better than that of all calls of a direction.
        let unindexed = context.dialect.unindexed
        let isByDirection = filter.from == nil && filter.to == nil
        func base(isByDirection: Bool, isByState: Bool = true) -> Branch {
            var branch = Branch()
            branch.conditions = ["company = ?", isByDirection ? "direction = ?" : "\(unindexed)direction = ?"]
            branch.arguments = [company, filter.direction]
            if let state = filter.state {
                branch.conditions.append(isByState ? "state = ?" : "\(unindexed)state = ?")
                branch.arguments.append(state)
            }
            if let carrier = filter.carrier {
                branch.conditions.append(isByDirection ? "carrier = ?" : "\(unindexed)carrier = ?")
                branch.arguments.append(carrier)
            }
            if let dialect = filter.dialect {
                branch.conditions.append(isByDirection ? "dialect = ?" : "\(unindexed)dialect = ?")
                branch.arguments.append(dialect)
            }
            if let from = filter.from {
                branch.conditions.append("created_at >= ?")
                branch.arguments.append(from)
            }
            if let to = filter.to {
                branch.conditions.append("created_at < ?")
                branch.arguments.append(to)
            }
            return branch
        }
        guard let search = filter.search?.trimmingCharacters(in: .whitespaces), !search.isEmpty else {
            return [base(isByDirection: isByDirection)]
        }
        var branches: [Branch] = []
        func add(_ condition: SQL, isByID: Bool = false, _ arguments: any Storable...) {
            var branch = base(isByDirection: false, isByState: false)
            if isByID { branch.conditions[0] = "\(unindexed)company = ?" }
            branch.conditions.append(condition)
            branch.arguments += arguments
            branches.append(branch)
        }
        if search.lowercased().hasPrefix(filter.direction.idPrefix) {
            let id = search.lowercased()
            add("id >= ? AND id < ?", isByID: true, id, id + "~")
            return branches
        }
        // Words lead to calls that we placed alone.
        let words = filter.direction == .inbound ? [] : Array(context.reading.words(search).prefix(Self.wordLimit))
        if !words.isEmpty {
            let isAlone = try !transaction.exists("SELECT 1 FROM companies LIMIT 1")
            branches.append(byWords(words, base(isByDirection: isByDirection), filter, isAlone: isAlone))
        }
        // As numbers are read that are given: full-width digits are digits.
        let digits = context.reading.number(search).filter { $0.isASCII && $0.isNumber }
        let key = context.key(search)
        if digits.count >= 3 || search.lowercased().hasPrefix("sip:") {
            add("remote_key = ?", key)
            add("local_key = ?", key)
        }
        if digits.count == 4, search.count == 4, let tail = context.numbers.tail(digits) {
            add("remote_tail = ?", tail)
        }
        return branches.isEmpty ? [Branch(conditions: ["1 = 0"])] : branches
    }

    /// - Parameters:
    ///   - base: the conditions beside the words, company and direction first.
    ///   - isAlone: there is no other company than `default`.
    private func byWords(_ words: [String], _ base: Branch, _ filter: CallFilter, isAlone: Bool) -> Branch {
        var branch = base
        let isByState = filter.state != nil && filter.from == nil && filter.to == nil && !filter.isByWay
        if !isByState {
            // All calls with words are outbound. The index of states alone begins with company and direction.
            branch.conditions.remove(at: 1)
            branch.arguments.remove(at: 1)
            if isAlone {
                branch.conditions.removeFirst()
                branch.arguments.removeFirst()
            } else {
                // Found by its position, not by the index of all calls of the company.
                branch.conditions[0] = "\(context.dialect.unindexed)company = ?"
            }
        }
        // The table of calls is only needed for what else is asked of them, and for the state its index will do: a look
        // into that for each word's match costs a tenth of one into the rows.
        let source = context.dialect.words(joined: !branch.conditions.isEmpty, byState: isByState)
        if !branch.conditions.isEmpty { branch.countLimit = Self.lookedUpLimit }
        branch.isByWords = true
        branch.tables = source.tables
        branch.position = source.position
        branch.conditions.append(source.condition)
        branch.arguments.append(context.dialect.wordQuery(words, isCut: true))
        if (words.last?.count ?? 0) > context.dialect.indexedBeginning {
            branch.wholeWords = context.dialect.wordQuery(words, isCut: false)
        }
        return branch
    }
}
