/// Messages of sound in the order of their numbers, where the network has mixed them up.
///
/// What comes in order passes at once: this is no jitter buffer. What comes too early waits for what is missing, for
/// the time of a few messages; what comes too late, or twice, is left out.
struct ChunkWindow {
    /// Messages that may wait for one that is missing: 60 ms of 20 ms each.
    static let limit = 3
    /// Numbers that one may be off; beyond them (a second) the far end has begun to count anew.
    static let reach = 50

    struct Held {
        fileprivate var chunk: Int
        var timestampMs: UInt32?
        var sound: [UInt8]
    }

    enum Place { case now, early, late }

    /// False: nothing waits. Where both sides of a call come, their numbers may be one series, which would seem to have
    /// gaps.
    var mayHold = true
    private var held: [Held] = []
    private var next: Int?

    /// - Parameter chunk: at most 18 digits; nil: the message has no number, and passes.
    mutating func place(_ chunk: Int?) -> Place {
        guard let chunk else { return .now }
        guard let next, (-Self.reach...Self.reach).contains(chunk - next) else {
            held.removeAll()
            self.next = chunk + 1
            return .now
        }
        if chunk < next { return .late }
        if chunk > next, mayHold { return held.contains { $0.chunk == chunk } ? .late : .early }
        self.next = chunk + 1
        return .now
    }

    /// What came early.
    mutating func hold(_ sound: UnsafeBufferPointer<UInt8>, chunk: Int?, timestampMs: UInt32?) {
        guard let chunk else { return }
        let index = held.firstIndex { $0.chunk > chunk } ?? held.endIndex
        held.insert(Held(chunk: chunk, timestampMs: timestampMs, sound: Array(sound)), at: index)
    }

    /// The next that waits and need not wait any longer: nothing is missing in front of it, or too much waits.
    mutating func due() -> Held? {
        guard let first = held.first, first.chunk == next || held.count > Self.limit else { return nil }
        next = first.chunk + 1
        return held.removeFirst()
    }

    /// No more comes: all that waits, in order.
    mutating func end() -> [Held] {
        defer { held.removeAll() }
        return held
    }
}
