/// Finds out the order of linear sound's bytes from the sound itself.
///
/// Read in the wrong order sound is loud noise: the samples and the steps between them are large. A message votes for
/// the order in which both are less than half of what they are in the other. Silence, and what is loud noise either
/// way, do not vote; nor does what tells little, as loud tones made of G.711 do: few values, or nearly all of one sign.
/// (Of some 20 000 tones, of PCM, μ-law and A-law, at all levels and rates, none votes wrongly.)
///
/// The first vote counts at once, so nothing has to wait; after a second of sound that voted the order is settled.
struct ByteOrderVotes {
    /// Milliseconds of sound that votes until the order is settled.
    static let settledMs = 1_000
    /// Samples without which a message has no vote.
    static let fewestSamples = 16
    /// Different values without which sound has no vote, unless it is quieter than `quiet`, on an average.
    static let fewestValues = 12
    static let quiet = 256

    /// Samples that vote until the order is settled.
    private let wanted: Int
    private var voted = 0
    /// Messages for the order that is presumed, less those for the other.
    private var balance = 0

    init(_ format: WireFormat) { wanted = format.bytes(ofMs: Self.settledMs) / 2 }

    var isSettled: Bool { voted >= wanted }
    /// The sound has the other order.
    var isOther: Bool { balance < 0 }

    /// What sound is like in one order. A message has at most 30 s of it: the sums stay far below what an `Int` holds.
    private struct Likeness {
        var sizes = 0
        var steps = 0
        var positive = 0
        var negative = 0
        private var last: Int?

        mutating func add(_ sample: Int16) {
            let value = Int(sample)
            sizes += abs(value)
            if let last { steps += abs(value - last) }
            last = value
            if value > 0 { positive += 1 }
            if value < 0 { negative += 1 }
        }

        func isPlausible(beside other: Likeness, _ count: Int, values: Int) -> Bool {
            2 * steps < other.steps && 2 * sizes < other.sizes && 3 * negative > positive && 3 * positive > negative
                && (values >= ByteOrderVotes.fewestValues || sizes < ByteOrderVotes.quiet * count)
        }
    }

    /// - Parameter sound: whole samples, the least significant byte first where that is the order that is presumed.
    mutating func hear(_ sound: UnsafeBufferPointer<UInt8>) {
        let count = sound.count / 2
        guard count >= Self.fewestSamples, !isSettled else { return }
        var presumed = Likeness()
        var other = Likeness()
        // One bit of 64 for each value, as good as at random.
        var values: UInt64 = 0
        for index in 0..<count {
            let pattern = UInt16(sound[2 * index]) | UInt16(sound[2 * index + 1]) << 8
            presumed.add(Int16(bitPattern: pattern))
            other.add(Int16(bitPattern: pattern.byteSwapped))
            values |= 1 << UInt64((UInt32(pattern) &* 40_503) >> 10 & 63)
        }
        if presumed.isPlausible(beside: other, count, values: values.nonzeroBitCount) {
            balance += 1
        } else if other.isPlausible(beside: presumed, count, values: values.nonzeroBitCount) {
            balance -= 1
        } else {
            return
        }
        voted += count
    }
}
