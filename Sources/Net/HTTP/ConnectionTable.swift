/// The connections of a server on one loop, and which of them give way when room is short.
///
/// A connection waits until its request is complete, and again after the answer. Waiting costs a stranger nothing, so
/// waiting connections are bounded, for each source and together; who has waited longest gives way first, and of
/// those who never sent a request before those who did. Connections with a request in progress and WebSockets
/// never give way. A pure value; the server closes what it names.
struct ConnectionTable {
    struct Limits {
        /// Connections that wait, on one loop: some 2 KiB and a file descriptor each.
        var waiting = 512
        /// ... of one source. A proxy in front of us is one source: it opens a new connection when one was closed.
        var waitingPerSource = 128
        /// All connections of one loop, WebSockets too; more are closed at once.
        var total = 8_192
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
        /// There is no room, and nobody who could give way.
        case full
    }

    mutating func add(_ id: ID, source: UInt32, at now: UInt64) -> Admission {
        if entries.count >= limits.total {
            guard let first = longestWaiting(of: nil) else { return .full }
            remove(first)
            entries[id] = Entry(source: source, waitingSince: nil)
            return .admitted(closing: [first] + wait(id, at: now))
        }
        entries[id] = Entry(source: source, waitingSince: nil)
        return .admitted(closing: wait(id, at: now))
    }

    /// A request is complete.
    mutating func begin(_ id: ID) {
        guard let entry = entries[id], entry.waitingSince != nil else { return }
        stopWaiting(id)
        entries[id]?.isProven = true
    }

    /// Its answer is sent; it may wait for the next one. Returns who gives way to it.
    mutating func wait(_ id: ID, at now: UInt64) -> [ID] {
        guard let entry = entries[id], entry.waitingSince == nil else { return [] }
        var closing: [ID] = []
        if waitingBySource[entry.source, default: 0] >= limits.waitingPerSource, let first = longestWaiting(of: entry.source) {
            closing.append(first)
            remove(first)
        }
        if waitingCount >= limits.waiting, let first = longestWaiting(of: nil) {
            closing.append(first)
            remove(first)
        }
        entries[id]?.waitingSince = now
        waitingBySource[entry.source, default: 0] += 1
        waitingCount += 1
        return closing
    }

    mutating func remove(_ id: ID) {
        stopWaiting(id)
        entries[id] = nil
    }

    private mutating func stopWaiting(_ id: ID) {
        guard let entry = entries[id], entry.waitingSince != nil else { return }
        entries[id]?.waitingSince = nil
        waitingCount -= 1
        let left = waitingBySource[entry.source, default: 1] - 1
        waitingBySource[entry.source] = left == 0 ? nil : left
    }

    private func longestWaiting(of source: UInt32?) -> ID? {
        var best: (id: ID, isProven: Bool, since: UInt64)?
        for (id, entry) in entries {
            guard let since = entry.waitingSince, source == nil || entry.source == source else { continue }
            if let found = best {
                let isBefore = entry.isProven == found.isProven ? (since, id) < (found.since, found.id) : !entry.isProven
                guard isBefore else { continue }
            }
            best = (id, entry.isProven, since)
        }
        return best?.id
    }
}
