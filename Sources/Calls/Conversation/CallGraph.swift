// Over 400 lines: one live call: its stages, edges and timers share the state of its loop.
public import Bridge
internal import Foundation
public import Net
public import Pipeline
public import Realtime

/// A call's graph at work: runs each frame through the stages that `CallLayout` declares, and hands the conversation
/// from one way of holding it to the next.
///
/// Confined to its event loop: socket callbacks run a frame through to the end, without a queue or a task switch.
public final class CallGraph {
    public enum Event: Sendable {
        case transcript(TranscriptEntry, position: Int)
        case progress(TaskTracker)
        /// The operator should know; the call goes on.
        case warning(String)
        /// The call is to be handed to an operator: `transferAccepted` and `transferFailed` tell how that goes.
        case transfer
        /// The conversation wants the call hung up; or the stream ended (`calleeHangup`).
        case ended(Outcome)
    }

    public struct Settings: Sendable {
        public var policy = ConversationPolicy()
        /// Sound kept from before the detected start of speech, ms.
        public var prefixMs = 300
        public var detector = TurnDetector.Configuration()
        public var voiceActivity = VoiceActivityDetector.Configuration()
        /// Makes a trained detector for a call; nil: the built-in one is used.
        public var trainedDetector: (@Sendable () -> (any TrainedDetector)?)?
        public var bargeIn = BargeIn.Configuration()
        /// A stream from elsewhere that brings no media for so long is dead, ms. (A leg of ours watches its RTP
        /// itself.)
        public var mediaTimeoutMs = 30_000
        /// Milliseconds since the answer at which the polite close begins.
        public var maxDurationMs = 180_000
        /// Whoever carries the call can hand it to an operator.
        public var canTransfer = false
        public init() {}
    }

    private let loop: EventLoop
    private let stream: any MediaStream
    private let brief: Brief
    private let settings: Settings
    private let recording: Recording?
    private let observer: (Event) -> Void
    /// Ways to hold the conversation, best first; another one takes over when one fails, and may give it back.
    private let modes: [ConversationMode]
    private var mode: Int?
    private var failedAt: [Int: Int] = [:]
    private var takeovers = 0
    private var session: (any AgentSession)?
    /// The figures of a conversation that failed.
    private var lastConversation = GraphReading()

    /// Milliseconds for which a way that failed is tried after all others.
    private static let modeCoolDownMs = 15_000
    /// Times that another way takes over in one call.
    private static let takeoverLimit = 6

    // Listening.
    private let scene = Scene()
    private var callerChain: CallerChain
    private var heardFrame = HeardFrame()
    private var receiving = StageMeter()
    /// Silence that ends the caller's turn in progress, ms; nil: as configured.
    private var endOfTurnSilenceMs: Int?
    private var interruptionCount = 0
    private var lastSpeechAt = 0

    // Speaking.
    let speaker: Speaker
    private(set) var transcript: [TranscriptEntry] = []
    private var closedTurns: Set<Int32> = []
    private var sources: [Int32: [String]] = [:]
    /// Counts what the call uses.
    let usage: UsageMeter
    /// How loud both sides are.
    private let levels: CallLevels
    /// Where the time of an answer goes.
    var latency = LatencyProbe()
    private var latencies: [TurnLatency] = []

    private var ticker: EventLoop.Ticker?
    private var startedAt: UInt64 = 0
    private var hasMedia = false
    private var isOver = false
    /// The caller is being handed over, or with a person: the AI does not talk meanwhile.
    private(set) var isTransferring = false
    private var isTransferAccepted = false
    /// The other end of a person's leg, who talks with the caller in the AI's place.
    private var partner: (any MediaStream)?
    /// What the caller hears while he waits.
    private var music: HoldMusic?
    /// The caller has put us on hold.
    private var isHeld = false
    private var failure: String?
    private var lastRecordingFlush = 0
    private var lastFrameAt = 0

    public init(
        loop: EventLoop, stream: any MediaStream, modes: [ConversationMode], brief: Brief, settings: Settings,
        usage: UsageMeter = UsageMeter(),
        levels: CallLevels = CallLevels(), recording: Recording?, observer: @escaping (Event) -> Void
    ) {
        self.levels = levels
        self.loop = loop
        self.stream = stream
        self.modes = modes
        self.brief = brief
        self.settings = settings
        self.usage = usage
        self.recording = recording
        self.observer = observer
        speaker = Speaker(stream: stream, recording: recording)
        callerChain = CallerChain(CallLayout.callerStages(settings, scene: scene))
        scene.graph = self
    }

    /// What the stages may ask. Not the graph itself: whoever asks must not hold it.
    private final class Scene: CallScene {
        // The graph owns it.
        unowned var graph: CallGraph?
        var isAISpeaking: Bool { graph?.speaker.isSpeaking == true }
        var isInterruptible: Bool { graph?.session?.isInterruptible == true }
        var callerWords: Int? { graph?.session?.callerWords }
        var endOfTurnSilenceMs: Int? { graph?.endOfTurnSilenceMs }
    }

    /// Begins the conversation; the answer is now.
    /// - Parameter person: who talks with the caller from the start, instead of the AI.
    public func start(with person: (any MediaStream)? = nil) {
        startedAt = loop.timeMs
        speaker.onPlayed = { [unowned self] in self.played($0) }
        // `finish` takes these back, and whoever owns the graph calls it: `unowned` costs less than `weak`.
        stream.onMessage = { [unowned self] in self.received($0) }
        stream.onClose = { [unowned self] _ in self.farEndLeft() }
        ticker = loop.addTicker { [unowned self] _ in self.tick() }
        guard let person else { return nextSession(tracker: nil) }
        isTransferring = true
        bridge(to: person)
    }

    /// The stream's `start` came before the graph was there.
    public func streamStarted() { mediaStarted() }

    deinit { session?.stop() }

    /// Milliseconds since the answer.
    var now: Int { Int(loop.timeMs &- min(loop.timeMs, startedAt)) }

    /// The stages and queues with their figures, in flow order.
    public var reading: GraphReading {
        let pacer = speaker.reading(at: now)
        let conversation = session?.reading ?? lastConversation
        let caller = [CallLayout.receive] + callerChain.names
        let spoken = conversation.stages.filter { $0.lane == .ai }.map(\.name)
        var edges = conversation.edges + [pacer.edge]
        for index in edges.indices where edges[index].from == CallLayout.endOfCallerStages {
            edges[index].from = caller.last ?? CallLayout.receive
        }
        return GraphReading(
            mode: conversation.mode ?? (isTransferring ? "person" : nil),
            stages: [receiving.reading(CallLayout.receive, .caller)] + callerChain.readings + conversation.stages
                + [pacer.stage],
            links: LinkReading.chain(caller) + conversation.links + LinkReading.chain(spoken), edges: edges)
    }

    // MARK: Listeners

    private var listeners: [CallListener] = []

    /// False: the conversation is over, or enough listen.
    public func listen(_ listener: CallListener) -> Bool {
        guard !isOver, listeners.count < CallListener.limit else { return false }
        listeners.append(listener)
        return true
    }

    public func stopListening(_ id: CallListener.ID) {
        listeners.removeAll { $0.id == id }
    }

    /// The far end has heard a frame of ours.
    private func played(_ frame: EncodedFrame) {
        levels.own(peak: frame.peak)
        if !listeners.isEmpty { tell(frame, .outbound) }
    }

    private func tell(_ frame: EncodedFrame, _ track: MediaTrack) {
        for listener in listeners { listener.hear(.frame(frame, track)) }
    }

    // MARK: From the caller

    private func received(_ message: MediaStreamMessage) {
        guard !isOver else { return }
        switch message {
        case .connected, .clear: break
        case .start: mediaStarted()
        case .media(let frame): heard(frame)
        case .dtmf(let digit):
            if let partner { partner.send(.dtmf(digit)) } else if !isTransferring { session?.key(digit, at: now) }
        case .mark(let name):
            let now = now
            if let turn = speaker.reached(mark: name, at: now) { turnHeard(turn, at: now) }
        case .stop: farEndLeft()
        }
    }

    /// The far end has hung up, or gone over to the operator.
    public func farEndLeft() { finish(isTransferAccepted || partner != nil ? .transferred : .calleeHangup) }

    private func mediaStarted() {
        guard !hasMedia else { return }
        hasMedia = true
        session?.mediaStarted(at: now)
    }

    private func heard(_ frame: EncodedFrame) {
        let now = now
        lastFrameAt = now
        receiving.count()
        recording?.caller(frame, now: now)
        if !listeners.isEmpty { tell(frame, .inbound) }
        guard !isTransferring else {
            levels.far(peak: frame.peak)
            partner?.send(.media(frame))
            return
        }
        heardFrame.begin(frame)
        callerChain.process(&heardFrame)
        let activity = heardFrame.activity
        levels.far(decibels: activity.level)
        if activity.isSpeech { lastSpeechAt = now }
        session?.heard(heardFrame, at: now)
        // Most frames mean nothing to either.
        for event in heardFrame.turns where !isOver { handle(event, at: now) }
        for interruption in heardFrame.interruptions where !isOver { handle(interruption, at: now) }
    }

    private func handle(_ event: TurnEvent, at now: Int) {
        switch event {
        case .speechStarted:
            endOfTurnSilenceMs = nil
            session?.speechStarted(at: now - settings.detector.startFrames * EncodedFrame.milliseconds)
        case .paused: session?.paused(at: now)
        case .speechEnded(let spokenMs):
            session?.speechEnded(spokenMs: spokenMs, lastSpeechAt: now - heardFrame.silentMs, at: now)
        case .monologue: session?.monologue(at: now)
        }
    }

    private func handle(_ interruption: Interruption, at now: Int) {
        switch interruption {
        case .pause: speaker.pause(now: now)
        case .resume:
            speaker.resume()
            session?.resumed(at: now)
        case .interrupt:
            interruptionCount += 1
            session?.interrupted(at: now)
            flushSpeech()
        }
    }

    /// A turn of ours draws on this piece of knowledge.
    func drawn(on source: String, turn: Int32) { sources[turn, default: []].append(source) }

    /// So long a silence ends the caller's turn in progress, ms.
    func awaitSilence(ms: Int) { if heardFrame.isInTurn { endOfTurnSilenceMs = ms } }

    /// When the caller was last heard to speak.
    var lastSpeechMs: Int { lastSpeechAt }

    // MARK: To the caller

    /// The carrier has found out that an answering machine has the call.
    public func answeringMachine() {
        guard !isOver, !isTransferring else { return }
        session?.answeringMachine(at: now)
    }

    /// An operator's words, spoken by whoever talks.
    public func say(_ text: String) {
        guard !isOver, !isTransferring else { return }
        session?.say(text, at: now)
    }

    /// A frame of an utterance of the session's.
    func say(_ frame: EncodedFrame, of utterance: Int) {
        let now = now
        if speaker.say(frame, of: utterance, now: now) { latency.sent(now) }
    }

    /// Keys for a voice menu. False: the line takes none.
    func press(_ keys: String) -> Bool { keys.allSatisfy { stream.send(.dtmf($0)) } }

    private func tick() {
        guard !isOver else { return }
        let now = now
        let (hasSent, heard) = speaker.tick(now)
        if hasSent { latency.sent(now) }
        if !speaker.isSpeaking, partner == nil { levels.ownSilence() }
        if let heard { turnHeard(heard, at: now) }
        if speaker.hasRoom { session?.speakerHasRoom() }
        if now - lastRecordingFlush >= Recording.flushMs {
            lastRecordingFlush = now
            recording?.flush(now: now)
        }
        guard !isTransferring else { return play(now) }
        guard !isHeld else { return }
        if stream.isRemote, now > lastFrameAt + settings.mediaTimeoutMs { return finish(.mediaTimeout) }
        if now >= settings.maxDurationMs { session?.timeIsUp(at: now) }
        session?.tick(at: now)
    }

    private func turnHeard(_ turn: Int32, at now: Int) {
        closeTurn(turn)
        session?.turnHeard(speaker.ledger.heardText(turn: turn), turn: turn, isInterrupted: false, at: now)
    }

    /// Barge-in: silence now, everywhere.
    func flushSpeech(keeping: Set<Int> = []) {
        let now = now
        speaker.flush(now: now, keeping: keeping)
        let ledger = speaker.ledger
        for turn in Set(ledger.utterances.filter(\.isInterrupted).map(\.turn)).sorted()
        where !closedTurns.contains(turn) {
            closeTurn(turn)
            session?.turnHeard(ledger.heardText(turn: turn), turn: turn, isInterrupted: true, at: now)
        }
    }

    /// What the caller said while we spoke was meant, as its words show: the response to it takes our turn's place.
    func interruptForResponse(keeping utterances: Set<Int>) {
        interruptionCount += 1
        flushSpeech(keeping: utterances)
    }

    /// Writes a turn of ours into the transcript, as it was heard.
    private func closeTurn(_ turn: Int32) {
        guard closedTurns.insert(turn).inserted else { return }
        let ledger = speaker.ledger
        let parts = ledger.utterances.filter { $0.turn == turn }
        guard let start = parts.compactMap(\.startedAt).min() else { return }
        let isInterrupted = ledger.isInterrupted(turn: turn)
        append(
            TranscriptEntry(
                startMs: start, endMs: parts.compactMap(\.endedAt).max() ?? start, speaker: .ai,
                text: parts.map { $0.text.trimmingCharacters(in: .whitespaces) }.joined(separator: " "),
                heardText: isInterrupted ? ledger.heardText(turn: turn) : nil,
                isInterrupted: isInterrupted, isCutExact: isInterrupted ? !ledger.isCutEstimated(turn: turn) : nil,
                sources: sources.removeValue(forKey: turn)))
        if var measured = latency.take() {
            measured.turn = transcript.count - 1
            latencies.append(measured)
        }
    }

    func append(_ entry: TranscriptEntry) {
        transcript.append(entry)
        observer(.transcript(entry, position: transcript.count - 1))
    }

    func report(_ event: Event) { observer(event) }

    // MARK: Transfer

    var canTransfer: Bool { settings.canTransfer }

    /// The session has announced it.
    func transfer() {
        guard !isOver, !isTransferring else { return }
        isTransferring = true
        observer(.transfer)
    }

    /// An operator wants the caller handed over. False: that cannot be done now.
    /// - Parameter isSomebodyThere: who takes him waits already.
    public func requestTransfer(isSomebodyThere: Bool = false) -> Bool {
        guard !isOver, !isTransferring, canTransfer || isSomebodyThere, hasMedia, let session else { return false }
        session.transferRequested(at: now)
        return true
    }

    /// The caller hears music until somebody talks with him again.
    public func playMusic() {
        guard isTransferring, !isOver, music == nil else { return }
        music = HoldMusic()
    }

    private func play(_ now: Int) {
        guard var music else { return }
        let frame = music.next()
        self.music = music
        stream.send(.media(frame))
        recording?.ai(frame, startMs: now)
        if !listeners.isEmpty { tell(frame, .outbound) }
    }

    /// The caller and the other end of this stream talk with each other now; it leaves by closing.
    public func bridge(to person: any MediaStream) {
        guard isTransferring, !isOver else { return person.close() }
        music = nil
        partner?.close()
        if stream.isRemote { stream.send(.clear) }
        partner = person
        person.onMessage = { [unowned self] in self.said($0) }
        person.onClose = { [unowned self] _ in
            self.partner = nil
            self.finish(.transferred)
        }
    }

    /// The person has sent the caller on, who waits for somebody else.
    public func detach() {
        partner?.onClose = nil
        partner?.onMessage = nil
        partner = nil
        playMusic()
    }

    /// The person puts the caller on hold, and takes him back.
    public func holdByPerson(_ isOnHold: Bool) {
        guard partner != nil else { return }
        music = isOnHold ? music ?? HoldMusic() : nil
    }

    /// By the person in the AI's place.
    private func said(_ message: MediaStreamMessage) {
        guard !isOver else { return }
        switch message {
        case .media(let frame):
            guard music == nil else { return }
            stream.send(.media(frame))
            levels.own(peak: frame.peak)
            recording?.person(frame, now: now)
            if !listeners.isEmpty { tell(frame, .outbound) }
        case .dtmf(let digit): stream.send(.dtmf(digit))
        case .connected, .start, .mark, .clear, .stop: break
        }
    }

    /// The caller's telephone has put us on hold: nothing that we say is heard.
    public func setHeld(_ isHeld: Bool) { self.isHeld = isHeld }

    /// What whoever takes the call should know.
    public var briefing: Briefing {
        Briefing(
            purpose: brief.isIncoming == true ? nil : brief.purpose, questions: brief.questions,
            answers: session?.tracker.answers ?? [],
            lastWords: transcript.last { $0.speaker == .customer && !$0.text.isEmpty }?.text, language: brief.language)
    }

    /// The far end is calling the operator: when it leaves us now, it has been transferred.
    public func transferAccepted() { isTransferAccepted = isTransferring }

    /// The caller is ours again.
    public func transferFailed(_ reason: String) {
        guard isTransferring, !isOver else { return }
        isTransferring = false
        isTransferAccepted = false
        music = nil
        if stream.isRemote { stream.send(.clear) }
        lastFrameAt = now
        observer(.warning("the call could not be transferred: \(reason)"))
        session?.transferFailed(at: now)
    }

    /// What has been said, for whoever takes the conversation over.
    var history: [ConversationItem] {
        transcript.map { entry in
            entry.speaker == .ai
                ? .assistant(heard: entry.heardText ?? entry.text, isInterrupted: entry.isInterrupted)
                : .caller(entry.text)
        }
    }

    // MARK: Who talks

    /// The session cannot go on: the next one takes the conversation over, or it is the end.
    func sessionFailed(_ reason: String) {
        guard !isOver else { return }
        failure = reason
        observer(.warning(reason))
        let tracker = session?.tracker
        session?.stop()
        lastConversation = session?.reading ?? GraphReading()
        session = nil
        flushSpeech()
        if let mode { failedAt[mode] = now }
        takeovers += 1
        guard modes.count > 1, takeovers <= Self.takeoverLimit else { return finish(.providerError) }
        nextSession(tracker: tracker)
        if hasMedia { session?.mediaStarted(at: now) }
    }

    private func nextSession(tracker: TaskTracker?) {
        let others = modes.indices.filter { $0 != mode }
        let rested = others.first { failedAt[$0].map { now - $0 >= Self.modeCoolDownMs } ?? true }
        guard let next = rested ?? others.min(by: { failedAt[$0, default: 0] < failedAt[$1, default: 0] }) else {
            return
        }
        mode = next
        switch modes[next] {
        case .cascade(let engines):
            session = CascadeSession(
                graph: self, loop: loop, engines: engines, brief: brief, tracker: tracker, settings: settings)
        case .realtime(let model):
            session = RealtimeSession(
                graph: self, loop: loop, model: model, brief: brief, tracker: tracker,
                policy: settings.policy)
        }
        session?.start()
        if let session { speaker.plan = session.speechPlan }
    }

    // MARK: The end

    /// Ends the conversation: the session's wish, an operator's, a dead line.
    public func finish(_ reason: EndReason) {
        guard !isOver else { return }
        isOver = true
        let now = now
        // What was being said when the line went is in the transcript as far as it was heard.
        speaker.flush(now: now)
        for listener in listeners { listener.hear(.ended) }
        listeners = []
        speaker.onPlayed = nil
        for turn in Set(speaker.ledger.utterances.map(\.turn)).sorted() { closeTurn(turn) }
        ticker?.cancel()
        ticker = nil
        stream.onMessage = nil
        stream.onClose = nil
        music = nil
        partner?.onClose = nil
        partner?.close()
        partner = nil
        session?.stop()
        let figures = reading
        var tracker = session?.tracker ?? TaskTracker(questions: brief.questions)
        tracker.close()
        let outcome = Outcome(
            endReason: reason, tracker: tracker, answeredBy: session?.answeredBy ?? .unknown, transcript: transcript,
            latencies: latencies,
            interruptions: interruptionCount, failure: failure, graph: figures)
        let report = Confined({ [observer] in observer(.ended(outcome)) }, to: loop)
        let post: @Sendable () -> Void = { [loop] in loop.post { report.value() } }
        if let recording { recording.finish(now: now, completion: post) } else { post() }
    }
}
