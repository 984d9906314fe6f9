internal import DequeModule

/// A bounded queue between two stages of one loop. Confined: it has no lock, and no clock but the time it is told.
///
/// A consumer that is ready takes a payload straight from its producer; `passed` counts these.
public struct LocalEdge<Payload> {
    public let plan: EdgePlan
    private var items: Deque<(payload: Payload, since: Int)> = []
    private var peak = 0
    private var sent = 0
    private var dropped = 0
    private var waits = 0

    public init(_ plan: EdgePlan) { self.plan = plan }

    public var count: Int { items.count }
    public var isEmpty: Bool { items.isEmpty }
    public var isFull: Bool { items.count >= plan.limit }

    /// A payload went to the consumer without being queued.
    public mutating func passed() { sent += 1 }

    /// The source was told to stop.
    public mutating func paused() { waits += 1 }

    /// Queues a payload. With `.dropOldest` a full queue gives up its oldest; with the others the source must have been
    /// stopped, and what comes beyond twice the limit is dropped.
    /// - Parameter now: milliseconds, of the clock that `reading` is asked by.
    /// - Returns: false if a payload was dropped.
    @discardableResult
    public mutating func push(_ payload: Payload, at now: Int) -> Bool {
        sent += 1
        if plan.whenFull == .dropOldest, isFull {
            items.removeFirst()
            dropped += 1
            items.append((payload, now))
            return false
        }
        guard items.count < 2 * plan.limit else {
            dropped += 1
            return false
        }
        items.append((payload, now))
        peak = max(peak, items.count)
        return true
    }

    public mutating func popFirst() -> Payload? { items.popFirst()?.payload }

    public mutating func removeAll() { items.removeAll() }

    public func reading(at now: Int) -> EdgeReading {
        EdgeReading(
            plan, depth: items.count, peakDepth: peak, oldestMs: items.first.map { max(0, now - $0.since) } ?? 0,
            sent: sent, dropped: dropped, waits: waits)
    }
}
