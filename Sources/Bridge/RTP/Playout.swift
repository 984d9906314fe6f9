internal import Pipeline

/// What waits to be spoken to the caller: frames and the marks between them, one frame a beat.
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

    /// Drops everything; the marks come back too, as Twilio echoes them.
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
        while frames > limit, let index = items[head...].firstIndex(where: { if case .frame = $0 { true } else { false } }) {
            items.remove(at: index)
            frames -= 1
            trimmed += 1
        }
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
