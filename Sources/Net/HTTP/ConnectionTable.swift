/// The connections of a server on one loop, and which of them give way when room is short.
///
/// A connection waits until its request is complete, and again after the answer. Waiting costs a stranger nothing, so
/// waiting connections are bounded, for each source and together. Those that have waited longest give way first, and of
/// them those that never sent a request before those that did. Connections with a request in progress and WebSockets
/// never give way. A pure value; the server closes what it names.
struct ConnectionTable {
    struct Limits {
        /// Connections that may wait for longer than `graceMs`, on one loop: some 2 KiB and a file descriptor each.
        var waiting = 512
        /// ... of one source. A proxy in front of us is one source: it opens a new connection when one was closed.
        var waitingPerSource = 128
        /// For so long every connection may wait, ms: a thousand calls that begin at once are no attack.
        var graceMs: UInt64 = 1_000
        /// Connections that wait, however short.
        var waitingAtOnce = 4_096
        /// All connections of one loop, WebSockets too.
        var total = 8_192
        /// Connections that give way together where there is no room at all: choosing them costs a look at each.
        var batch = 64
    }
    typealias ID = UInt64

    private struct Entry {
        let source: UInt32
        /// nil: a request is in progress, or it is a WebSocket.
        var waitingSince: UInt64?
        /// It has sent a complete request.
        var isProven = false
    }

    let limits: Limits
    private var entries: [ID: Entry] = [:]
    private var waitingBySource: [UInt32: Int] = [:]
    private(set) var waitingCount = 0

    init(limits: Limits = Limits()) { self.limits = limits }

    var count: Int { entries.count }

    enum Admission: Equatable {
        /// Let in; these give way.
        case admitted(closing: [ID])
        /// The table is full, and no connection may be closed.
        case full
    }

    mutating func add(_ id: ID, source: UInt32, at now: UInt64) -> Admission {
        var closing: [ID] = []
        if entries.count >= limits.total || waitingCount >= limits.waitingAtOnce {
            closing = giveWay(Array(waiting().prefix(limits.batch)))
            guard entries.count < limits.total else { return .full }
        }
        entries[id] = Entry(source: source, waitingSince: nil)
        wait(id, at: now)
        return .admitted(closing: closing)
    }

    /// A request is complete.
    mutating func begin(_ id: ID) {
        stopWaiting(id)
        entries[id]?.isProven = true
    }

    /// Its answer is sent; it may wait for the next request.
    mutating func wait(_ id: ID, at now: UInt64) {
        guard let entry = entries[id], entry.waitingSince == nil else { return }
        entries[id]?.waitingSince = now
        waitingBySource[entry.source, default: 0] += 1
        waitingCount += 1
    }

    /// Connections that give way now. Ask some times a second.
    mutating func trim(at now: UInt64) -> [ID] {
        var crowded = waitingBySource.filter { $0.value > limits.waitingPerSource }.mapValues {
            $0 - limits.waitingPerSource
        }
        var excess = waitingCount - limits.waiting
        guard excess > 0 || !crowded.isEmpty else { return [] }
        var chosen: [ID] = []
        for (id, entry) in waiting() {
            guard let since = entry.waitingSince, now - min(now, since) >= limits.graceMs else { continue }
            let surplus = crowded[entry.source] ?? 0
            guard surplus > 0 || excess > 0 else { continue }
            if surplus > 0 { crowded[entry.source] = surplus - 1 }
            excess -= 1
            chosen.append(id)
        }
        for id in chosen { remove(id) }
        return chosen
    }

    mutating func remove(_ id: ID) {
        stopWaiting(id)
        entries[id] = nil
    }

    private mutating func giveWay(_ chosen: [(id: ID, entry: Entry)]) -> [ID] {
        for one in chosen { remove(one.id) }
        return chosen.map(\.id)
    }

    private mutating func stopWaiting(_ id: ID) {
        guard let entry = entries[id], entry.waitingSince != nil else { return }
        entries[id]?.waitingSince = nil
        waitingCount -= 1
        let left = waitingBySource[entry.source, default: 1] - 1
        waitingBySource[entry.source] = left == 0 ? nil : left
    }

    /// Those that wait, in the order in which they give way.
    private func waiting() -> [(id: ID, entry: Entry)] {
        entries.lazy.filter { $0.value.waitingSince != nil }.map { (id: $0.key, entry: $0.value) }.sorted { a, b in
            guard a.entry.isProven == b.entry.isProven else { return !a.entry.isProven }
            return (a.entry.waitingSince ?? 0, a.id) < (b.entry.waitingSince ?? 0, b.id)
        }
    }
}
