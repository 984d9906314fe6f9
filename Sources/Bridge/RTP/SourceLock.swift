internal import Net

/// Which sender's packets belong to this call, and where ours go: one address at a time.
///
/// The signalled address comes first. Behind NAT its packets come from elsewhere; such a source is taken when the
/// signalled address has been silent for `silenceMs` and the source has proved itself with packets in a row. Before
/// that nothing of it is heard, and nothing goes to it.
///
///                    signalled speaks
///     waiting ───────────────────────────────▶ settled   (no other source is taken)
///        │                                        ▲
///        │ silenceMs over, and a source           │ signalled speaks: the source is given up
///        │ has proved itself                      │
///        └───────────────────▶ taken(source) ─────┘
///                                 │     ▲ another source, when this one has been silent
///                                 │     │ for `rebindMs` (its NAT has given it another port)
///                                 └─────┘
///
/// A new signalled address leads from each state to `waiting`; none at all (hold by 0.0.0.0, RFC 3264 §8.4) to `held`,
/// where the source heard last stays, no other one is taken, and nothing is sent.
///
/// All times are milliseconds of one clock, given by the caller.
struct SourceLock {
    /// Packets in a row, of one SSRC, that a source other than the signalled one must send.
    static let provingPackets = 4
    /// The same for the source from before the media moved: its last packets may still arrive.
    static let formerProvingPackets = 50
    /// For how long the signalled address must be silent after it was named. A phone sends 20 ms after it answers; a
    /// word lost to this by a phone behind NAT is shorter than half a second.
    static let silenceMs: UInt64 = 500
    /// For how long a source that was taken must be silent before another is.
    static let rebindMs: UInt64 = 2_000
    /// Sources that may prove themselves at once; a flood of forged addresses pushes out none that is on its way.
    static let candidateLimit = 4
    /// Sequence numbers that a packet may be ahead of the one before it.
    static let sequenceGap: UInt16 = 100

    private enum State: Equatable {
        case waiting
        case settled
        case taken(SocketAddress)
        case held(heard: SocketAddress?)
    }
    private struct Candidate {
        var source: SocketAddress
        var ssrc: UInt32
        var sequence: UInt16
        var count: Int
        var lastMs: UInt64
    }

    private var state: State
    private var announced: SocketAddress?
    private var former: SocketAddress?
    private var candidates: [Candidate] = []
    /// When the signalled address was named, or the source that was taken was heard last.
    private var sinceMs: UInt64
    private(set) var rejected = 0

    init(announced: SocketAddress?, now: UInt64) {
        self.announced = announced
        state = announced == nil ? .held(heard: nil) : .waiting
        sinceMs = now
    }

    /// Where our packets go; nil: nowhere.
    var target: SocketAddress? {
        switch state {
        case .waiting, .settled: announced
        case .taken(let source): source
        case .held: nil
        }
    }

    /// The source that is heard now; nil: none yet.
    var heard: SocketAddress? {
        switch state {
        case .waiting: nil
        case .settled: announced
        case .taken(let source): source
        case .held(let source): source
        }
    }

    /// Offer and answer have named an address, the same as before or another.
    mutating func move(to announced: SocketAddress?, now: UInt64) {
        // Named again, by the answer that follows early media.
        guard announced != self.announced else { return begin(now: now) }
        let before = heard
        self.announced = announced
        candidates = []
        sinceMs = now
        guard let announced else {
            state = .held(heard: before)
            return
        }
        // Resumed where it was left.
        if case .held(let source?) = state, source == announced { state = .settled } else { state = .waiting }
        former = before == announced ? nil : before ?? former
    }

    /// The call is answered: a signalled source that has not sent yet gets its time once more.
    mutating func begin(now: UInt64) { if state == .waiting { sinceMs = now } }

    /// Whether an RTP packet is to be heard.
    mutating func admit(_ source: SocketAddress, ssrc: UInt32, sequence: UInt16, now: UInt64) -> Bool {
        if let announced, source == announced {
            state = .settled
            candidates = []
            return true
        }
        switch state {
        case .held(let heard?) where heard == source: return true
        case .taken(let taken) where taken == source:
            sinceMs = now
            return true
        case .settled, .held:
            rejected += 1
            return false
        case .waiting, .taken: break
        }
        let isProved = prove(source, ssrc: ssrc, sequence: sequence, now: now)
        let silence = now - min(now, sinceMs)
        var wanted = Self.silenceMs
        if case .taken = state { wanted = Self.rebindMs }
        guard isProved, silence >= wanted else {
            rejected += 1
            return false
        }
        state = .taken(source)
        sinceMs = now
        candidates = []
        return true
    }

    /// Whether an RTCP packet is to be read: of the address that the media come from, or are to come from. Its port is
    /// another, and behind NAT any.
    func admitsControl(_ source: SocketAddress) -> Bool { source.address == (heard ?? announced)?.address }

    private mutating func prove(_ source: SocketAddress, ssrc: UInt32, sequence: UInt16, now: UInt64) -> Bool {
        guard let index = candidates.firstIndex(where: { $0.source == source }) else {
            candidates.removeAll { now - min(now, $0.lastMs) > Self.silenceMs }
            guard candidates.count < Self.candidateLimit else { return false }
            candidates.append(Candidate(source: source, ssrc: ssrc, sequence: sequence, count: 1, lastMs: now))
            return false
        }
        let known = candidates[index]
        let follows = known.ssrc == ssrc && (1..<Self.sequenceGap).contains(sequence &- known.sequence)
        let count = follows ? min(known.count + 1, Self.formerProvingPackets) : 1
        candidates[index] = Candidate(source: source, ssrc: ssrc, sequence: sequence, count: count, lastMs: now)
        return count >= (source == former ? Self.formerProvingPackets : Self.provingPackets)
    }
}
