internal import Bridge
internal import Logging
internal import Net
internal import Pipeline
internal import Problems
internal import Realtime

/// A conversation that another server holds (`bridge.stream_url`, or the call's own stream): opens the stream, watches
/// it, and does what is set where the server cannot be had, or is lost. Confined to the loop of the call.
///
///     opening ──▶ open ──▶ over
///        └─ failed ─┴─┬──▶ apologising ──▶ over
///                     └──▶ over: our own conversation has the call
final class OutsideConversation {
    /// Milliseconds for name, connection, TLS and upgrade; and, where the dialect answers `start`, for that answer.
    static let openLimitMs: UInt64 = 5_000
    /// Milliseconds that the far end has for its goodbye beyond the call's longest duration.
    static let goodbyeMs: UInt64 = 20_000
    /// Milliseconds, at most, in which what the far end has said last is played to its end.
    static let farewellMs = 5_000
    /// Milliseconds for the failure message: for the voice to make it, and to be heard.
    static let messageLimitMs: UInt64 = 75_000

    /// What the owner of the caller's leg does.
    struct Owner {
        var join: (any MediaStream, StreamStart) -> Void
        /// The caller's phone is asked to call there. False: it cannot be asked.
        var refer: (TransferChoice) -> Bool
        /// Our own conversation takes the call over.
        var converse: () -> Void
        /// - Parameter reason: nil: as the far end wanted it.
        var end: (_ reason: EndReason?) -> Void
    }

    private enum State {
        case opening
        case open(WebSocketMediaStream)
        case apologising(any MediaStream)
        case over
    }

    private let loop: EventLoop
    private let call: Call
    private let line: CallLine
    private let settings: BridgeSettings
    private let target: StreamTarget
    private let journal: CallJournal
    private let owner: Owner
    private var state = State.opening
    /// Until then the stream must be open, and answered where its dialect answers.
    private let openUntil: UInt64
    private let endsAt: UInt64
    private var messageUntil: UInt64 = 0
    private var ticker: EventLoop.Ticker?
    /// Whom the caller's phone has been asked to call.
    private var referredTo: String?

    init(
        loop: EventLoop, call: Call, line: CallLine, settings: CallSettings, target: StreamTarget, journal: CallJournal,
        owner: Owner
    ) {
        self.loop = loop
        self.call = call
        self.line = line
        self.settings = settings.bridge
        self.target = target
        self.journal = journal
        self.owner = owner
        openUntil = loop.timeMs + Self.openLimitMs
        let seconds = UInt64(max(0, min(call.maxDuration, settings.maxCallDuration)))
        endsAt = loop.timeMs + seconds * 1_000 + Self.goodbyeMs
    }

    func begin() {
        ticker = loop.addTicker(every: .tenth) { [weak self] now in self?.tick(now) }
        line.streams.connect(target.upgrade, on: loop) { [weak self] in self?.connected($0) }
    }

    private func tick(_ now: UInt64) {
        switch state {
        case .opening where now >= openUntil: failed(Self.silent)
        case .open(let stream):
            if now >= openUntil, target.dialect.traits.answersStart, !stream.isAdmitted { return failed(Self.silent) }
            if now >= endsAt { owner.end(.maxDuration) }
        case .apologising where now >= messageUntil: owner.end(.providerError)
        case .opening, .apologising, .over: break
        }
    }

    private static let silent = Problem(.streamSilent, ["seconds": .number(Int(openLimitMs / 1_000))])

    private func connected(_ result: Result<any MessageSocket, StreamUpgradeFailure>) {
        guard case .opening = state else {
            // It came too late.
            if case .success(let socket) = result { socket.close(code: 1_000) }
            return
        }
        switch result {
        case .success(let socket): opened(socket)
        case .failure(.notResolved): failed(Problem(.streamNotResolved))
        case .failure(.privateAddress): failed(Problem(.streamAddressPrivate))
        case .failure(.refused(let status)): failed(Problem(.streamRefused, ["status": .number(status)]))
        case .failure(.notReached): failed(Problem(.streamNotReached))
        }
    }

    private func opened(_ socket: any MessageSocket) {
        let stream: WebSocketMediaStream
        do throws(MediaStreamError) { stream = try target.stream(over: socket) } catch {
            socket.close(code: 1_003)
            return failed(malformed)
        }
        state = .open(stream)
        StreamLog.watch(stream, journal.logger)
        stream.onTransfer = { [weak self] in self?.refer(to: $0) }
        journal.streamOpened(dialect: target.dialect.traits.name)
        owner.join(stream, target.start)
    }

    private var malformed: Problem { Problem(.streamMalformed, ["dialect": .text(target.dialect.traits.name)]) }

    // MARK: What the leg tells

    /// The far end wants the call ended.
    func stopped() { if case .open = state { owner.end(nil) } }

    /// The stream is gone, and its far end had not said that the call is over.
    func streamClosed() {
        guard case .open(let stream) = state else { return }
        switch stream.failure {
        case .malformed: failed(malformed)
        case .reported: failed(Problem(.streamReported))
        case .closed(let code): failed(Problem(.streamLost, ["code": .number(code)]))
        case nil: owner.end(nil)
        }
    }

    /// Why the call ends where the caller or an operator has ended it.
    func reason(_ given: EndReason?) -> EndReason? {
        if case .apologising = state { return .providerError }
        return given == .calleeHangup && referredTo != nil ? .transferred : given
    }

    /// The call is over.
    func close() {
        state = .over
        ticker?.cancel()
        ticker = nil
    }

    // MARK: A transfer that the far end wants

    /// The caller's phone may have put us on hold to place that call.
    var isReferring: Bool { referredTo != nil }

    private func refer(to target: String) {
        guard case .open = state, referredTo == nil else { return }
        guard owner.refer(.number(target)) else {
            return journal.logger.warning("the caller cannot be transferred as the stream's server wants it")
        }
        referredTo = target
        journal.transfer(to: target, operatorID: nil, .ringing)
    }

    /// How the call goes that the caller's phone was asked for.
    func referred(_ status: Int) {
        guard let target = referredTo, status >= 200 else { return }
        guard status >= 300 else {
            journal.transfer(to: target, operatorID: nil, .connected)
            return owner.end(.transferred)
        }
        referredTo = nil
        journal.transfer(to: target, operatorID: nil, .failed, reason: "the phone says \(status)")
    }

    // MARK: Failure

    private func failed(_ problem: Problem) {
        journal.logger.error("the media stream failed: \(problem)")
        journal.streamFailed(problem, fallback: settings.fallback)
        switch settings.fallback {
        case .agent:
            close()
            owner.converse()
        case .hangup:
            if settings.failureMessage.isEmpty { owner.end(.providerError) } else { apologise() }
        }
    }

    private func apologise() {
        let pair = MediaStreamPair.make()
        state = .apologising(pair.application)
        messageUntil = loop.timeMs + Self.messageLimitMs
        owner.join(pair.carrier, target.start)
        let me = Confined(self, to: loop)
        let language = call.brief.language, text = settings.failureMessage
        let voice = line.voice(ConversationRequest(call), journal.usage)
        Task(executorPreference: loop) { [loop, journal] in
            let frames = await Announcement.frames(
                [text], language: language, voice: voice, usage: journal.usage, on: loop)
            me.value.say(frames)
        }
    }

    private func say(_ frames: [EncodedFrame]) {
        guard case .apologising(let stream) = state else { return }
        if frames.isEmpty { journal.logger.warning("no voice for bridge.failure_message") }
        stream.onMessage = { [weak self] message in
            if case .mark = message { self?.owner.end(.providerError) }
        }
        for frame in frames { stream.send(.media(frame)) }
        stream.send(.mark("said"))
    }
}
