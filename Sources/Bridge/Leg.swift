internal import DequeModule
internal import Net
internal import Pipeline

/// One SIP leg joined to one media stream, both directions: the carrier's side of the conversation.
///
///     caller's RTP → JitterBuffer → media ─→ stream
///     stream ─→ media → Playout → RTP, a frame a tick      (mark → echoed when played; clear → drop)
///
/// Confined to its loop.
public final class Leg {
    /// Milliseconds without a packet from the caller until the call is given up.
    public static let mediaTimeoutMs: UInt64 = 20_000
    /// Frames of the caller that wait while the stream takes no more: the newest second.
    static let waitingLimit = 50

    public let rtp: RTPSession
    /// The caller's line has gone silent for `mediaTimeoutMs`, or the stream's far end is gone.
    public var onFailure: ((Failure) -> Void)?
    /// The stream's far end wants the call ended.
    public var onStop: (() -> Void)?

    public enum Failure: Sendable, Equatable {
        case mediaTimeout
        case streamClosed(String)
    }

    private var stream: any MediaStream
    private var start: StreamStart
    private var playout = Playout()
    private var waiting: Deque<EncodedFrame> = []
    /// Frames of the caller that were dropped because the stream took no more.
    public private(set) var dropped = 0
    /// Frames that were refused because the stream's far end sent faster than they are played.
    public var refused: Int { playout.refused }
    /// Milliseconds of sound that wait to be played.
    public var unplayedMs: Int { playout.frames * EncodedFrame.milliseconds }
    private var reached: [String] = []
    private var ticker: EventLoop.Ticker?
    private var timestampMs: UInt32 = 0
    private var isHeld = false
    /// The sound comes from a live call at its own pace, not from a voice that is made faster than it is spoken.
    private var isRelaying = false

    public init(rtp: RTPSession, stream: any MediaStream, start: StreamStart) {
        self.rtp = rtp
        self.stream = stream
        self.start = start
    }

    /// Media begins: the call is answered and the formats are known.
    public func open() {
        attach()
        rtp.onFrame = { [unowned self] in self.heard($0) }
        rtp.onDigit = { [unowned self] in _ = self.stream.send(.dtmf($0)) }
        ticker = rtp.loop.addTicker { [unowned self] in self.tick($0) }
    }

    private func attach() {
        stream.onMessage = { [unowned self] in self.received($0) }
        stream.onClose = { [unowned self] in self.onFailure?(.streamClosed($0)) }
        stream.send(.connected)
        stream.send(.start(start))
    }

    private func detach() {
        stream.onMessage = nil
        stream.onClose = nil
        stream.close()
    }

    /// Another stream takes the place of the present one; what that had to say is dropped.
    public func change(to next: any MediaStream, start: StreamStart) {
        detach()
        _ = playout.clear()
        waiting.removeAll()
        stream = next
        self.start = start
        timestampMs = 0
        attach()
    }

    /// From now on the other end of the stream is a person: two clocks that differ must not add up to a delay.
    public func relay(_ relays: Bool) { isRelaying = relays }

    /// Frames that a relayed call may lag behind, and how far it is cut back: 160 and 60 ms.
    private static let relayLimit = 8
    private static let relayDepth = 3

    /// The far end put us on hold: it sends nothing, and that is no media time-out.
    public func setHeld(_ held: Bool) { isHeld = held }

    private func heard(_ frame: EncodedFrame) {
        var frame = frame
        frame.timestampMs = timestampMs
        timestampMs &+= UInt32(EncodedFrame.milliseconds)
        if waiting.isEmpty, stream.send(.media(frame)) { return }
        // What a far end that has asked for a pause is not sent, it does not want later either.
        guard !stream.isPaused else { return waiting.removeAll() }
        waiting.append(frame)
        while let first = waiting.first, stream.send(.media(first)) { waiting.removeFirst() }
        if waiting.count > Self.waitingLimit {
            waiting.removeFirst()
            dropped += 1
        }
    }

    private func received(_ message: MediaStreamMessage) {
        switch message {
        case .media(let frame):
            playout.append(frame)
            if isRelaying, playout.frames > Self.relayLimit { playout.trim(to: Self.relayDepth) }
        case .mark(let name):
            if playout.frames == 0 {
                stream.send(.mark(name))
            } else if let oldest = playout.append(mark: name) {
                stream.send(.mark(oldest))
            }
        case .clear:
            for name in playout.clear() { stream.send(.mark(name)) }
        case .dtmf(let digit): rtp.send(digit: digit)
        case .stop: onStop?()
        case .connected, .start: break
        }
    }

    private func tick(_ now: UInt64) {
        rtp.poll(now: now)
        // A digit takes the place of speech on the wire; the speech waits for it.
        rtp.send(rtp.isSendingDigit ? nil : playout.next(reached: &reached))
        if isRelaying { playout.keepPace() }
        if !reached.isEmpty {
            for name in reached { stream.send(.mark(name)) }
            reached.removeAll(keepingCapacity: true)
        }
        if !isHeld, now &- min(now, rtp.lastPacketMs) > Self.mediaTimeoutMs { onFailure?(.mediaTimeout) }
    }

    public func close() {
        ticker?.cancel()
        ticker = nil
        onFailure = nil
        onStop = nil
        stream.send(.stop)
        detach()
        rtp.close()
    }
}
