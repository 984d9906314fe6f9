/// The connections of a server on one loop, and which of them give way when room is short.
///
/// A connection is unproven until it has authenticated: a request had a valid key or login, or the `start` of its media
/// stream was accepted. Unproven connections cost a stranger nothing, so they are bounded, for each source and
/// together, whatever they do: wait, send a request, read an answer, or hold an open WebSocket. Proven connections
/// count only while they wait for their next request. While we work on an answer the connection waits for us, so it
/// does not count.
///
/// Those that never sent a request give way first, then other unproven ones, then proven ones that wait; among equals
/// the one whose latest request or answer began longest ago. A proven connection that takes an answer or has a
/// WebSocket never gives way. A pure value; the server closes what it names.
struct ConnectionTable {
    struct Limits {
        /// Connections that may give way and are older than `graceMs`, on one loop: some 2 KiB and a file descriptor
        /// each, and what `ServerLoop.heldLimit` bounds.
        var loose = 512
        /// ... of one source. A proxy in front of us is one source: it opens a new connection when one was closed.
        var loosePerSource = 128
        /// For so long every connection stays, ms: a thousand calls that begin at once are no attack.
        var graceMs: UInt64 = 1_000
        /// Connections that may give way, however new.
        var looseAtOnce = 4_096
        /// All connections of one loop.
        var total = 8_192
        /// Connections that give way together where there is no room at all: choosing them costs a look at each.
        var batch = 64
    }
    typealias ID = UInt64

    /// What a connection has shown, in the order in which connections give way.
    private enum Standing: Int { case silent, asked, proven }

    /// What it does: waits for its next request or sends it; waits for our answer; takes the answer, or has a
    /// WebSocket.
    private enum Activity { case asking, awaiting, taking }

    private struct Entry {
        let source: UInt32
        /// When it began what it does.
        var since: UInt64
        var standing = Standing.silent
        var activity = Activity.asking
        var isLoose: Bool { standing == .proven ? activity == .asking : activity != .awaiting }
    }

    let limits: Limits
    private var entries: [ID: Entry] = [:]
    private var looseBySource: [UInt32: Int] = [:]
    /// Connections that may give way.
    private(set) var looseCount = 0

    init(limits: Limits = Limits()) { self.limits = limits }

    var count: Int { entries.count }
    func isProven(_ id: ID) -> Bool { entries[id]?.standing == .proven }

    enum Admission: Equatable {
        /// Let in; these give way.
        case admitted(closing: [ID])
        /// The table is full, and no connection may be closed.
        case full
    }

    mutating func add(_ id: ID, source: UInt32, at now: UInt64) -> Admission {
        var closing: [ID] = []
        if entries.count >= limits.total || looseCount >= limits.looseAtOnce {
            closing = loose().prefix(limits.batch).map(\.id)
            for one in closing { remove(one) }
            guard entries.count < limits.total else { return .full }
        }
        entries[id] = Entry(source: source, since: now)
        count(source, 1)
        return .admitted(closing: closing)
    }

    /// A request is complete, and we work on its answer.
    mutating func begin(_ id: ID, at now: UInt64) {
        change(id) { entry in
            if entry.standing == .silent { entry.standing = .asked }
            (entry.activity, entry.since) = (.awaiting, now)
        }
    }

    /// The answer begins, or the WebSocket is open.
    mutating func answer(_ id: ID, at now: UInt64) { change(id) { ($0.activity, $0.since) = (.taking, now) } }

    /// The answer is sent; it waits for the next request.
    mutating func wait(_ id: ID, at now: UInt64) {
        change(id) { entry in
            guard entry.activity != .asking else { return }
            (entry.activity, entry.since) = (.asking, now)
        }
    }

    /// It has authenticated.
    mutating func prove(_ id: ID) { change(id) { $0.standing = .proven } }

    /// Connections that give way now. Ask some times a second.
    mutating func trim(at now: UInt64) -> [ID] {
        var crowded = looseBySource.filter { $0.value > limits.loosePerSource }.mapValues { $0 - limits.loosePerSource }
        var excess = looseCount - limits.loose
        guard excess > 0 || !crowded.isEmpty else { return [] }
        var chosen: [ID] = []
        for (id, entry) in loose() {
            guard now - min(now, entry.since) >= limits.graceMs else { continue }
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
        guard let entry = entries.removeValue(forKey: id), entry.isLoose else { return }
        count(entry.source, -1)
    }

    private mutating func change(_ id: ID, _ body: (inout Entry) -> Void) {
        guard var entry = entries[id] else { return }
        let wasLoose = entry.isLoose
        body(&entry)
        entries[id] = entry
        guard wasLoose != entry.isLoose else { return }
        count(entry.source, wasLoose ? -1 : 1)
    }

    private mutating func count(_ source: UInt32, _ difference: Int) {
        looseCount += difference
        let left = (looseBySource[source] ?? 0) + difference
        looseBySource[source] = left == 0 ? nil : left
    }

    /// Those that may give way, the first to do so first.
    private func loose() -> [(id: ID, entry: Entry)] {
        entries.lazy.filter { $0.value.isLoose }.map { (id: $0.key, entry: $0.value) }.sorted { a, b in
            (a.entry.standing.rawValue, a.entry.since, a.id) < (b.entry.standing.rawValue, b.entry.since, b.id)
        }
    }
}
