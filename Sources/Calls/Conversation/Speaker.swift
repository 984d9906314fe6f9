internal import Bridge
internal import DequeModule
internal import Pipeline

/// Our speech on its way to the caller's ear: paced out, followed until it has played, and written down as it was
/// heard.
///
///     frame → outgoing ─ pace ─→ stream, inFlight ─ played ─→ HeardLedger, Recording
///
/// The far end tells what was heard. Behind the first frame of a burst, and behind every second of it, goes a mark; it
/// comes back when that frame has played, and puts the burst on the far end's clock. Only what has played is written
/// down, so ledger, transcript and recording agree. Reads no clock: times are ms since the answer. Confined to its
/// loop.
final class Speaker {
    /// Frames sent ahead of the clock, at the least, for the network's jitter; a barge-in drops them at the far end.
    static let leadFrames = 3
    /// Frames from one mark to the next within a burst (1 s).
    static let anchorFrames = 50
    /// Without the burst's first mark its frames count as played by our own clock after this long, ms.
    static let anchorTimeoutMs = 1_000
    /// A later mark moves the burst only if it is off by more than this, ms: less is the network's jitter.
    static let anchorToleranceMs = 20
    /// A turn's mark that is not echoed this long after its audio must have played counts as reached, ms.
    static let markTimeoutMs = 2_000

    private struct Sent {
        var frame: EncodedFrame
        var utterance: Int
        var burst: Int
        /// When it is heard, by what is known so far.
        var startMs: Int
        var anchor: Int?
    }

    private let stream: any MediaStream
    private let recording: Recording?
    private(set) var ledger = HeardLedger()

    /// Frames that wait to be sent; `at`: since when.
    private var outgoing: Deque<(frame: EncodedFrame, utterance: Int, at: Int)> = []
    /// How many may wait, and what happens then; each way of holding the conversation has its own.
    var plan = CallLayout.speech
    private var meter = StageMeter()
    private var peak = 0
    private var queued = 0
    private var dropped = 0
    private var waits = 0
    private var message: [EncodedFrame] = []
    private var inFlight: Deque<Sent> = []
    /// When the last frame sent ends, were there no network: the clock we send by.
    private var playsUntil = 0
    private var burst = 0
    private var burstFrames = 0
    private var isAnchored = false
    /// From the clock we send by to the far end's as we see it.
    private var lagMs = 0
    /// The way there and back: the least lag of any burst, for a lag also holds the wait for the far end's next tick.
    private var roundTripMs: Int?
    private var anchors = 0
    private var completeTurn: Int32?
    private var markedTurn: (turn: Int32, deadline: Int)?
    private var isPaused = false

    /// Hears each frame that has been heard, in order.
    var onPlayed: ((EncodedFrame) -> Void)?

    init(stream: any MediaStream, recording: Recording?) {
        self.stream = stream
        self.recording = recording
    }

    /// Something is being said, on its way, or held back.
    var isSpeaking: Bool { !inFlight.isEmpty || !outgoing.isEmpty || markedTurn != nil }
    /// The source of our speech is to wait.
    var isFull: Bool { outgoing.count >= plan.limit }
    /// It may go on.
    var hasRoom: Bool { outgoing.count < plan.limit / 2 }

    /// The source waits from now on.
    func sourceWaits() { waits += 1 }

    /// - Parameter now: as everywhere here, ms since the answer.
    func reading(at now: Int) -> (stage: StageReading, edge: EdgeReading) {
        (
            meter.reading(CallLayout.pacer, .ai),
            EdgeReading(
                plan, depth: outgoing.count, peakDepth: peak, oldestMs: outgoing.first.map { max(0, now - $0.at) } ?? 0,
                sent: queued, dropped: dropped, waits: waits)
        )
    }

    // MARK: What is to be said

    func begin(turn: Int32, text: String) -> Int { ledger.begin(turn: turn, text: text) }
    func append(_ text: String, to utterance: Int) { ledger.append(text, to: utterance) }
    func words(_ words: [SpokenWord], of utterance: Int) { ledger.words(words, of: utterance) }
    func complete(_ utterance: Int) { ledger.complete(utterance) }
    /// All of the turn's utterances have begun.
    func turnComplete(_ turn: Int32) { completeTurn = turn }

    /// A frame of an utterance; the first of a burst leaves at once, the tick sends the rest.
    /// - Returns: whether it left.
    func say(_ frame: EncodedFrame, of utterance: Int, now: Int) -> Bool {
        // The source was told to wait long ago; whatever comes all the same is not kept for ever.
        guard outgoing.count < 2 * plan.limit else {
            dropped += 1
            return false
        }
        ledger.generated(EncodedFrame.milliseconds, of: utterance)
        outgoing.append((frame, utterance, now))
        queued += 1
        peak = max(peak, outgoing.count)
        return playsUntil <= now && pace(now)
    }

    // MARK: On its way

    /// To be called every tick.
    /// - Returns: whether anything was sent, and the turn that counts as heard though its mark never came back.
    func tick(_ now: Int) -> (hasSent: Bool, heard: Int32?) {
        let hasSent = pace(now)
        advance(to: now)
        // The turn's last frame is on its way: ask to be told when it has been heard.
        if let turn = completeTurn, outgoing.isEmpty, !isPaused,
            ledger.utterances.allSatisfy({ $0.turn != turn || $0.isComplete || $0.isInterrupted })
        {
            completeTurn = nil
            markedTurn = (turn, max(playsUntil, now) + Self.markTimeoutMs)
            stream.send(.mark("turn-\(turn)"))
        }
        if let marked = markedTurn, now >= marked.deadline { return (hasSent, heard(turn: marked.turn)) }
        return (hasSent, nil)
    }

    private func pace(_ now: Int) -> Bool {
        var hasSent = false
        guard !isPaused else { return false }
        let lead = (Self.leadFrames + stream.heldFrames) * EncodedFrame.milliseconds
        while !outgoing.isEmpty, playsUntil - now < lead {
            // Where the far end has run dry, a frame leaves alone: it is to be heard, and its mark to come back, at
            // once.
            let hasRunDry = playsUntil <= now
            let count = hasRunDry ? 1 : min(stream.framesPerMessage, outgoing.count)
            guard send(count) else { break }
            hasSent = true
            if hasRunDry {
                playsUntil = now
                burst += 1
                burstFrames = 0
                isAnchored = false
            }
            let needsAnchor =
                burstFrames == 0 || burstFrames / Self.anchorFrames != (burstFrames + count) / Self.anchorFrames
            for _ in 0..<count {
                guard let (frame, utterance, _) = outgoing.popFirst() else { break }
                ledger.sent(EncodedFrame.milliseconds, of: utterance)
                let startMs = playsUntil + (isAnchored ? lagMs : 0)
                inFlight.append(Sent(frame: frame, utterance: utterance, burst: burst, startMs: startMs, anchor: nil))
                burstFrames += 1
                playsUntil += EncodedFrame.milliseconds
            }
            if needsAnchor {
                anchors += 1
                inFlight[inFlight.count - 1].anchor = anchors
                stream.send(.mark("at-\(anchors)"))
            }
        }
        return hasSent
    }

    private func send(_ count: Int) -> Bool {
        let begin = StageMeter.now()
        defer { meter.took(nanoseconds: StageMeter.now() &- begin) }
        meter.count(count)
        if count == 1 { return stream.send(.media(outgoing[0].frame)) }
        message.removeAll(keepingCapacity: true)
        for index in 0..<count { message.append(outgoing[index].frame) }
        return message.withUnsafeBufferPointer { stream.send($0) }
    }

    /// A mark has come back.
    /// - Returns: the turn that has been heard to its end with it.
    func reached(mark name: String, at now: Int) -> Int32? {
        if let marked = markedTurn, name == "turn-\(marked.turn)" { return heard(turn: marked.turn) }
        // After a flush the far end echoes the marks it dropped: they are of nothing any more.
        guard name.hasPrefix("at-"), let anchor = Int(name.dropFirst(3)),
            let index = inFlight.firstIndex(where: { $0.anchor == anchor })
        else { return nil }
        let anchored = inFlight[index].burst
        let shift = now - EncodedFrame.milliseconds - inFlight[index].startMs
        let isFirst = anchored == burst && !isAnchored
        if isFirst || abs(shift) > Self.anchorToleranceMs {
            for later in index..<inFlight.count where inFlight[later].burst == anchored {
                inFlight[later].startMs += shift
            }
            if anchored == burst { lagMs = isFirst ? shift : lagMs + shift }
            if isFirst { roundTripMs = min(roundTripMs ?? .max, max(0, shift)) }
        }
        if anchored == burst { isAnchored = true }
        play(index + 1)
        return nil
    }

    /// What must have been heard by now, by the far end's clock.
    private func advance(to now: Int) {
        var count = 0
        while count < inFlight.count {
            let next = inFlight[count]
            let isSure = isAnchored || next.burst < burst || now > next.startMs + Self.anchorTimeoutMs
            guard isSure, next.startMs + EncodedFrame.milliseconds <= now else { break }
            count += 1
        }
        play(count)
    }

    private func play(_ count: Int) {
        guard count > 0 else { return }
        for sent in inFlight[..<count] {
            ledger.played(EncodedFrame.milliseconds, of: sent.utterance, from: sent.startMs)
            recording?.ai(sent.frame, startMs: sent.startMs)
            onPlayed?(sent.frame)
        }
        inFlight.removeFirst(count)
    }

    private func heard(turn: Int32) -> Int32 {
        markedTurn = nil
        play(inFlight.count)
        return turn
    }

    // MARK: Taken back

    /// Silence now, but nothing is lost yet: `resume` goes on where it stopped, `flush` gives the rest up.
    func pause(now: Int) {
        guard !isPaused, isSpeaking else { return }
        takeBack(now: now)
        isPaused = true
        for sent in inFlight.reversed() {
            ledger.returned(EncodedFrame.milliseconds, of: sent.utterance)
            outgoing.prepend((sent.frame, sent.utterance, now))
        }
        inFlight.removeAll(keepingCapacity: true)
        playsUntil = now
        if let marked = markedTurn {
            completeTurn = marked.turn
            markedTurn = nil
        }
    }

    func resume() { isPaused = false }

    /// Nothing more is said; what the far end has not played it drops. Utterances that have not begun may be kept.
    func flush(now: Int, keeping: Set<Int> = []) {
        if !isPaused, isSpeaking { takeBack(now: now) }
        inFlight.removeAll(keepingCapacity: true)
        ledger.flush(keeping: keeping)
        outgoing.removeAll(keepingCapacity: true)
        playsUntil = now
        completeTurn = nil
        markedTurn = nil
        isPaused = false
    }

    private func takeBack(now: Int) {
        stream.send(.clear)
        // A frame that has begun is played to its end. Behind a network more is heard until the order arrives there.
        let arrives = now + (stream.isRemote ? roundTripMs ?? 0 : 0)
        play(inFlight.prefix { $0.startMs < arrives }.count)
    }
}
