public import Bridge
public import Net
public import Pipeline
public import Realtime

/// A call's graph at work: runs each frame through the stages that `CallLayout` declares, and hands the conversation
/// from one session to the next. What it does by concern stands in `CallGraph+Listening`, `+Speaking`, `+Transfer`.
///
/// Confined to its event loop: socket callbacks run a frame through to the end, without a queue or a task switch.
public final class CallGraph {
    public enum Event: Sendable {
        case transcript(TranscriptEntry, position: Int)
        case progress(TaskTracker)
        /// A tool of the agent's works.
        case toolStarted(name: String)
        /// It has given its result, or was refused.
        case toolFinished(ToolCallRecord)
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
        public init() {}
    }

    /// Who has the conversation with the caller.
    enum Floor {
        case agent
        /// The caller waits for a person to answer the transfer. `isAccepted`: the far end calls that person itself.
        case waiting(isAccepted: Bool)
        /// A person; this is the other end of their leg.
        case person(any MediaStream)
    }

    let loop: EventLoop
    let stream: any MediaStream
    let settings: Settings
    let recording: Recording?
    private let brief: Brief
    private let observer: (Event) -> Void
    /// Ways to hold the conversation, best first.
    private let modes: [ConversationMode]
    private var choice: ModeChoice
    private(set) var session: (any AgentSession)?
    /// Carries the agent's tools out.
    let tools: ToolRunner
    /// The figures of a conversation that failed.
    private var lastConversation = GraphReading()

    // Listening.
    var callerChain: CallerChain
    var heardFrame = HeardFrame()
    /// Of the frame that comes next.
    var wideSound = WideSound()
    var receiving = StageMeter()
    /// Silence that ends the caller's turn in progress, ms; nil: as configured.
    var endOfTurnSilenceMs: Int?
    var interruptionCount = 0
    /// When the caller was last heard to speak.
    var lastSpeechMs = 0
    var lastFrameAt = 0
    /// Milliseconds without a frame after which silence stands in: longer than a leg waits until it makes its own, and
    /// than TCP takes to send a lost segment again (200 ms at least).
    static let gapMs = 300
    /// Until when the caller's sound, or the silence in its place, has been heard.
    var soundUntil = 0
    var hasMedia = false

    // Speaking.
    let speaker: Speaker
    var transcript = CallTranscript()
    /// Counts what the call uses.
    let usage: UsageMeter
    /// How loud both sides are.
    let levels: CallLevels
    /// Where the time of an answer goes.
    var latency = LatencyProbe()
    private var listeners = CallListeners()

    // Transfer.
    var floor = Floor.agent
    /// What the caller hears instead of a person.
    var music: HoldMusic?
    /// The caller has put us on hold.
    var isHeld = false

    private var ticker: EventLoop.Ticker?
    private var startedAt: UInt64 = 0
    private(set) var isOver = false
    private var failure: String?
    private var lastRecordingFlush = 0

    public init(
        loop: EventLoop, stream: any MediaStream, modes: [ConversationMode], brief: Brief, settings: Settings,
        usage: UsageMeter = UsageMeter(),
        levels: CallLevels = CallLevels(), recording: Recording?, toolBox: (any ToolBox)? = nil,
        observer: @escaping (Event) -> Void
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
        tools = ToolRunner(toolBox, on: loop)
        choice = ModeChoice(count: modes.count)
        speaker = Speaker(stream: stream, recording: recording)
        callerChain = CallerChain(CallLayout.callerStages(settings))
    }

    /// Begins the conversation; the answer is now.
    /// - Parameter person: talks with the caller from the start, instead of the AI.
    public func start(with person: (any MediaStream)? = nil) {
        startedAt = loop.timeMs
        speaker.onPlayed = { [unowned self] in self.played($0) }
        // `finish` takes these back before the graph is given up: `unowned` costs less than `weak`.
        stream.onMessage = { [unowned self] in self.received($0) }
        stream.onWideSound = { [unowned self] in self.wideSound.set($0) }
        stream.onClose = { [unowned self] _ in self.farEndLeft() }
        ticker = loop.addTicker { [unowned self] _ in self.tick() }
        tools.handlers = ToolRunner.Handlers(
            now: { [unowned self] in self.now },
            transcriptCount: { [unowned self] in self.transcript.entries.count },
            finished: { [unowned self] in self.session?.toolFinished($0, $1, at: self.now) },
            report: { [unowned self] in self.observer($0) })
        guard let person else { return nextSession(tracker: nil) }
        floor = .waiting(isAccepted: false)
        bridge(to: person)
    }

    /// The stream's `start` came before the graph was there.
    public func streamStarted() { mediaStarted() }

    deinit { session?.stop() }

    /// Milliseconds since the answer.
    var now: Int { Int(loop.timeMs &- min(loop.timeMs, startedAt)) }

    private func tick() {
        guard !isOver else { return }
        let now = now
        speakerTick(now)
        if now - lastRecordingFlush >= Recording.flushMs {
            lastRecordingFlush = now
            recording?.flush(now: now)
        }
        guard !isTransferring else { return playHoldMusic(now) }
        guard !isHeld else { return }
        if stream.isRemote, now > lastFrameAt + settings.mediaTimeoutMs { return finish(.mediaTimeout) }
        fillSilence(now)
        guard !isOver, !isTransferring else { return }
        if now >= settings.maxDurationMs { session?.timeIsUp(at: now) }
        session?.tick(at: now)
    }

    // MARK: What others are told

    /// The stages and queues with their figures, in flow order.
    public var reading: GraphReading {
        let pacer = speaker.reading(at: now)
        let conversation = session?.reading ?? lastConversation
        let caller = [CallLayout.receive] + callerChain.names
        let spoken = conversation.stages.filter { $0.lane == .ai }.map(\.name)
        return GraphReading(
            mode: conversation.mode ?? (isTransferring ? "person" : nil),
            stages: [receiving.reading(CallLayout.receive, .caller)] + callerChain.readings + conversation.stages
                + [pacer.stage],
            links: LinkReading.chain(caller) + conversation.links + LinkReading.chain(spoken),
            edges: CallLayout.edges(conversation.edges + [pacer.edge], behind: caller))
    }

    /// False: the conversation is over, or enough listen.
    public func listen(_ listener: CallListener) -> Bool { !isOver && listeners.add(listener) }

    public func stopListening(_ id: CallListener.ID) { listeners.remove(id) }

    /// A copy of a frame for the users who listen.
    func tell(_ frame: EncodedFrame, _ track: MediaTrack) { listeners.tell(frame, track) }

    func append(_ entry: TranscriptEntry) {
        transcript.append(entry)
        reportLastEntry()
    }

    func reportLastEntry() {
        guard let entry = transcript.entries.last else { return }
        observer(.transcript(entry, position: transcript.entries.count - 1))
    }

    func report(_ event: Event) { observer(event) }

    /// What a person who takes the call should know.
    public var briefing: Briefing {
        Briefing(
            purpose: brief.isIncoming == true ? nil : brief.purpose, questions: brief.questions,
            answers: session?.tracker.answers ?? [], lastWords: transcript.lastWords, language: brief.language)
    }

    // MARK: The session

    /// The session cannot go on: the next one takes the conversation over, or it is the end.
    func sessionFailed(_ reason: String) {
        guard !isOver else { return }
        failure = reason
        observer(.warning(reason))
        let tracker = session?.tracker, tools = session?.tools
        session?.stop()
        lastConversation = session?.reading ?? GraphReading()
        session = nil
        flushSpeech()
        closeTurns()
        guard choice.failed(at: now) else { return finish(.providerError) }
        nextSession(tracker: tracker, tools: tools)
        if hasMedia { session?.mediaStarted(at: now) }
    }

    private func nextSession(tracker: TaskTracker?, tools ledger: ToolLedger? = nil) {
        guard let next = choice.next(at: now) else { return }
        session = CallLayout.session(
            modes[next], of: self, brief: brief, tracker: tracker, tools: ledger ?? ToolLedger(tools.tools))
        session?.start()
        if let session { speaker.plan = session.speechPlan }
    }

    // MARK: The end

    /// Ends the conversation: by the session, by an operator, or because the line is dead.
    public func finish(_ reason: EndReason) {
        guard !isOver else { return }
        isOver = true
        let now = now
        // Speech that the end of the line cut off is in the transcript as far as it was heard.
        speaker.flush(now: now)
        listeners.end()
        speaker.onPlayed = nil
        closeTurns()
        ticker?.cancel()
        ticker = nil
        stream.onMessage = nil
        stream.onWideSound = nil
        stream.onClose = nil
        music = nil
        dismissPerson()
        session?.stop()
        tools.stop()
        let figures = reading
        var tracker = session?.tracker ?? TaskTracker(questions: brief.questions)
        tracker.close()
        let outcome = Outcome(
            endReason: reason, tracker: tracker, answeredBy: session?.answeredBy ?? .unknown,
            transcript: transcript.entries, latencies: transcript.latencies,
            interruptions: interruptionCount, failure: failure, graph: figures)
        let report = Confined({ [observer] in observer(.ended(outcome)) }, to: loop)
        let post: @Sendable () -> Void = { [loop] in loop.post { report.value() } }
        if let recording { recording.finish(now: now, completion: post) } else { post() }
    }
}
