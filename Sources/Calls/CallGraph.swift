public import Bridge
public import Net
public import Pipeline
public import Realtime

/// The path of one frame through a call, in flow order, and the services it meets on its way.
///
///     stream.media ─→ VAD ─→ TurnDetector ─→ decode ─→ resample ─→ │toRecognizer│ ─→ SpeechToText ─→ │transcripts│
///                      └──→ BargeIn                                                                        │
///                                                            DialogueMachine  ←──── every event ───────────┘
///                                                                  │
///     stream.media ←─ Speaker ←─ encode ←─ │audio│ ←─ TextToSpeech ←─ │sentences│ ←─ LanguageModel
///
/// What computes is called straight through; a bounded queue stands only where something waits. An actor of its event
/// loop: socket callbacks enter by `assumeIsolated`, so a frame costs no task switch.
public actor CallGraph {
    /// Audio kept from before the detected start of speech, frames (300 ms).
    static let prefixFrames = 15
    /// Silence at a turn's end that is still recognised, frames (200 ms).
    static let tailFrames = 10

    public enum Event: Sendable {
        case transcript(TranscriptEntry, position: Int)
        case progress(TaskTracker)
        /// The conversation wants the call hung up; or the stream ended (`calleeHangup`).
        case ended(Outcome)
    }

    public struct Settings: Sendable {
        public var turns = TurnPolicy()
        public var detector = TurnDetector.Configuration()
        public var voiceActivity = VoiceActivityDetector.Configuration()
        public var bargeIn = BargeIn.Configuration()
        /// Milliseconds since the answer at which the polite close begins.
        public var maxDurationMs = 180_000
        public init() {}
    }

    private let loop: EventLoop
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    // The conversation.
    private var machine: DialogueMachine
    private let engines: SpeechEngines
    private let settings: Settings
    private let stream: any MediaStream
    private let recording: Recording?
    private let observer: @Sendable (Event) -> Void
    private var transcript: [TranscriptEntry] = []

    // Listening.
    private var detector: VoiceActivityDetector
    private var turns: TurnDetector
    private var bargeIn: BargeIn
    private var listening: Chain<MuLawDecoder, Resampler>?
    private var prefix: [EncodedFrame] = []
    private var heldSilence: [EncodedFrame] = []
    private var silentFrames = 0
    private var activity: [VoiceActivity] = []
    private var turnEvents: [TurnEvent] = []
    private var interruptions: [Interruption] = []
    private var resampled: [AudioFrame] = []
    private var interruptionCount = 0
    private var failure: String?

    // Speaking.
    private let speaker: Speaker
    private var speakerWaiter: CheckedContinuation<Void, Never>?
    private var encoder = MuLawEncoder()
    private var encoded: [EncodedFrame] = []

    // Services and their edges.
    private var graph = Graph()
    private let toRecognizer: Edge<RecognizerInput>
    private let transcripts: Edge<TranscriptEvent>
    private let sentences: Edge<Sentence>
    private let audio: Edge<SynthesizedAudio>
    private var services: Task<Void, Never>?
    private var modelTask: Task<Void, Never>?
    private var ticker: EventLoop.Ticker?
    private var startedAt: UInt64 = 0
    private var isOver = false
    private var lastRecordingFlush = 0

    // Where the time of an answer goes.
    private var latency = LatencyProbe()
    public private(set) var latencies: [TurnLatency] = []

    public init(
        loop: EventLoop, stream: Confined<any MediaStream>, engines: SpeechEngines, brief: Brief, settings: Settings,
        recording: Confined<Recording?>, observer: @escaping @Sendable (Event) -> Void
    ) {
        self.loop = loop
        self.stream = stream.value
        self.engines = engines
        self.settings = settings
        self.recording = recording.value
        speaker = Speaker(stream: stream.value, recording: recording.value)
        self.observer = observer
        machine = DialogueMachine(
            brief: brief, canRecognizeSpeech: engines.speechToText.recognizes(language: brief.language), policy: settings.turns)
        detector = VoiceActivityDetector(settings.voiceActivity)
        turns = TurnDetector(settings.detector)
        bargeIn = BargeIn(settings.bargeIn)
        // Live audio may be dropped when a recogniser falls behind; what we speak waits.
        toRecognizer = graph.edge("toRecognizer", limit: 500, overflow: .dropOldest)
        transcripts = graph.edge("transcripts", limit: 64, overflow: .wait)
        sentences = graph.edge("sentences", limit: 128, overflow: .wait)
        audio = graph.edge("audio", limit: 256, overflow: .wait)
    }

    /// Begins the conversation; the answer is now.
    public func start() {
        startedAt = loop.timeMs
        listening = try? MuLawDecoder().then(Resampler(from: 8_000, to: engines.speechToText.sampleRate))
        add("speech-to-text", engines.speechToText, from: toRecognizer, to: transcripts)
        add("text-to-speech", engines.textToSpeech, from: sentences, to: audio)
        graph.add("transcripts") { [weak self] in await self?.takeTranscripts() }
        graph.add("audio") { [weak self] in await self?.takeAudio() }
        services = Task(executorPreference: loop) { [graph, weak self] in
            do { try await graph.run() } catch { await self?.engineFailed(error) }
        }
        stream.onMessage = { [weak self] message in self?.assumeIsolated { $0.received(message) } }
        stream.onClose = { [weak self] _ in self?.assumeIsolated { $0.streamClosed() } }
        ticker = loop.addTicker { [weak self] _ in self?.assumeIsolated { $0.beat() } }
    }

    /// The stream's `start` came before the graph was there.
    public func streamStarted() { perform(machine.mediaStarted(at: now)) }

    private func add<Stage: Service>(_ name: String, _ service: Stage, from input: Edge<Stage.Input>, to output: Edge<Stage.Output>) {
        graph.add(name, service, from: input, to: output)
    }

    private func takeTranscripts() async {
        while let signal = await transcripts.next() {
            if case .data(let event) = signal { recognized(event) }
            if case .end = signal { return }
        }
    }

    private func takeAudio() async {
        while let signal = await audio.next() {
            if case .data(let piece) = signal { await synthesized(piece) }
            if case .end = signal { return }
        }
    }

    private var now: Int { Int(loop.timeMs &- min(loop.timeMs, startedAt)) }

    /// Depth, age and drops of the queues.
    public var edges: [EdgeReading] { graph.edges }

    // MARK: From the caller

    private func received(_ message: MediaStreamMessage) {
        guard !isOver else { return }
        switch message {
        case .connected, .clear: break
        case .start: perform(machine.mediaStarted(at: now))
        case .media(let frame): heard(frame)
        case .dtmf(let digit): perform(machine.key(digit, at: now))
        case .mark(let name):
            let now = now
            if let turn = speaker.reached(mark: name, at: now) { turnHeard(turn, at: now) }
        case .stop: streamClosed()
        }
    }

    private func heard(_ frame: EncodedFrame) {
        let now = now
        recording?.caller(frame, now: now)
        // Look at the μ-law bytes as they are.
        let verdict = detector.detect(frame)
        turnEvents.removeAll(keepingCapacity: true)
        turns.process(verdict, into: &turnEvents)
        listen(frame, isSpeech: verdict.isSpeech)
        for event in turnEvents { handle(event, at: now) }
        interruptions.removeAll(keepingCapacity: true)
        bargeIn.process(
            BargeInInput(isCallerSpeech: verdict.isSpeech, isAISpeaking: speaker.isSpeaking, isMuted: !machine.isInterruptible),
            into: &interruptions)
        if !interruptions.isEmpty {
            interruptionCount += 1
            perform(machine.interrupted(at: now))
        }
    }

    /// Keeps a short past while nobody speaks; feeds the recogniser while somebody does. Of a silence inside a turn only
    /// the beginning is recognised as it comes, for it may be the turn's end, and then no more than that is wanted; the
    /// rest follows when speech goes on.
    private func listen(_ frame: EncodedFrame, isSpeech: Bool) {
        guard turns.isInTurn else {
            if prefix.count >= Self.prefixFrames { prefix.removeFirst() }
            prefix.append(frame)
            return
        }
        for old in prefix { recognize(old) }
        prefix.removeAll(keepingCapacity: true)
        silentFrames = isSpeech ? 0 : silentFrames + 1
        if silentFrames > Self.tailFrames {
            heldSilence.append(frame)
        } else {
            for old in heldSilence { recognize(old) }
            heldSilence.removeAll(keepingCapacity: true)
            recognize(frame)
        }
    }

    private func recognize(_ frame: EncodedFrame) {
        guard machine.conversation.canRecognizeSpeech else { return }
        resampled.removeAll(keepingCapacity: true)
        let spoken = frame.law == .muLaw ? frame : G711.transcode(frame, to: .muLaw)
        try? listening?.process(spoken, into: &resampled)
        for piece in resampled { toRecognizer.offer(.audio(piece)) }
    }

    private func handle(_ event: TurnEvent, at now: Int) {
        switch event {
        case .speechStarted:
            perform(machine.speechStarted(at: now - settings.detector.startFrames * EncodedFrame.milliseconds))
        case .speechEnded(let spokenMs):
            heldSilence.removeAll(keepingCapacity: true)
            silentFrames = 0
            prefix.removeAll(keepingCapacity: true)
            listening?.flush()
            latency.begin(speechEndedAt: now - settings.detector.silenceMs, now: now)
            perform(machine.speechEnded(spokenMs: spokenMs, at: now))
            if machine.conversation.canRecognizeSpeech {
                toRecognizer.offer(.turnEnded)
            } else {
                perform(machine.transcript(.final(text: "", confidence: nil), at: now))
            }
        case .monologue: perform(machine.monologue(at: now))
        }
    }

    private func recognized(_ event: TranscriptEvent) {
        guard !isOver else { return }
        if case .final = event { latency.transcribed(now) }
        perform(machine.transcript(event, at: now))
    }

    // MARK: Deciding

    private func perform(_ actions: [DialogueMachine.Action]) {
        for action in actions where !isOver { perform(action) }
    }

    private func perform(_ action: DialogueMachine.Action) {
        switch action {
        case .requestModel(let conversation, let generation): request(conversation, generation)
        case .cancelModel:
            modelTask?.cancel()
            modelTask = nil
        case .speak(let text, let turn):
            latency.worded(now)
            let utterance = speaker.begin(turn: turn, text: text)
            let sentence = Sentence(utterance: utterance, turn: turn, text: text, language: machine.conversation.brief.language)
            if !sentences.offer(sentence) { speaker.complete(utterance) }
        case .turnComplete(let turn): speaker.turnComplete(turn)
        case .flushSpeech: flushSpeech()
        case .expect(let hints): toRecognizer.offer(.expect(hints))
        case .progress(let tracker): observer(.progress(tracker))
        case .customerSaid(let entry): append(entry)
        case .hangUp(let reason): finish(reason)
        }
    }

    private func request(_ conversation: Conversation, _ generation: Int) {
        let model = engines.languageModel
        modelTask = Task(executorPreference: loop) { [weak self] in
            do {
                for try await event in model.respond(to: conversation) { await self?.modelSaid(event, generation) }
                await self?.modelFinished(generation)
            } catch is CancellationError {
            } catch { await self?.modelFailed(error, generation) }
        }
    }

    private func modelSaid(_ event: LanguageModelEvent, _ generation: Int) {
        perform(machine.model(event, generation: generation, at: now))
    }
    private func modelFinished(_ generation: Int) { perform(machine.modelFinished(generation: generation, at: now)) }
    private func modelFailed(_ error: any Error, _ generation: Int) {
        failure = "language-model: \(error)"
        perform(machine.modelFailed(generation: generation, at: now))
    }
    private func engineFailed(_ error: any Error) {
        failure = "\(error)"
        finish(.providerError)
    }

    // MARK: To the caller

    private func synthesized(_ piece: SynthesizedAudio) async {
        switch piece {
        case .finished(let utterance): speaker.complete(utterance)
        case .audio(let frame, let utterance):
            guard !speaker.ledger.utterances[utterance].isInterrupted else { return }
            let now = now
            latency.synthesized(now)
            encoded.removeAll(keepingCapacity: true)
            encoder.process(frame, into: &encoded)
            for frame in encoded where speaker.say(frame, of: utterance, now: now) { latency.sent(now) }
            if speaker.isFull, !isOver { await withCheckedContinuation { speakerWaiter = $0 } }
        }
    }

    private func releaseSpeech() {
        speakerWaiter?.resume()
        speakerWaiter = nil
    }

    private func beat() {
        guard !isOver else { return }
        let now = now
        let (hasSent, heard) = speaker.beat(now)
        if hasSent { latency.sent(now) }
        if let heard { turnHeard(heard, at: now) }
        if speaker.hasRoom { releaseSpeech() }
        if now - lastRecordingFlush >= 1_000 {
            lastRecordingFlush = now
            recording?.flush(now: now)
        }
        if now >= settings.maxDurationMs { perform(machine.timeIsUp(at: now)) }
        perform(machine.tick(at: now))
    }

    private func turnHeard(_ turn: Int32, at now: Int) {
        closeTurn(turn)
        perform(machine.turnHeard(speaker.ledger.heardText(turn: turn), turn: turn, isInterrupted: false, at: now))
    }

    private func flushSpeech() {
        let now = now
        sentences.flush()
        speaker.flush(now: now)
        releaseSpeech()
        let ledger = speaker.ledger
        for turn in Set(ledger.utterances.filter(\.isInterrupted).map(\.turn)) where !closedTurns.contains(turn) {
            closeTurn(turn)
            perform(machine.turnHeard(ledger.heardText(turn: turn), turn: turn, isInterrupted: true, at: now))
        }
    }

    private var closedTurns: Set<Int32> = []

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
                text: parts.map(\.text).joined(separator: " "), heardText: isInterrupted ? ledger.heardText(turn: turn) : nil,
                isInterrupted: isInterrupted))
        if let measured = latency.take() { latencies.append(measured) }
    }

    private func append(_ entry: TranscriptEntry) {
        transcript.append(entry)
        machine.transcriptLength(transcript.count)
        observer(.transcript(entry, position: transcript.count - 1))
    }

    // MARK: The end

    private func streamClosed() { finish(.calleeHangup) }

    /// Ends the conversation from outside: an operator, a dead line.
    public func stop(_ reason: EndReason) { finish(reason) }

    private func finish(_ reason: EndReason) {
        guard !isOver else { return }
        let now = now
        // What was being said when the line went is in the transcript as far as it was heard.
        speaker.flush(now: now)
        for turn in Set(speaker.ledger.utterances.map(\.turn)).sorted() where !closedTurns.contains(turn) { closeTurn(turn) }
        isOver = true
        machine.stop()
        ticker?.cancel()
        ticker = nil
        modelTask?.cancel()
        services?.cancel()
        toRecognizer.finish()
        sentences.finish()
        releaseSpeech()
        stream.onMessage = nil
        stream.onClose = nil
        var tracker = machine.conversation.tracker
        tracker.close()
        let outcome = Outcome(
            endReason: reason, tracker: tracker, answeredBy: machine.answeredBy, transcript: transcript, latencies: latencies,
            interruptions: interruptionCount, failure: failure)
        let report: @Sendable () -> Void = { [loop, observer] in loop.post { observer(.ended(outcome)) } }
        if let recording { recording.finish(now: now, completion: report) } else { report() }
    }
}

/// Stamps the steps between a caller's last word and our first.
struct LatencyProbe {
    private var speechEnded: Int?
    private var decided = 0
    private var transcript: Int?
    private var words: Int?
    private var sound: Int?
    private var wire: Int?

    mutating func begin(speechEndedAt: Int, now: Int) {
        self = LatencyProbe()
        speechEnded = speechEndedAt
        decided = now
    }
    mutating func transcribed(_ now: Int) { if transcript == nil { transcript = now } }
    mutating func worded(_ now: Int) { if words == nil { words = now } }
    mutating func synthesized(_ now: Int) { if sound == nil { sound = now } }
    mutating func sent(_ now: Int) { if wire == nil { wire = now } }

    /// The whole answer, once; nil where a turn of ours answered nobody.
    mutating func take() -> TurnLatency? {
        defer { self = LatencyProbe() }
        guard let speechEnded, let transcript, let words, let sound, let wire else { return nil }
        return TurnLatency(
            endOfTurnMs: decided - speechEnded, speechToTextMs: transcript - decided, languageModelMs: words - transcript,
            textToSpeechMs: sound - words, queueingMs: wire - sound)
    }
}
