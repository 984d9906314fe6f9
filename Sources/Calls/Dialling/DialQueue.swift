public import Foundation

/// Calls waiting to be dialled: by priority, then by age. A value; time is told to it.
public struct DialQueue: Sendable {
    public struct Entry: Sendable, Equatable {
        public var outboundID: String
        public var priority: Int
        public var createdAt: Date
        public var notBefore: Date?
        public var callee: String
        public init(outboundID: String, priority: Int, createdAt: Date, notBefore: Date?, callee: String) {
            self.outboundID = outboundID
            self.priority = priority
            self.createdAt = createdAt
            self.notBefore = notBefore
            self.callee = callee
        }
    }

    /// Calls that may wait; more are refused with 503.
    public static let capacity = 100_000

    private var entries: [Entry] = []
    private let priorityAgeing: TimeInterval

    /// - Parameter priorityAgeing: seconds of waiting that raise the priority by one.
    public init(priorityAgeing: TimeInterval) { self.priorityAgeing = max(1, priorityAgeing) }

    public var count: Int { entries.count }
    public var isFull: Bool { entries.count >= Self.capacity }

    public mutating func add(_ entry: Entry) {
        entries.removeAll { $0.outboundID == entry.outboundID }
        entries.append(entry)
    }

    @discardableResult
    public mutating func remove(_ outboundID: String) -> Bool {
        let before = entries.count
        entries.removeAll { $0.outboundID == outboundID }
        return entries.count < before
    }

    /// Takes the call to dial now: due, its callee not on another call, highest priority, longest waiting.
    public mutating func next(at now: Date, busyCallees: Set<String>) -> Entry? {
        var best: (index: Int, priority: Int)?
        for (index, entry) in entries.enumerated() where (entry.notBefore ?? .distantPast) <= now && !busyCallees.contains(entry.callee) {
            let waited = max(0, now.timeIntervalSince(max(entry.createdAt, entry.notBefore ?? .distantPast)))
            let priority = entry.priority + Int(min(1_000, waited / priorityAgeing))
            if let known = best {
                guard priority > known.priority || (priority == known.priority && entry.createdAt < entries[known.index].createdAt) else { continue }
            }
            best = (index, priority)
        }
        return best.map { entries.remove(at: $0.index) }
    }

    /// When the next call that is not due yet becomes due.
    public func nextDue(after now: Date) -> Date? { entries.compactMap(\.notBefore).filter { $0 > now }.min() }
}
