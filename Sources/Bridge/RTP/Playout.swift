internal import DequeModule
internal import Pipeline

/// What waits to be spoken to the caller: frames and the marks between them, one frame a tick.
struct Playout {
    /// Frames: a minute of speech. More is refused, as a carrier's buffer would.
    static let capacity = 3_000
    /// Marks: more than one for each frame has no use. For one on top the oldest comes back at once.
    static let markLimit = 4_000

    private var waiting: Deque<EncodedFrame> = []
    /// Each with the number of the frame that it follows, counted since the beginning.
    private var marks: Deque<(name: String, after: Int)> = []
    /// Frames that have been played or left out.
    private var taken = 0
    private(set) var refused = 0
    private(set) var trimmed = 0

    var frames: Int { waiting.count }

    /// Ticks over which a relayed call is watched: two seconds.
    private static let paceWindow = 100
    /// Frames that wait all the time and more: one is too many.
    private static let paceSpare = 2
    private var watched = 0
    private var fewest = Int.max
    /// Frames dropped because the far end's clock is faster than ours.
    private(set) var skipped = 0

    mutating func append(_ frame: EncodedFrame) {
        guard waiting.count < Self.capacity else {
            refused += 1
            return
        }
        waiting.append(frame)
    }

    /// A mark behind everything queued now.
    /// - Returns: the oldest mark, where too many wait: it counts as reached.
    mutating func append(mark: String) -> String? {
        marks.append((mark, taken &+ waiting.count))
        return marks.count > Self.markLimit ? marks.popFirst()?.name : nil
    }

    /// The next frame, if any, and the marks that have been reached: those in front of it.
    mutating func next(reached: inout [String]) -> EncodedFrame? {
        while let mark = marks.first, mark.after <= taken {
            reached.append(mark.name)
            marks.removeFirst()
        }
        guard let frame = waiting.popFirst() else { return nil }
        taken &+= 1
        return frame
    }

    /// Drops everything; the marks come back too.
    mutating func clear() -> [String] {
        defer {
            taken &+= waiting.count
            waiting.removeAll(keepingCapacity: true)
            marks.removeAll(keepingCapacity: true)
        }
        return marks.map(\.name)
    }

    /// Drops the oldest frames beyond this many; marks stay. A relayed call has no use for what is late.
    mutating func trim(to limit: Int) {
        let surplus = max(0, waiting.count - limit)
        waiting.removeFirst(surplus)
        taken &+= surplus
        trimmed += surplus
    }

    /// Once a tick of a relayed call. The far end's clock is not ours: where it is faster the queue grows without end,
    /// so of two seconds in which more was waiting all the time than the line's jitter needs the quietest frame is left
    /// out. (Where it is slower, a tick now and then finds nothing and is silent.)
    mutating func keepPace() {
        fewest = min(fewest, waiting.count)
        watched += 1
        guard watched == Self.paceWindow else { return }
        defer {
            watched = 0
            fewest = .max
        }
        guard fewest >= Self.paceSpare else { return }
        var quietest: (index: Int, loudness: Int)?
        for index in waiting.indices {
            let loudness = Self.loudness(waiting[index])
            if loudness < quietest?.loudness ?? .max { quietest = (index, loudness) }
        }
        guard let quietest else { return }
        waiting.remove(at: quietest.index)
        for index in marks.indices where marks[index].after > taken &+ quietest.index { marks[index].after &-= 1 }
        skipped += 1
    }

    /// Sum of the magnitudes' codes: the laws are logarithmic, so it need not be decoded to be compared.
    private static func loudness(_ frame: EncodedFrame) -> Int {
        let flip: UInt8 = frame.law == .muLaw ? 0x7F : 0x55
        var sum = 0
        for index in 0..<EncodedFrame.byteCount { sum += Int((frame.bytes[index] ^ flip) & 0x7F) }
        return sum
    }
}
