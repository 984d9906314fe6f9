public import Foundation
public import Store

/// Calls waiting to be dialled. Turns go round the companies that have something due; in one, by priority, then by age.
/// A value; time is told to it.
public struct DialQueue: Sendable {
    public struct Entry: Sendable, Equatable {
        public var callID: String
        public var company: CompanyID
        public var priority: Int
        public var createdAt: Date
        public var notBefore: Date?
        public var callee: String
        public init(
            callID: String, company: CompanyID = .default, priority: Int, createdAt: Date, notBefore: Date?,
            callee: String
        ) {
            self.callID = callID
            self.company = company
            self.priority = priority
            self.createdAt = createdAt
            self.notBefore = notBefore
            self.callee = callee
        }
    }

    /// Calls that may wait; more are refused with 503.
    public static let capacity = 100_000

    private typealias Line = [String: (entry: Entry, place: UInt64)]

    /// By company; none is empty.
    private var lines: [CompanyID: Line] = [:]
    private var companies: [String: CompanyID] = [:]
    private var nextPlace: UInt64 = 0
    /// When each company had its last turn, counted in turns. One that is not there has had none.
    private var turns: [CompanyID: UInt64] = [:]
    private var turn: UInt64 = 0
    private let priorityAgeing: TimeInterval

    /// - Parameter priorityAgeing: seconds of waiting that raise the priority by one.
    public init(priorityAgeing: TimeInterval) { self.priorityAgeing = max(1, priorityAgeing) }

    public var count: Int { companies.count }
    public var isFull: Bool { companies.count >= Self.capacity }
    public func count(_ company: CompanyID) -> Int { lines[company]?.count ?? 0 }

    public mutating func add(_ entry: Entry) {
        remove(entry.callID)
        companies[entry.callID] = entry.company
        lines[entry.company, default: [:]][entry.callID] = (entry, nextPlace)
        nextPlace &+= 1
    }

    @discardableResult
    public mutating func remove(_ callID: String) -> Bool {
        guard let company = companies.removeValue(forKey: callID) else { return false }
        lines[company]?[callID] = nil
        if lines[company]?.isEmpty == true { lines[company] = nil }
        return true
    }

    /// Takes the call to dial now: of the company whose last turn is longest ago the one that is due, whose callee is
    /// not on another call, with the highest priority and the longest wait.
    /// - Parameter isHeld: companies that have no turn now.
    public mutating func next(
        at now: Date, busyCallees: Set<String>, isHeld: (CompanyID) -> Bool = { _ in false }
    ) -> Entry? {
        // The slug decides between two that never had a turn: the same queue gives the same order.
        let order = lines.keys.sorted { (turns[$0] ?? 0, $0.rawValue) < (turns[$1] ?? 0, $1.rawValue) }
        for company in order where !isHeld(company) {
            guard let line = lines[company], let entry = first(of: line, at: now, busyCallees) else { continue }
            remove(entry.callID)
            turn += 1
            turns[company] = turn
            if turns.count > lines.count + CompanyRows.limit { turns = turns.filter { lines[$0.key] != nil } }
            return entry
        }
        return nil
    }

    private func first(of line: Line, at now: Date, _ busyCallees: Set<String>) -> Entry? {
        var best: (entry: Entry, priority: Int, place: UInt64)?
        for (entry, place) in line.values
        where (entry.notBefore ?? .distantPast) <= now && !busyCallees.contains(entry.callee) {
            let waited = max(0, now.timeIntervalSince(max(entry.createdAt, entry.notBefore ?? .distantPast)))
            let priority = entry.priority + Int(min(1_000, waited / priorityAgeing))
            if let known = best {
                guard (-priority, entry.createdAt, place) < (-known.priority, known.entry.createdAt, known.place) else {
                    continue
                }
            }
            best = (entry, priority, place)
        }
        return best?.entry
    }

    /// When the next call that is not due yet becomes due.
    public func nextDue(after now: Date) -> Date? {
        lines.values.compactMap { line in line.values.compactMap(\.entry.notBefore).filter { $0 > now }.min() }.min()
    }

    /// The calls of a company that wait.
    func callIDs(_ company: CompanyID) -> [String] { lines[company].map { Array($0.keys) } ?? [] }
}
