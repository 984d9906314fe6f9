// Over 400 lines: everything that a dialect may lack (marks, pauses, chunks, an end) is made up for in one place.
internal import Net
public import Pipeline

/// A media stream over a WebSocket, in a carrier's dialect. Confined to its loop.
///
/// The dialect reads and writes messages. The sound in them is converted and re-framed here (`SoundReader`,
/// `SoundWriter`); where it is that of our frames, and a message may have any length, it passes as it is.
public final class WebSocketMediaStream: MediaStream {
    /// Bytes that may wait to be written, and milliseconds of media where those are more bytes.
    public static let sendQueueLimit = 64 << 10
    static let sendQueueMs = 2_000
    /// Messages that cannot be understood before the stream is given up.
    static let errorLimit = 50
    /// Milliseconds without a new frame after which sound that waits for more is filled up.
    static let fillUpMs: UInt64 = 40
    /// Marks that may be on their way.
    static let markLimit = 64
    /// Milliseconds by which our clock may be behind a far end that says it has played all.
    static let playedToleranceMs: UInt64 = 200
    /// Bytes of a message of sound beside its sound.
    static let envelopeBytes = 4 << 10

    public var onMessage: ((MediaStreamMessage) -> Void)?
    public var onClose: ((String) -> Void)?
    public let isRemote = true
    public var dialectName: String? { traits.name }
    public private(set) var malformed = 0
    /// Hears why a message could not be understood.
    public var onMalformed: ((MediaStreamError) -> Void)?
    /// Messages that found the queue full.
    public private(set) var refused = 0

    private let socket: any MessageSocket
    private let dialect: any MediaStreamDialect
    private let traits: DialectTraits
    private let role: MediaStreamRole
    // Of the traits, what every message asks for.
    private let takesText: Bool
    private let takesBinary: Bool
    private let soundKind: WebSocket.Kind
    private let countsMarks: Bool
    private let forgetsMarks: Bool
    private let inbox: DialectInbox
    private var agreements = 0
    private var writer: SoundWriter
    /// nil: what is sent is converted.
    private var straightLaw: CompandingLaw?
    /// When the last frame was given, ms of the loop.
    private var givenAt: UInt64 = 0
    /// Until when the far end plays what it has been sent, microseconds of the loop.
    private var playsUntilUs: UInt64 = 0
    private var playsUntil: UInt64 { playsUntilUs / 1_000 }
    /// With `MarkSupport.playback`: how long it waits for the far end to begin, when what it plays was sent, and how
    /// much later than that it began.
    private let playbackLimitMs: UInt64?
    private var awaitsPlaying = false
    private var burstUs: UInt64 = 0
    private var lagUs: UInt64 = 0
    private var ticker: EventLoop.Ticker?
    private var keeper: EventLoop.Ticker?
    private var isClosing = false
    /// Marks that have not come back, or been given back, where a clear forgets them; as carrier, those that it made us
    /// forget. As application, marks that the far end never gives back, with the time at which they have been played.
    private var outstanding: [String] = []
    private var forgotten: [String] = []
    private var timedMarks: [(name: String, at: UInt64)] = []

    /// - Throws: for a dialect whose sound cannot be converted.
    public init(
        _ socket: any MessageSocket, dialect type: any MediaStreamDialect.Type, _ options: DialectOptions
    ) throws(MediaStreamError) {
        self.socket = socket
        dialect = type.init(options)
        traits = type.traits
        role = options.role
        takesText = traits.accepts.contains(.text)
        takesBinary = traits.accepts.contains(.binary)
        soundKind = traits.soundKind
        if case .playback(let limitMs) = traits.marks { playbackLimitMs = limitMs } else { playbackLimitMs = nil }
        countsMarks = traits.marks == .none || playbackLimitMs != nil
        forgetsMarks = traits.marks == .echoed(afterClear: false)
        let terms = dialect.terms
        inbox = try DialectInbox(terms)
        writer = try SoundWriter(terms)
        straightLaw = writer.straightLaw
        makeRoom(for: terms)
        socket.onMessage = { [unowned self] bytes, kind in self.received(bytes, kind) }
        socket.onClose = { [self] code, reason in
            self.ended(code)
            self.report(reason.isEmpty ? "the stream's WebSocket closed with \(code)" : reason)
        }
        if case .word(let everyMs) = traits.keepAlive { keepAlive(every: everyMs) }
    }

    /// As carrier: the far end has let the stream in, where its dialect has a word for it.
    public private(set) var isAdmitted = false
    /// As carrier: the far end wants the caller handed to this number or `sip:` address.
    public var onTransfer: ((String) -> Void)?
    /// Why the stream was given up; nil: it is open, or the far end has ended it as it wanted.
    public private(set) var failure: Failure?

    /// Why a stream ended otherwise than its far end, or we, wanted.
    public enum Failure: Sendable, Equatable {
        /// The far end's messages are not those of the dialect, or their format is not ours.
        case malformed
        /// The far end says that something went wrong.
        case reported
        /// By a close frame that says so, or without one (1006).
        case closed(code: Int)
    }

    /// Codes of a far end that has nothing more to say: a close as it should be, or without a code (RFC 6455 §7.4.1).
    private static let usualCodes = [1_000, 1_005]

    private func ended(_ code: Int) {
        guard failure == nil, !isClosing else { return }
        guard Self.usualCodes.contains(code) else { return failure = .closed(code: code) }
        // Whatever the dialect: an application that closes ends the call.
        if role == .carrier { onMessage?(.stop) }
    }

    private func report(_ reason: String) {
        let report = onClose
        ticker?.cancel()
        keeper?.cancel()
        onMessage = nil
        onClose = nil
        onTransfer = nil
        onWideSound = nil
        report?(reason)
    }

    /// As carrier: which side the frames are of that are sent next.
    public var track: MediaTrack {
        get { dialect.track }
        set { dialect.track = newValue }
    }

    public var results: [String: String] {
        get { dialect.results }
        set { dialect.results = newValue }
    }

    // MARK: What comes

    public var soundRate: Int32 { CallerFramer.wideRate(of: inbox.terms.incoming.sampleRate) }
    public var onWideSound: ((AudioFrame) -> Void)? {
        didSet { inbox.isWideHeard = onWideSound != nil }
    }

    private func received(_ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind) {
        do throws(MediaStreamError) {
            guard kind == .text ? takesText : takesBinary else {
                throw MediaStreamError(kind == .binary ? "binary message" : "text message")
            }
            inbox.timeMs = socket.loop.timeMs
            try dialect.decode(bytes, kind, into: inbox)
            if inbox.agreements != agreements { try agreed() }
        } catch {
            inbox.forget()
            malformed += 1
            onMalformed?(error)
            if let refusal = error.refusal { return refuse(refusal) }
            if malformed > Self.errorLimit { refuse(.malformed) }
            return
        }
        if !inbox.replies.isEmpty { for reply in inbox.takeReplies() { say(reply) } }
        if let isPlaying = inbox.takePlaying() { played(isPlaying) }
        if let target = inbox.takeTransfer() { onTransfer?(target) }
        if inbox.hasFailed { return fail(.reported, code: 1_000) }
        if inbox.isEndConfirmed, isClosing { return socket.close(code: 1_000) }
        // Who gets a message may send one: the inbox is free again by then.
        var messages = inbox.take()
        defer { inbox.giveBack(&messages) }
        if inbox.hasWide { tellWide(messages) } else { for message in messages { tell(message) } }
        if writer.isHolding, !inbox.isPaused { emit() }
    }

    private func tell(_ message: MediaStreamMessage) {
        if forgetsMarks { note(message) }
        if role == .carrier, case .start = message { isAdmitted = true }
        onMessage?(message)
    }

    /// Each frame's wide sound just before the frame.
    private func tellWide(_ messages: [MediaStreamMessage]) {
        var wide = inbox.takeWide()
        defer { inbox.giveBack(wide: &wide) }
        var next = 0
        for (place, message) in messages.enumerated() {
            if next < wide.count, wide[next].place == place {
                onWideSound?(wide[next].sound)
                next += 1
            }
            tell(message)
        }
    }

    private func agreed() throws(MediaStreamError) {
        agreements = inbox.agreements
        makeRoom(for: inbox.terms)
        // What waits to be sent stays where only what comes has changed.
        guard inbox.terms.outgoing != writer.terms.outgoing || inbox.terms.chunks != writer.terms.chunks else { return }
        writer = try SoundWriter(inbox.terms)
        straightLaw = writer.straightLaw
    }

    /// A message may hold as much sound as the terms allow, in Base64, and what is around it. The queue holds seconds
    /// of what is sent.
    private func makeRoom(for terms: WireTerms) {
        let sound = Base64.encodedLength(terms.incoming.bytes(ofMs: terms.longestMs)) + Self.envelopeBytes
        socket.configuration.maximumMessage = max(traits.largestMessage, sound)
        socket.configuration.sendQueueLimit = max(Self.sendQueueLimit, terms.outgoing.bytes(ofMs: Self.sendQueueMs))
    }

    // MARK: What is sent

    public var isPaused: Bool { inbox.isPaused }
    public var framesPerMessage: Int { inbox.terms.chunks.frames }
    public var heldFrames: Int {
        let chunks = inbox.terms.chunks
        guard !chunks.isFree else { return 0 }
        let held = inbox.terms.outgoing.microseconds(ofBytes: max(chunks.minimum, chunks.multiple) - 1)
        return held / (EncodedFrame.milliseconds * 1_000)
    }

    @discardableResult
    public func send(_ message: MediaStreamMessage) -> Bool {
        switch message {
        case .media(let frame):
            return withUnsafePointer(to: frame) { send(UnsafeBufferPointer(start: $0, count: 1)) }
        case .mark(let name) where writer.isHolding && role == .application:
            guard writer.append(mark: name) else { return false }
            emit()
            return true
        case .mark(let name) where role == .application: return sendMark(name)
        case .mark(let name) where forgetsMarks: return giveBack(name)
        case .clear where role == .application: return clear()
        case .stop where writer.isHolding:
            writer.fillUp()
            emit()
        default: break
        }
        return write(message)
    }

    private func write(_ message: MediaStreamMessage) -> Bool {
        var wasSaid = true
        let sent = socket.send(.text, capacity: dialect.capacity(for: message)) { target in
            if let count = dialect.encode(message, into: target) { return count }
            wasSaid = false
            return -1
        }
        if !sent, wasSaid { refused += 1 }
        return sent
    }

    private func say(_ text: [UInt8]) {
        _ = socket.send(.text, capacity: text.count) { $0.update(fromContentsOf: text) }
    }

    public func send(_ frames: UnsafeBufferPointer<EncodedFrame>) -> Bool {
        guard let first = frames.first, !inbox.isPaused else { return false }
        let sent: Bool
        if let straightLaw {
            sent = pass(frames, first, straightLaw)
            if sent, countsMarks { plays(frames.count * EncodedFrame.milliseconds * 1_000) }
        } else {
            sent = writer.hasRoom
            if sent {
                for frame in frames { writer.append(frame) }
                givenAt = socket.loop.timeMs
                watch()
            }
            emit()
        }
        if !sent { refused += 1 }
        return sent
    }

    /// Frames that are what the wire wants, as one message.
    private func pass(
        _ frames: UnsafeBufferPointer<EncodedFrame>, _ first: EncodedFrame, _ law: CompandingLaw
    ) -> Bool {
        let count = frames.count * EncodedFrame.byteCount
        let capacity = dialect.capacity(forSound: count)
        return socket.send(soundKind, capacity: capacity) { target in
            if frames.count == 1, first.law == law {
                return first.withBytes { dialect.encode(sound: $0, timestampMs: first.timestampMs, into: target) }
            }
            return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { sound in
                for (index, frame) in frames.enumerated() {
                    let wanted = G711.transcode(frame, to: law)
                    let place = UnsafeMutableBufferPointer(rebasing: sound[(index * EncodedFrame.byteCount)...])
                    wanted.withBytes { _ = place.update(fromContentsOf: $0) }
                }
                return dialect.encode(
                    sound: UnsafeBufferPointer(sound), timestampMs: first.timestampMs, into: target)
            }
        }
    }

    /// Full messages leave, and the marks behind them.
    private func emit() {
        guard !inbox.isPaused else { return }
        let sent = writer.emit { sound, timestampMs in
            socket.send(soundKind, capacity: dialect.capacity(forSound: sound.count)) {
                dialect.encode(sound: sound, timestampMs: timestampMs, into: $0)
            }
        }
        if sent > 0 { plays(sent) }
        for mark in writer.dueMarks() { _ = sendMark(mark.name, behindUs: UInt64(mark.behindUs)) }
    }

    private func plays(_ microseconds: Int) {
        let now = socket.loop.timeMs * 1_000
        if now >= playsUntilUs + lagUs {
            (awaitsPlaying, burstUs, lagUs) = (playbackLimitMs != nil, now, 0)
        }
        playsUntilUs = max(playsUntilUs, now) + UInt64(microseconds)
    }

    /// Sound that no more sound follows must not wait: the far end is about to run dry.
    private func watch() {
        guard ticker == nil else { return }
        ticker = socket.loop.addTicker { [unowned self] now in self.tick(now) }
    }

    private func tick(_ now: UInt64) {
        let isDry = now + UInt64(EncodedFrame.milliseconds) >= playsUntil && now >= givenAt + Self.fillUpMs
        if writer.isHolding, !inbox.isPaused, isDry {
            writer.fillUp()
            emit()
            for name in writer.settle() { _ = sendMark(name) }
        }
        let isAwaited = awaitsPlaying && now < burstUs / 1_000 + (playbackLimitMs ?? 0)
        while !isAwaited, let first = timedMarks.first, first.at <= now {
            timedMarks.removeFirst()
            onMessage?(.mark(first.name))
        }
        guard !writer.isHolding, timedMarks.isEmpty else { return }
        ticker?.cancel()
        ticker = nil
    }

    // MARK: Marks

    /// - Parameter behindUs: microseconds of sound that has left behind it.
    private func sendMark(_ name: String, behindUs: UInt64 = 0) -> Bool {
        switch traits.marks {
        case .none, .playback:
            guard timedMarks.count < Self.markLimit else { return false }
            let end = playsUntilUs + lagUs
            timedMarks.append((name, max((end - min(end, behindUs)) / 1_000, socket.loop.timeMs)))
            watch()
            return true
        case .echoed(afterClear: true): return write(.mark(name))
        case .echoed(afterClear: false):
            guard write(.mark(name)) else { return false }
            remember(name)
            return true
        }
    }

    /// What the far end says of its playing sets our clock right.
    private func played(_ isPlaying: Bool) {
        guard let playbackLimitMs else { return }
        let now = socket.loop.timeMs
        if isPlaying {
            guard awaitsPlaying else { return }
            // A tick may be ahead of the message that it follows.
            lagUs = min(now * 1_000 - min(now * 1_000, burstUs), playbackLimitMs * 1_000)
            for index in timedMarks.indices { timedMarks[index].at += lagUs / 1_000 }
        }
        awaitsPlaying = false
        guard !isPlaying else { return }
        // What was sent since is not meant.
        let latest = now + Self.playedToleranceMs
        if playsUntilUs + lagUs <= latest * 1_000 { (playsUntilUs, lagUs) = (min(playsUntilUs, now * 1_000), 0) }
        while let first = timedMarks.first, first.at <= latest {
            timedMarks.removeFirst()
            onMessage?(.mark(first.name))
        }
    }

    private func remember(_ name: String) {
        outstanding.append(name)
        if outstanding.count > Self.markLimit { outstanding.removeFirst() }
    }

    /// Where a clear forgets marks: those that are on their way.
    private func note(_ message: MediaStreamMessage) {
        switch (role, message) {
        case (.application, .mark(let name)): outstanding.removeAll { $0 == name }
        case (.carrier, .mark(let name)): remember(name)
        case (.carrier, .clear):
            forgotten = Array((forgotten + outstanding).suffix(Self.markLimit))
            outstanding.removeAll()
        default: break
        }
    }

    /// As carrier: a mark has been played, or a clear has dropped it; then the far end hears no more of it.
    private func giveBack(_ name: String) -> Bool {
        if let index = forgotten.firstIndex(of: name) {
            forgotten.remove(at: index)
            return true
        }
        if let index = outstanding.firstIndex(of: name) { outstanding.remove(at: index) }
        return write(.mark(name))
    }

    /// Marks that were not sent, or that the far end drops, come back from here.
    private func clear() -> Bool {
        var dropped = outstanding + timedMarks.map(\.name)
        outstanding.removeAll()
        timedMarks.removeAll()
        if writer.isHolding { dropped += writer.clear() }
        playsUntilUs = 0
        lagUs = 0
        awaitsPlaying = false
        let isSent = write(.clear)
        for name in dropped { onMessage?(.mark(name)) }
        return isSent
    }

    // MARK: Beside the conversation

    /// The far end is to send no more sound for now, or again. False: the dialect has no word for it.
    public func setPaused(_ isPaused: Bool) -> Bool {
        guard let word = dialect.encode(isPaused ? DialectWord.pause : .resume) else { return false }
        say(word)
        return true
    }

    private func keepAlive(every milliseconds: UInt64) {
        var next = socket.loop.timeMs + milliseconds
        keeper = socket.loop.addTicker(every: .tenth) { [unowned self] now in
            guard now >= next else { return }
            next = now + milliseconds
            if let word = self.dialect.encode(.keepAlive) { self.say(word) }
        }
    }

    // MARK: The end

    /// Closes the stream, with the dialect's own words where it has some.
    public func refuse(_ reason: StreamRefusal) {
        if let word = dialect.encode(.refused(reason)) { say(word) }
        fail(.malformed, code: reason == .unauthorized ? 1_008 : 1_003)
    }

    /// A carrier's leg is told at once: its caller cannot wait for the far end's close frame.
    private func fail(_ failure: Failure, code: UInt16) {
        guard self.failure == nil else { return }
        self.failure = failure
        socket.close(code: code)
        if role == .carrier { report("the stream was given up") }
    }

    public func close() {
        guard !isClosing, let limitMs = endingLimitMs else { return socket.close(code: 1_000) }
        isClosing = true
        ticker?.cancel()
        let deadline = socket.loop.timeMs + limitMs
        ticker = socket.loop.addTicker(every: .tenth) { [self] now in
            guard now >= deadline else { return }
            self.ticker?.cancel()
            self.socket.close(code: 1_000)
        }
    }

    /// Milliseconds that the far end has to do its part of the end; nil: it has none.
    private var endingLimitMs: UInt64? {
        switch role {
        case .application:
            guard case .asking(let limitMs) = traits.ending, write(.stop) else { return nil }
            return limitMs
        // `stop` has been sent.
        case .carrier: return isAdmitted && !inbox.isEndConfirmed && failure == nil ? traits.confirmationLimitMs : nil
        }
    }
}
