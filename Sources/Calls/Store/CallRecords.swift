public import Foundation
internal import GRDB
public import Realtime

extension CallStore {
    static func decode(_ row: Row, _ vault: Vault) throws -> Call {
        let id: String = row["outbound_id"]
        return try JSONDecoder().decode(Call.self, from: Data(try vault.open(row["record"], row: "calls/" + id).utf8))
    }

    private static func sealed(_ call: Call, _ vault: Vault) throws -> Data {
        try vault.seal(String(decoding: try JSONEncoder().encode(call), as: UTF8.self), row: "calls/" + call.outboundID)
    }

    // MARK: A request

    /// What the client calls a request, so that it may send it again (`Idempotency-Key`).
    public struct RepeatableRequest: Sendable, Equatable {
        /// Hours for which the first answer is given again.
        public static let hours = 24.0
        /// Bytes of the client's key.
        public static let keyLimit = 255
        /// Who asked, and the client's key.
        public var key: String
        /// What was asked, hashed.
        public var request: String
        /// What is answered.
        public var answer: String
        public init(key: String, request: String, answer: String) {
            self.key = key
            self.request = request
            self.answer = answer
        }
    }

    public enum Insertion: Sendable, Equatable {
        case stored
        /// Asked before: the first answer.
        case known(answer: String)
        /// Asked before under this key was something else.
        case keyIsTaken
        /// The rule that forbids it.
        case blocked(DialRule, detail: String)
    }

    /// Stores a new call with its first events, unless a rule forbids it; on return all is on disk.
    ///
    /// - Parameters:
    ///   - window: seconds between two calls to one number; 0: any number of calls may wait for it; nil: it came by itself, and no rule is asked.
    ///   - audit: who asked; stored with it.
    public func insert(
        _ call: Call, events: [CallEvent], request: RepeatableRequest? = nil, window: TimeInterval? = nil, audit: AuditEntry? = nil,
        at now: Date = Date()
    ) async throws(StoreError) -> Insertion {
        let record: Data
        do { record = try Self.sealed(call, vault) } catch { throw Self.translate(error) }
        let callee = plan.key(call.calleeNumber), caller = plan.key(call.callerNumber)
        let keys = (callee: numbers.hash(callee), tail: numbers.tail(callee), caller: numbers.hash(caller))
        let words = KnowledgeWords.tokens(call.brief.purpose).joined(separator: " ")
        return try await write { [self] db in
            if let request {
                let since = now.addingTimeInterval(-RepeatableRequest.hours * 3_600).timeIntervalSince1970
                let known = try Row.fetchOne(
                    db, sql: "SELECT request, answer FROM idempotency WHERE key = ? AND at > ?", arguments: [numbers.hash(request.key), since])
                if let known { return (known["request"] == request.request ? .known(answer: known["answer"]) : .keyIsTaken, []) }
            }
            if let window, let blocked = try Self.isBlocked(keys.callee, due: call.scheduledAt, window: window, at: now, db) { return (blocked, []) }
            let next = try Int64.fetchOne(db, sql: "SELECT COALESCE(MAX(position), 0) + 1 FROM calls") ?? 1
            try db.run(
                """
                INSERT INTO calls (outbound_id, position, state, created_at, due_at, callee_key, callee_tail, caller_key, purpose, webhook, record,
                    priority)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                arguments: [
                    call.outboundID, next, call.state.rawValue, call.createdAt.timeIntervalSince1970,
                    (call.scheduledAt ?? call.createdAt).timeIntervalSince1970, keys.callee, keys.tail, keys.caller, call.brief.purpose,
                    try call.webhookURL.map { try vault.seal($0, row: "webhook/" + call.outboundID) }, record, call.priority,
                ])
            // Of calls that came in the purpose is the server's own, the same for all.
            if !call.isInbound { try db.run("INSERT INTO call_words (rowid, tokens) VALUES (?, ?)", arguments: [next, words]) }
            if let request {
                try db.run(
                    "INSERT OR REPLACE INTO idempotency (key, request, answer, at) VALUES (?, ?, ?, ?)",
                    arguments: [numbers.hash(request.key), request.request, request.answer, now.timeIntervalSince1970])
                let old = now.addingTimeInterval(-2 * RepeatableRequest.hours * 3_600).timeIntervalSince1970
                try db.run("DELETE FROM idempotency WHERE at < ?", arguments: [old])
            }
            if let audit { try append(audit, db) }
            return (.stored, try events.map { try append($0, of: call, db) })
        }
    }

    /// Before the request is stored: the list of those who must not be called, and calls to the same number.
    private static func isBlocked(_ callee: String, due: Date?, window: TimeInterval, at now: Date, _ db: Database) throws -> Insertion? {
        if try Bool.fetchOne(db, sql: "SELECT 1 FROM do_not_call WHERE key = ?", arguments: [callee]) != nil {
            return .blocked(.doNotCall, detail: "the callee is on the do-not-call list")
        }
        guard window > 0 else { return nil }
        let mine = (due ?? now).timeIntervalSince1970, moment = now.timeIntervalSince1970
        let open = CallState.allCases.filter { !$0.isTerminal }.map { "'\($0.rawValue)'" }.joined(separator: ",")
        // A call that is overdue counts as due now.
        let other = try String.fetchOne(
            db, sql: "SELECT outbound_id FROM calls WHERE callee_key = ? AND state IN (\(open)) AND ABS(MAX(due_at, ?) - ?) < ? LIMIT 1",
            arguments: [callee, moment, mine, window])
        if let other { return .blocked(.duplicate, detail: "\(other) is for the same callee") }
        let last = try Row.fetchOne(
            db, sql: "SELECT outbound_id, at FROM dials WHERE callee_key = ? AND at > ? ORDER BY at DESC LIMIT 1", arguments: [callee, mine - window])
        guard let last else { return nil }
        return .blocked(.duplicate, detail: "\(last["outbound_id"] as String) dialled the same callee less than \(Int(window)) s before")
    }

    // MARK: Dialling

    /// What stands in the way of a dial now.
    public enum Admission: Sendable {
        /// It is on disk that the call is being dialled.
        case dial(Call)
        /// Not before its `nextAttemptAt`.
        case held(Call)
        /// A rule forbids it for good.
        case ended(Call)
        /// It is not waiting any more.
        case gone
    }

    /// Decides on a dial and marks it as begun in one transaction, before the first packet leaves: whatever happens to us then, the
    /// number is not dialled by this attempt again.
    func admit(_ outboundID: String, by policy: DiallingPolicy, at now: Date) async throws(StoreError) -> Admission {
        try await write { [self] db in
            guard let row = try Row.fetchOne(db, sql: "SELECT * FROM calls WHERE outbound_id = ?", arguments: [outboundID]) else {
                return (.gone, [])
            }
            var call = try Self.decode(row, vault)
            guard call.state == .queued else { return (.gone, []) }
            // As the callee is read now: an older version may have made another key of him.
            let callee = calleeKey(call.calleeNumber), caller: String = row["caller_key"]
            let moment = now.timeIntervalSince1970
            let history = DiallingPolicy.History(
                isOnDoNotCallList: try Bool.fetchOne(db, sql: "SELECT 1 FROM do_not_call WHERE key = ?", arguments: [callee]) != nil,
                calleeDialledAt: try Double.fetchOne(
                    db, sql: "SELECT MAX(at) FROM dials WHERE callee_key = ? AND outbound_id <> ? AND at <= ?",
                    arguments: [callee, outboundID, moment]
                ).map { Date(timeIntervalSince1970: $0) },
                callerDialsToday: try Int.fetchOne(
                    db, sql: "SELECT COUNT(*) FROM dials WHERE caller_key = ? AND at >= ? AND at <= ?",
                    arguments: [caller, policy.dayBegins(now).timeIntervalSince1970, moment]) ?? 0,
                callerCap: try Data.fetchOne(db, sql: "SELECT entry FROM caller_numbers WHERE key = ?", arguments: [caller]).flatMap {
                    try CallerNumber(sealed: $0, key: caller, vault).dailyCap
                })
            var events: [CallEvent] = []
            let admission: Admission
            switch policy.verdict(on: call, history: history, at: now) {
            case .dial:
                events = [try call.dial(at: now)]
                try db.run("DELETE FROM transcript WHERE outbound_id = ?", arguments: [outboundID])
                try db.run("DELETE FROM dials WHERE at < ?", arguments: [moment - DiallingPolicy.historySeconds])
                // No number was shown to anybody.
                if !call.isForBrowser {
                    try db.run(
                        "INSERT INTO dials (outbound_id, at, callee_key, caller_key) VALUES (?, ?, ?, ?)",
                        arguments: [outboundID, moment, callee, caller])
                }
                admission = .dial(call)
            case .hold(let rule, let until, let detail):
                events = call.hold(by: rule, until: until, detail: detail, at: now)
                admission = .held(call)
            case .block(let rule, let detail):
                events = try call.block(by: rule, detail: detail, at: now)
                try noteEnded(outboundID, db)
                admission = .ended(call)
            }
            try store(call, db)
            return (admission, try events.map { try append($0, of: call, db) })
        }
    }

    private func store(_ call: Call, _ db: Database) throws {
        try db.run(
            "UPDATE calls SET state = ?, answered_at = ?, completed_at = ?, due_at = ?, record = ? WHERE outbound_id = ?",
            arguments: [
                call.state.rawValue, call.answeredAt?.timeIntervalSince1970, call.completedAt?.timeIntervalSince1970,
                (call.nextAttemptAt ?? call.createdAt).timeIntervalSince1970, try Self.sealed(call, vault), call.outboundID,
            ])
    }

    /// Changes a call and stores the events that tell of it, in one transaction. Returns the call as stored.
    @discardableResult
    public func update(_ outboundID: String, _ change: @escaping @Sendable (inout Call) throws -> [CallEvent]) async throws(StoreError) -> Call {
        try await write { [self] db in
            let select = try db.cachedStatement(sql: "SELECT outbound_id, record FROM calls WHERE outbound_id = ?")
            guard let row = try Row.fetchOne(select, arguments: [outboundID]) else {
                throw StoreError(.notFound, "there is no call \(outboundID)")
            }
            var call = try Self.decode(row, vault)
            let wasOver = call.state.isTerminal
            let events: [CallEvent]
            do { events = try change(&call) } catch let error as CallStateMachine.ImpossibleTransition {
                throw StoreError(.conflict, error.description)
            }
            try store(call, db)
            if call.state.isTerminal, !wasOver { try noteEnded(outboundID, db) }
            return (call, try events.map { try append($0, of: call, db) })
        }
    }

    public func call(_ outboundID: String) async throws(StoreError) -> Call? {
        try await look { [vault] db in
            try Row.fetchOne(db, sql: "SELECT outbound_id, record FROM calls WHERE outbound_id = ?", arguments: [outboundID]).map {
                try Self.decode($0, vault)
            }
        }
    }

    /// Calls in one of these states, oldest first.
    public func calls(in states: [CallState]) async throws(StoreError) -> [Call] {
        try await look { [vault] db in
            let marks = databaseQuestionMarks(count: states.count)
            let rows = try Row.fetchAll(
                db, sql: "SELECT outbound_id, record FROM calls WHERE state IN (\(marks)) ORDER BY position",
                arguments: StatementArguments(states.map(\.rawValue)))
            return try Self.opened(rows) { try Self.decode($0, vault) }
        }
    }

    /// By what calls to one number are known.
    func calleeKey(_ number: String) -> String { numbers.hash(plan.key(number)) }

    /// Calls that wait to be dialled, without opening their records.
    func waiting() async throws(StoreError) -> [DialQueue.Entry] {
        try await look { db in
            try Row.fetchAll(
                db, sql: "SELECT outbound_id, priority, created_at, due_at, callee_key FROM calls WHERE state = 'queued' ORDER BY position"
            )
            .map {
                DialQueue.Entry(
                    outboundID: $0["outbound_id"], priority: $0["priority"], createdAt: Date(timeIntervalSince1970: $0["created_at"]),
                    notBefore: Date(timeIntervalSince1970: $0["due_at"]), callee: $0["callee_key"])
            }
        }
    }

    // MARK: Transcript

    public func append(_ entry: TranscriptEntry, at position: Int, to outboundID: String, event: CallEvent) async throws(StoreError) {
        try await write { [self] db in
            let text = String(decoding: try JSONEncoder().encode(entry), as: UTF8.self)
            try db.run(
                "INSERT OR REPLACE INTO transcript (outbound_id, position, entry) VALUES (?, ?, ?)",
                arguments: [outboundID, position, try vault.seal(text, row: "transcript/\(outboundID)/\(position)")])
            return ((), [try append(event, of: nil, db)])
        }
    }

    public func transcript(of outboundID: String) async throws(StoreError) -> [TranscriptEntry] {
        try await look { [vault] db in
            try Row.fetchAll(db, sql: "SELECT position, entry FROM transcript WHERE outbound_id = ? ORDER BY position", arguments: [outboundID]).map {
                let text = try vault.open($0["entry"], row: "transcript/\(outboundID)/\($0["position"] as Int)")
                return try JSONDecoder().decode(TranscriptEntry.self, from: Data(text.utf8))
            }
        }
    }
}
