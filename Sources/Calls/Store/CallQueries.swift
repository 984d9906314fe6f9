public import Foundation
internal import GRDB
internal import Realtime
internal import Synchronization

/// A page of calls, newest first.
public struct CallPage: Sendable {
    public var items: [Call]
    /// Pass it to get the next page; nil on the last.
    public var nextCursor: Int64?
    public var total: Int
    /// There are more than were counted.
    public var isTotalCapped = false
}

public struct CallFilter: Sendable, Equatable {
    public static let limitRange = 1...200
    /// Characters of a search.
    public static let searchLimit = 200
    /// Calls that came in, instead of those we placed.
    public var isInbound = false
    public var state: CallState?
    /// Found in purpose, id and numbers.
    public var search: String?
    public var from: Date?
    public var to: Date?
    public var limit = 50
    /// `nextCursor` of the page before.
    public var cursor: Int64?
    public init() {}

    /// How the ids begin.
    var direction: String { Self.direction(isInbound: isInbound) }
    static func direction(isInbound: Bool) -> String { isInbound ? "in" : "ob" }
}

/// What to know of calls that have not ended.
public struct ActiveFilter: Sendable, Equatable {
    public static let states: [CallState] = [.queued, .dialing, .ringing, .connected]
    /// Calls that came in, instead of those we placed.
    public var isInbound = false
    public var states = Self.states
    public var limit = CallFilter.limitRange.upperBound
    /// `nextCursor` of the page before.
    public var cursor: Int64?
    public init() {}
}

/// Calls that have not ended, oldest first, and how many there are in each state, asked for or not.
public struct ActiveCalls: Sendable {
    public var page: CallPage
    public var states: [CallState: Int] = [:]
}

/// Totals for the dashboard.
public struct CallStatistics: Sendable, Equatable {
    public struct Day: Sendable, Equatable {
        public var day: String
        public var total: Int
        public var completed: Int
    }
    public var states: [CallState: Int] = [:]
    public var averageDuration: Double?
    /// Question text → status or value → count.
    public var answers: [String: [String: Int]] = [:]
    public var days: [Day] = []
}

/// How the questions of an ended call were answered. It holds as long as the record is the same, byte for byte.
struct AnswerSample: Sendable {
    let record: Data
    let answers: [(question: String, label: String)]

    init(_ record: Data, of call: Call) {
        self.record = record
        answers = call.brief.questions.compactMap { question in
            guard let answer = call.answers.first(where: { $0.questionID == question.id }) else { return nil }
            return (question.text, Self.label(of: answer, to: question))
        }
    }

    /// What answers that mean the same have in common: the status, or the typed value; in an open question only words.
    private static func label(of answer: Answer, to question: Question) -> String {
        guard answer.status == .answered else { return answer.status.rawValue }
        switch (answer.value, question.kind) {
        case (.boolean(let isYes), _): return isYes ? "yes" : "no"
        case (.some(let value), .number), (.some(let value), .choice), (.some(let value), .date): return value.text
        default: return answer.summary ?? answer.text ?? "answered"
        }
    }
}

extension CallStore {
    /// Calls of a search that are counted; beyond it the total says so. Fewer where every match must be looked up.
    public static let countLimit = 1_000
    private static let lookedUpLimit = 250
    /// Beginnings of words up to this length have an index of their own.
    private static let prefixLength = 5
    /// Ended calls looked at for the distribution of answers.
    private static let answerSampleLimit = 200

    /// One way in which calls are found; a search may have several.
    private struct Branch: Sendable {
        var tables = "calls"
        /// SQL that gives a call's position.
        var position = "position"
        /// Are found by the words as they stand first, and by the beginning of the last one where those are few.
        var wholeWords: String?
        var countLimit = CallStore.countLimit
        var conditions: [String] = []
        var arguments: [any DatabaseValueConvertible & Sendable] = []

        var isByWords: Bool { position != "position" }

        /// Those found by words come in the order of their positions by themselves: as many as are counted, newest first. What stands there
        /// whole is enough where there is enough of it.
        func newestByWords(_ db: Database) throws -> [Int64] {
            let statement = sql(position, " ORDER BY \(position) DESC LIMIT \(countLimit)")
            if let wholeWords {
                let whole = try Int64.fetchAll(db, sql: statement, arguments: StatementArguments(arguments.dropLast() + [wholeWords]))
                if whole.count >= countLimit { return whole }
            }
            return try Int64.fetchAll(db, sql: statement, arguments: StatementArguments(arguments))
        }

        func sql(_ columns: String, _ more: String) -> String {
            let conditions = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
            return "SELECT \(columns) FROM \(tables)\(conditions)\(more)"
        }

        /// Their number, as far as it is counted.
        func count(_ db: Database) throws -> Int {
            try Int.fetchOne(
                db, sql: "SELECT COUNT(*) FROM (\(sql(position, " LIMIT \(countLimit)")))", arguments: StatementArguments(arguments)) ?? 0
        }

        /// The newest of them, before a position. Few are found by their index and sorted; of many, the newest come first by themselves.
        func newest(_ count: Int, before: Int64?, areFew: Bool, isByTime: Bool, _ db: Database) throws -> [Int64] {
            var branch = self
            if let before {
                branch.conditions.append((areFew || isByTime ? "+" : "") + position + " < ?")
                branch.arguments.append(before)
                if isByTime, !areFew {
                    branch.conditions.append("created_at <= (SELECT created_at FROM calls WHERE position = ?)")
                    branch.arguments.append(before)
                }
            }
            let order = areFew ? "+\(position) DESC" : isByTime ? "created_at DESC, position DESC" : "\(position) DESC"
            return try Int64.fetchAll(
                db, sql: branch.sql(position, " ORDER BY \(order) LIMIT \(count)"), arguments: StatementArguments(branch.arguments))
        }
    }

    /// A page of calls. What is searched is found in purposes by words, in ids by their beginning, and in numbers whole or by the last four
    /// digits.
    public func page(_ filter: CallFilter) async throws(StoreError) -> CallPage {
        let before = filter.cursor
        let branches = branches(filter)
        let isByTime = filter.from != nil || filter.to != nil
        let isUnfiltered = !isByTime && (filter.search ?? "").isEmpty
        return try await look { [vault] db in
            var found: Set<Int64> = []
            var total = 0
            var isCapped = false
            if isUnfiltered {
                let counted = " WHERE direction = ?" + (filter.state.map { _ in " AND state = ?" } ?? "")
                total =
                    try Int.fetchOne(
                        db, sql: "SELECT COALESCE(SUM(n), 0) FROM call_counts" + counted,
                        arguments: StatementArguments([filter.direction] + (filter.state.map { [$0.rawValue] } ?? []))) ?? 0
            }
            for branch in branches {
                var areFew = false
                var branch = branch
                if branch.isByWords, before == nil {
                    let newest = try branch.newestByWords(db)
                    isCapped = isCapped || newest.count >= branch.countLimit
                    total += newest.count
                    found.formUnion(newest.prefix(filter.limit + 1))
                    continue
                }
                if !isUnfiltered {
                    var count = 0
                    if let words = branch.wholeWords {
                        var whole = branch
                        whole.arguments[whole.arguments.count - 1] = words
                        count = try whole.count(db)
                        if count >= branch.countLimit { branch = whole } else { count = try branch.count(db) }
                    } else {
                        count = try branch.count(db)
                    }
                    areFew = count < branch.countLimit
                    isCapped = isCapped || !areFew
                    total += count
                }
                let isByTime = isByTime && branch.tables == "calls"
                found.formUnion(try branch.newest(filter.limit + 1, before: before, areFew: areFew, isByTime: isByTime, db))
            }
            if branches.count > 1, !isCapped {
                // A call may have been found in more than one way.
                let union = branches.map { $0.sql($0.position, "") }.joined(separator: " UNION ")
                total =
                    try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM (\(union))", arguments: StatementArguments(branches.flatMap(\.arguments))) ?? 0
            }
            let positions = found.sorted(by: >).prefix(filter.limit + 1)
            let marks = databaseQuestionMarks(count: min(positions.count, filter.limit))
            let rows = try Row.fetchAll(
                db, sql: "SELECT outbound_id, record FROM calls WHERE position IN (\(marks)) ORDER BY position DESC",
                arguments: StatementArguments(positions.prefix(filter.limit)))
            let cursor = positions.count > filter.limit ? positions[filter.limit - 1] : nil
            return CallPage(
                items: try Self.opened(rows) { try Self.decode($0, vault) }, nextCursor: cursor,
                total: total, isTotalCapped: isCapped)
        }
    }

    /// Those that have not ended: however long the queue is, a page of them.
    public func active(_ filter: ActiveFilter) async throws(StoreError) -> ActiveCalls {
        let after = filter.cursor ?? 0
        let direction = CallFilter.direction(isInbound: filter.isInbound)
        return try await look { [vault] db in
            var states: [CallState: Int] = [:]
            for row in try Row.fetchAll(db, sql: "SELECT state, n FROM call_counts WHERE direction = ?", arguments: [direction]) {
                if let state = CallState(rawValue: row["state"]), !state.isTerminal { states[state] = row["n"] }
            }
            let marks = databaseQuestionMarks(count: filter.states.count)
            let arguments: [any DatabaseValueConvertible] = [direction] + filter.states.map(\.rawValue) + [after, filter.limit + 1]
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT outbound_id, record, position FROM calls INDEXED BY calls_by_state
                    WHERE direction = ? AND state IN (\(marks)) AND position > ? ORDER BY position LIMIT ?
                    """, arguments: StatementArguments(arguments))
            let shown = rows.prefix(filter.limit)
            let last: Int64? = rows.count > filter.limit ? shown.last?["position"] : nil
            let page = CallPage(
                items: try Self.opened(shown) { try Self.decode($0, vault) }, nextCursor: last,
                total: filter.states.reduce(0) { $0 + (states[$1] ?? 0) })
            return ActiveCalls(page: page, states: states)
        }
    }

    private func branches(_ filter: CallFilter) -> [Branch] {
        // With "+" no index is looked for: one by time, number or id is better than that of all calls of a direction.
        let isByDirection = filter.from == nil && filter.to == nil
        var base = Branch(conditions: [(isByDirection ? "" : "+") + "direction = ?"], arguments: [filter.direction])
        if let state = filter.state {
            base.conditions.append("state = ?")
            base.arguments.append(state.rawValue)
        }
        if let from = filter.from {
            base.conditions.append("created_at >= ?")
            base.arguments.append(from.timeIntervalSince1970)
        }
        if let to = filter.to {
            base.conditions.append("created_at < ?")
            base.arguments.append(to.timeIntervalSince1970)
        }
        guard let search = filter.search?.trimmingCharacters(in: .whitespaces), !search.isEmpty else { return [base] }
        var branches: [Branch] = []
        func add(_ condition: String, _ arguments: [any DatabaseValueConvertible & Sendable]) {
            var branch = base
            branch.conditions[0] = "+direction = ?"
            if let place = branch.conditions.firstIndex(of: "state = ?") { branch.conditions[place] = "+state = ?" }
            branch.conditions.append(condition)
            branch.arguments += arguments
            branches.append(branch)
        }
        if search.lowercased().hasPrefix(filter.direction + "-") {
            let id = search.lowercased()
            add("outbound_id >= ? AND outbound_id < ?", [id, id + "~"])
            return branches
        }
        // Words lead to calls that we placed alone.
        let words = filter.isInbound ? [] : KnowledgeWords.tokens(search).prefix(16)
        if !words.isEmpty {
            var branch = base
            branch.conditions.removeFirst()
            branch.arguments.removeFirst()
            let isByState = branch.conditions == ["state = ?"]
            if isByState {
                // Its index begins with the direction.
                branch.conditions = base.conditions
                branch.arguments = base.arguments
            }
            // The table of calls is only needed for what else is asked of them, and for the state its index will do: a look into that
            // for each word's match costs a tenth of one into the rows.
            branch.tables =
                branch.conditions.isEmpty
                ? "call_words"
                : "call_words CROSS JOIN calls \(isByState ? "INDEXED BY calls_by_state " : "")ON calls.position = call_words.rowid"
            branch.position = "call_words.rowid"
            if !branch.conditions.isEmpty { branch.countLimit = Self.lookedUpLimit }
            // Letters and digits only, and quoted: nothing of it is FTS5's own syntax. The last word may be cut short.
            let quoted = words.map { "\"\($0)\"" }.joined(separator: " AND ")
            branch.conditions.append("call_words MATCH ?")
            branch.arguments.append(quoted + "*")
            if (words.last?.count ?? 0) > Self.prefixLength { branch.wholeWords = quoted }
            branches.append(branch)
        }
        let digits = search.filter { $0.isASCII && $0.isNumber }
        let key = numbers.hash(plan.key(search))
        if digits.count >= 3 || search.lowercased().hasPrefix("sip:") {
            add("callee_key = ?", [key])
            add("caller_key = ?", [key])
        }
        if digits.count == 4, search.count == 4, let tail = numbers.tail(digits) { add("callee_tail = ?", [tail]) }
        return branches.isEmpty ? [Branch(conditions: ["0"])] : branches
    }

    /// What `/metrics` tells of the store.
    public struct Counts: Sendable {
        public var states: [CallState: Int] = [:]
        public var deliveries: [Delivery.State: Int] = [:]
        public var lastEvent: Int64 = 0
        public var blockedRequests = 0
        public var databaseBytes = 0
    }

    public func counts() async throws(StoreError) -> Counts {
        try await look { db in
            var counts = Counts()
            for row in try Row.fetchAll(db, sql: "SELECT state, SUM(n) AS n FROM call_counts GROUP BY state") {
                if let state = CallState(rawValue: row["state"]) { counts.states[state] = row["n"] }
            }
            for row in try Row.fetchAll(db, sql: "SELECT state, COUNT(*) AS n FROM deliveries GROUP BY state") {
                if let state = Delivery.State(rawValue: row["state"]) { counts.deliveries[state] = row["n"] }
            }
            counts.lastEvent = try Int64.fetchOne(db, sql: "SELECT seq FROM sqlite_sequence WHERE name IN ('events', 'new_events')") ?? 0
            counts.blockedRequests = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM audit WHERE action = 'dial.blocked'") ?? 0
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            counts.databaseBytes = pages * (try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0)
            return counts
        }
    }

    public func statistics() async throws(StoreError) -> CallStatistics {
        try await look { db in
            var result = CallStatistics()
            for row in try Row.fetchAll(db, sql: "SELECT state, n FROM call_counts WHERE direction = 'ob'") {
                if let state = CallState(rawValue: row["state"]) { result.states[state] = row["n"] }
            }
            result.averageDuration = try Double.fetchOne(
                db, sql: "SELECT SUM(seconds) / NULLIF(SUM(ended), 0) FROM call_days WHERE direction = 'ob'")
            let days = try Row.fetchAll(
                db, sql: "SELECT day, total, completed FROM call_days WHERE direction = 'ob' AND total > 0 ORDER BY day DESC LIMIT 31")
            result.days = days.map { .init(day: $0["day"], total: $0["total"], completed: $0["completed"]) }
            let ended = try Row.fetchAll(
                db,
                sql:
                    "SELECT outbound_id, record FROM calls WHERE direction = 'ob' AND answered_at IS NOT NULL AND completed_at IS NOT NULL ORDER BY position DESC LIMIT \(Self.answerSampleLimit)"
            )
            let known = self.samples.withLock { $0 }
            var sample: [String: AnswerSample] = [:]
            let ones = try Self.opened(ended) { row -> (String, AnswerSample) in
                let id: String = row["outbound_id"]
                let record: Data = row["record"]
                if let known = known[id], known.record == record { return (id, known) }
                return (id, AnswerSample(record, of: try Self.decode(row, self.vault)))
            }
            for (id, one) in ones {
                sample[id] = one
                for answer in one.answers { result.answers[answer.question, default: [:]][answer.label, default: 0] += 1 }
            }
            self.samples.withLock { $0 = sample }
            return result
        }
    }
}
