internal import Pipeline

/// What waits to be spoken to the caller: frames and the marks between them, one frame a tick.
struct Playout {
    /// Frames: a minute of speech. What comes on top is refused, as a carrier's buffer would.
    static let capacity = 3_000

    private enum Item {
        case frame(EncodedFrame)
        case mark(String)
    }
    private var items: [Item] = []
    private var head = 0
    private(set) var frames = 0
    private(set) var refused = 0
    private(set) var trimmed = 0

    /// Ticks over which a relayed call is watched: two seconds.
    private static let paceWindow = 100
    /// Frames that wait all the time and more: one is too many.
    private static let paceSpare = 2
    private var watched = 0
    private var fewest = Int.max
    /// Frames dropped because the far end's clock is faster than ours.
    private(set) var skipped = 0

    mutating func append(_ frame: EncodedFrame) {
        guard frames < Self.capacity else {
            refused += 1
            return
        }
        items.append(.frame(frame))
        frames += 1
    }

    /// A mark behind everything queued now.
    mutating func append(mark: String) { items.append(.mark(mark)) }

    /// The next frame, if any, and the marks that have been reached: those in front of it.
    mutating func next(reached: inout [String]) -> EncodedFrame? {
        defer { compact() }
        while head < items.count {
            defer { head += 1 }
            switch items[head] {
            case .mark(let name): reached.append(name)
            case .frame(let frame):
                frames -= 1
                return frame
            }
        }
        return nil
    }

    /// Drops everything; the marks come back too.
    mutating func clear() -> [String] {
        let marks = items[head...].compactMap { item -> String? in
            if case .mark(let name) = item { return name }
            return nil
        }
        items.removeAll(keepingCapacity: true)
        head = 0
        frames = 0
        return marks
    }

    /// Drops the oldest frames beyond this many; marks stay. A relayed call has no use for what is late.
    mutating func trim(to limit: Int) {
        while frames > limit,
            let index = items[head...].firstIndex(where: { if case .frame = $0 { true } else { false } })
        {
            items.remove(at: index)
            frames -= 1
            trimmed += 1
        }
    }

    /// Once a tick of a relayed call. The far end's clock is not ours: where it is faster the queue grows without end,
    /// so of two seconds in which more was waiting all the time than the line's jitter needs the quietest frame is left
    /// out. (Where it is slower, a tick now and then finds nothing and is silent.)
    mutating func keepPace() {
        fewest = min(fewest, frames)
        watched += 1
        guard watched == Self.paceWindow else { return }
        defer {
            watched = 0
            fewest = .max
        }
        guard fewest >= Self.paceSpare else { return }
        var quietest: (index: Int, loudness: Int)?
        for index in items.indices[head...] {
            guard case .frame(let frame) = items[index] else { continue }
            let loudness = Self.loudness(frame)
            if loudness < quietest?.loudness ?? .max { quietest = (index, loudness) }
        }
        guard let quietest else { return }
        items.remove(at: quietest.index)
        frames -= 1
        skipped += 1
    }

    /// Sum of the magnitudes' codes: the laws are logarithmic, so it need not be decoded to be compared.
    private static func loudness(_ frame: EncodedFrame) -> Int {
        let flip: UInt8 = frame.law == .muLaw ? 0x7F : 0x55
        var sum = 0
        for index in 0..<EncodedFrame.byteCount { sum += Int((frame.bytes[index] ^ flip) & 0x7F) }
        return sum
    }

    private mutating func compact() {
        if head == items.count {
            items.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 512 {
            items.removeFirst(head)
            head = 0
        }
    }
}
