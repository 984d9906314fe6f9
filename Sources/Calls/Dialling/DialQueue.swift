public import Foundation

/// Calls waiting to be dialled: by priority, then by age. A value; time is told to it.
public struct DialQueue: Sendable {
    public struct Entry: Sendable, Equatable {
        public var callID: String
        public var priority: Int
        public var createdAt: Date
        public var notBefore: Date?
        public var callee: String
        public init(callID: String, priority: Int, createdAt: Date, notBefore: Date?, callee: String) {
            self.callID = callID
            self.priority = priority
            self.createdAt = createdAt
            self.notBefore = notBefore
            self.callee = callee
        }
    }

    /// Calls that may wait; more are refused with 503.
    public static let capacity = 100_000

    private var entries: [String: (entry: Entry, place: UInt64)] = [:]
    private var nextPlace: UInt64 = 0
    private let priorityAgeing: TimeInterval

    /// - Parameter priorityAgeing: seconds of waiting that raise the priority by one.
    public init(priorityAgeing: TimeInterval) { self.priorityAgeing = max(1, priorityAgeing) }

    public var count: Int { entries.count }
    public var isFull: Bool { entries.count >= Self.capacity }

    public mutating func add(_ entry: Entry) {
        entries[entry.callID] = (entry, nextPlace)
        nextPlace &+= 1
    }

    @discardableResult
    public mutating func remove(_ callID: String) -> Bool {
        entries.removeValue(forKey: callID) != nil
    }

    /// Takes the call to dial now: due, its callee not on another call, highest priority, longest waiting.
    public mutating func next(at now: Date, busyCallees: Set<String>) -> Entry? {
        var best: (entry: Entry, priority: Int, place: UInt64)?
        for (entry, place) in entries.values
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
        if let best { entries[best.entry.callID] = nil }
        return best?.entry
    }

    /// When the next call that is not due yet becomes due.
    public func nextDue(after now: Date) -> Date? {
        entries.values.compactMap(\.entry.notBefore).filter { $0 > now }.min()
    }
}
