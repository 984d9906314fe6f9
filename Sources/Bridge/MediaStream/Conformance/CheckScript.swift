/// What the kit does in a conversation, and when: a state machine of the caller's side. Events go in, actions come out.
///
/// silence ▶ question ▶ waits for an answer ▶ interrupts it ▶ waits ▶ unknown message ▶ digit ▶ end. A far end that
/// speaks by itself is interrupted as soon as it has spoken for a while.
struct CheckScript {
    /// Milliseconds of silence at first; that an answer may take; from the begin of an interruption until the far end
    /// must have stopped; between the tests at the end.
    static let silenceMs: UInt64 = 2_500
    static let answerLimitMs: UInt64 = 7_000
    static let bargeLimitMs: UInt64 = 2_500
    static let probeMs: UInt64 = 700
    /// Milliseconds that the far end is to have spoken before it is interrupted.
    static let spokenMs: UInt64 = 700
    /// Milliseconds for the far end to close after the carrier's end, and to answer our close.
    static let stopLimitMs: UInt64 = 5_000

    /// What the script asks for.
    enum Action: Equatable {
        /// Speak from the begin; be silent.
        case speak, hush
        case probe(StreamFacts.Probe)
        /// What the interruption has shown.
        case judge(StreamFacts.BargeIn)
        /// The answer came so long after our speech.
        case answered(afterMs: UInt64)
        case stop, close, finish
    }

    enum State: Equatable {
        case begun(at: UInt64)
        case asking(until: UInt64)
        /// - heard: the answer's first sound has come.
        case awaiting(since: UInt64, heard: Bool)
        case interrupting(since: UInt64)
        case settling(since: UInt64, heard: Bool)
        case unknown(at: UInt64), dtmf(at: UInt64)
        /// We have said that the stream ends; the far end has; we have closed.
        case stopping(at: UInt64), leaving(at: UInt64), closing(at: UInt64)
        case over
    }

    private(set) var state: State
    let speechMs: UInt64
    /// When the tests at the end begin at the latest.
    let deadlineMs: UInt64
    /// Since when the far end has been speaking; nil: it is silent.
    private var speakingSince: UInt64?
    private var lastSoundAt: UInt64 = 0
    private var playsUntil: UInt64 = 0
    private var hasInterrupted = false

    /// Milliseconds without loud sound after which the far end counts as silent.
    private static let pauseMs: UInt64 = 400
    /// Milliseconds that the far end is given for what follows its message for the end.
    private static let leaveMs: UInt64 = 1_000

    /// - Parameters:
    ///   - speechMs: length of what the kit says.
    ///   - limitMs: of the conversation before the tests at its end.
    init(at now: UInt64, speechMs: UInt64, limitMs: UInt64) {
        state = .begun(at: now)
        self.speechMs = speechMs
        deadlineMs = now + limitMs
    }

    /// Loud sound has come, and what has come will have been played at `playsUntil`.
    mutating func heard(at now: UInt64, playsUntil: UInt64) -> [Action] {
        if speakingSince == nil || now > lastSoundAt + Self.pauseMs && now > self.playsUntil { speakingSince = now }
        lastSoundAt = now
        self.playsUntil = playsUntil
        switch state {
        case .awaiting(let since, false):
            state = .awaiting(since: since, heard: true)
            return [.answered(afterMs: now - min(now, since))]
        case .settling(let since, false) where now >= since:
            state = .settling(since: since, heard: true)
            return [.answered(afterMs: now - min(now, since))]
        default: return []
        }
    }

    mutating func cleared(at now: UInt64) -> [Action] {
        playsUntil = now
        speakingSince = nil
        guard case .interrupting(let since) = state else { return [] }
        state = .settling(since: since + speechMs, heard: false)
        return [.judge(.cleared(afterMs: now - min(now, since)))]
    }

    /// The far end has asked for the end.
    mutating func asked(at now: UInt64) -> [Action] {
        switch state {
        case .stopping, .leaving, .closing, .over: return []
        default:
            state = .leaving(at: now)
            return [.hush]
        }
    }

    /// There was no word for the end: the connection has been closed instead.
    mutating func closed(at now: UInt64) { state = .closing(at: now) }

    mutating func tick(at now: UInt64) -> [Action] {
        switch state {
        case .begun(let at):
            guard now >= at + Self.silenceMs else { return [] }
            if isInterruptible(now) { return interrupt(now) }
            if isTalking(now) { return now >= deadlineMs ? probe(now) : [] }
            state = .asking(until: now + speechMs)
            return [.speak]
        case .asking(let until):
            guard now >= until else { return [] }
            state = .awaiting(since: now, heard: false)
            return [.hush]
        case .awaiting(let since, let heard):
            if isInterruptible(now), heard { return interrupt(now) }
            let isOver = heard && !isTalking(now) && now >= lastSoundAt + Self.spokenMs
            return isOver || now >= since + Self.answerLimitMs || now >= deadlineMs ? probe(now) : []
        case .interrupting(let since):
            if !isTalking(now) {
                state = .settling(since: since + speechMs, heard: false)
                return [.judge(.fellSilent(afterMs: max(lastSoundAt, since) - since))]
            }
            guard now >= since + Self.bargeLimitMs else { return [] }
            state = .settling(since: now, heard: true)
            return [.judge(.spokeOn(ms: now - since))]
        case .settling(let since, let heard):
            return heard || now >= since + Self.answerLimitMs || now >= deadlineMs ? probe(now) : []
        case .unknown(let at):
            guard now >= at + Self.probeMs else { return [] }
            state = .dtmf(at: now)
            return [.probe(.dtmf)]
        case .dtmf(let at):
            guard now >= at + Self.probeMs else { return [] }
            state = .stopping(at: now)
            return [.stop]
        case .stopping(let at):
            guard now >= at + Self.stopLimitMs else { return [] }
            state = .closing(at: now)
            return [.close]
        case .leaving(let at):
            guard now >= at + Self.leaveMs else { return [] }
            state = .closing(at: now)
            return [.close]
        case .closing(let at):
            guard now >= at + Self.stopLimitMs else { return [] }
            state = .over
            return [.finish]
        case .over: return []
        }
    }

    /// It has spoken long enough, and still does.
    private func isInterruptible(_ now: UInt64) -> Bool {
        guard !hasInterrupted, let speakingSince, isTalking(now) else { return false }
        return now >= speakingSince + Self.spokenMs
    }

    private func isTalking(_ now: UInt64) -> Bool { now < lastSoundAt + Self.pauseMs || now < playsUntil }

    private mutating func interrupt(_ now: UInt64) -> [Action] {
        hasInterrupted = true
        state = .interrupting(since: now)
        return [.speak]
    }

    private mutating func probe(_ now: UInt64) -> [Action] {
        state = .unknown(at: now)
        return [.hush, .probe(.unknown)]
    }
}
