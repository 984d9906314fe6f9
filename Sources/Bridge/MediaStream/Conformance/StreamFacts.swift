/// What was seen of a conversation as a whole, beside its messages. Times are milliseconds since the connection was
/// open, lengths of time are milliseconds.
public struct StreamFacts: Sendable, Equatable {
    /// What the far end is tested with.
    public enum Probe: Sendable, Hashable { case silence, unknown, dtmf }

    /// What became of a connection without a valid token.
    public enum Trial: Sendable, Equatable {
        case refused(status: Int)
        case closed(code: Int, afterMs: UInt64)
        /// It was answered with sound.
        case talked
        case stayedOpen(ms: UInt64)
        case failed(String)
    }

    /// What the far end did when it was interrupted.
    public enum BargeIn: Sendable, Equatable {
        case notTried
        case cleared(afterMs: UInt64)
        /// It fell silent without a word.
        case fellSilent(afterMs: UInt64)
        case spokeOn(ms: UInt64)
    }

    /// There was no answer at all, and nothing could be checked.
    public var unreachable: String?
    /// Of the upgrade: the HTTP status with which it was refused, or what is wrong with its answer; subprotocols
    /// offered and the one chosen.
    public var refusedStatus: Int?
    public var failure: String?
    public var offered: [String] = []
    public var chosen: String?
    public var upgradeMs: UInt64 = 0

    /// When the carrier began the stream; when the far end let it in, in dialects that say so.
    public var startedMs: UInt64?
    public var wrongToken: Trial?
    public var noToken: Trial?
    public var wrongSignature: Trial?
    public var noSignature: Trial?
    public var probes: [Probe: UInt64] = [:]
    public var bargeIn = BargeIn.notTried
    public var pings = 0
    public var pongs = 0
    /// Sound beyond what could have been played, at most.
    public var longestAheadMs: UInt64 = 0
    /// Messages that our codec does not understand, and no other rule objects to; the first one's reason.
    public var misunderstood = 0
    public var misunderstoodReason: String?
    public var look = SoundLook()

    /// When we said that the stream ends, and when we closed the connection ourselves.
    public var stoppedMs: UInt64?
    public var weClosedMs: UInt64?
    /// Messages of sound that came more than `StreamCheck.graceMs` after that.
    public var soundAfterStop = 0
    /// When the far end asked for the end by a message of its own.
    public var askedMs: UInt64?
    /// When the connection was over, with the far end's close code.
    public var closedMs: UInt64?
    public var closeCode: Int?
    /// Our codec gave the stream up.
    public var gaveUp = false
    /// Names of the far end's text messages, and how many of each.
    public var heard: [String: Int] = [:]

    // Figures, for information.
    /// From the open connection to the first sound; from the end of our speech to the first sound, each time.
    public var firstSoundMs: UInt64?
    public var answerMs: [UInt64] = []

    public init() {}

    /// The far end closed the connection before we said anything of an end.
    var wasClosedByFarEnd: Bool { closedMs != nil && stoppedMs == nil && weClosedMs == nil && !gaveUp }

    /// The test at which the far end closed the connection.
    var brokenBy: Probe? {
        guard wasClosedByFarEnd, askedMs == nil, let closedMs, let startedMs, isLetIn else { return nil }
        let recent = probes.filter { $0.key != .silence && $0.value <= closedMs }
            .filter { closedMs - $0.value <= StreamCheck.toleranceMs }
        if let last = recent.max(by: { $0.value < $1.value }) { return last.key }
        return closedMs <= startedMs + CheckScript.silenceMs ? .silence : nil
    }

    /// The far end did not close the connection as soon as the stream had begun.
    var isLetIn: Bool {
        guard let startedMs else { return false }
        return closedMs.map { !wasClosedByFarEnd || $0 > startedMs + StreamCheck.letInMs } ?? true
    }
}
