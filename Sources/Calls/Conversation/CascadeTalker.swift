internal import Net
internal import Pipeline
internal import Realtime

/// Recogniser, language model and voice, one after the other, with `DialogueMachine` deciding.
///
///     frame ─→ decode ─→ resample ─→ │toRecognizer│ ─→ SpeechToText ─→ │transcripts│ ─→ DialogueMachine
///                                                                                          │
///     Speaker ←─ encode ←─ │audio│ ←─ TextToSpeech ←─ │sentences│ ←─ LanguageModel ←───────┘
///
/// What computes is called straight through; a bounded queue stands only where something waits.
final class CascadeTalker: Talker {
    /// Silence at a turn's end that is still recognised, frames (200 ms).
    static let tailFrames = 10

    private unowned let graph: CallGraph
    private let loop: EventLoop
    private let engines: SpeechEngines
    private var machine: DialogueMachine

    // Listening.
    private var decoder = MuLawDecoder()
    /// Where the recogniser wants another rate than the line's.
    private var resampler: Resampler?
    private var decoded: [AudioFrame] = []
    /// Frames kept from before the detected start of speech.
    private let prefixFrames: Int
    private var prefix: [EncodedFrame] = []
    private var heldSilence: [EncodedFrame] = []
    private var silentFrames = 0
    private var heardFrames = 0
    private var resampled: [AudioFrame] = []

    // Speaking.
    private var encoder = MuLawEncoder()
    private var encoded: [EncodedFrame] = []
    private var speakerWaiter: CheckedContinuation<Void, Never>?

    // Services and their edges.
    private var stages = Graph()
    private let toRecognizer: Edge<RecognizerInput>
    private let transcripts: Edge<TranscriptEvent>
    private let sentences: Edge<Sentence>
    private let audio: Edge<SynthesizedAudio>
    private var services: Task<Void, Never>?
    private var modelTask: Task<Void, Never>?
    private var isStopped = false
    /// The utterance that nobody may cut off.
    private var disclosure: Int?
    private var isDisclosing: Bool {
        guard let disclosure else { return false }
        if graph.speaker.ledger.isFullyHeard(disclosure) { self.disclosure = nil }
        return self.disclosure != nil
    }

    init(
        graph: CallGraph, loop: EventLoop, engines: SpeechEngines, brief: Brief, tracker: TaskTracker?, settings: CallGraph.Settings
    ) {
        self.graph = graph
        self.loop = loop
        self.engines = engines
        machine = DialogueMachine(
            brief: brief, canRecognizeSpeech: engines.speechToText.recognizes(language: brief.language), tracker: tracker,
            history: tracker == nil ? [] : graph.history, policy: settings.turns, silenceMs: settings.detector.silenceMs)
        prefixFrames = settings.prefixMs / EncodedFrame.milliseconds
        // Live audio may be dropped when a recogniser falls behind; what we speak waits.
        toRecognizer = stages.edge("toRecognizer", limit: 500, overflow: .dropOldest)
        transcripts = stages.edge("transcripts", limit: 64, overflow: .wait)
        sentences = stages.edge("sentences", limit: 128, overflow: .wait)
        audio = stages.edge("audio", limit: 256, overflow: .wait)
    }

    var isInterruptible: Bool { machine.isInterruptible && !isDisclosing }
    var tracker: TaskTracker { machine.conversation.tracker }
    var answeredBy: AnsweredBy { machine.answeredBy }
    var edges: [EdgeReading] { stages.edges }

    func start() {
        if engines.speechToText.sampleRate != 8_000 { resampler = try? Resampler(from: 8_000, to: engines.speechToText.sampleRate) }
        // The stages hold this object, so it must not hold them: they belong to the task that runs them.
        var stages = stages
        stages.add("speech-to-text", engines.speechToText, from: toRecognizer, to: transcripts)
        stages.add("text-to-speech", engines.textToSpeech, from: sentences, to: audio)
        // Tasks of the loop: they touch this object on the loop's thread alone.
        let me = Confined(self, to: loop)
        stages.add("transcripts") { [transcripts] in
            while let signal = await transcripts.next() {
                if case .data(let event) = signal { me.value.recognized(event) }
                if case .end = signal { return }
            }
        }
        stages.add("audio") { [audio] in
            while let signal = await audio.next() {
                if case .data(let piece) = signal { await Self.synthesized(piece, by: me) }
                if case .end = signal { return }
            }
        }
        services = Task(executorPreference: loop) { [stages] in
            do { try await stages.run() } catch is CancellationError {} catch { me.value.failed("\(error)") }
        }
    }

    private func failed(_ reason: String) {
        guard !isStopped else { return }
        graph.talkerFailed(reason)
    }

    // MARK: From the caller

    func mediaStarted(at now: Int) { perform(machine.mediaStarted(at: now)) }

    /// Keeps a short past while nobody speaks; feeds the recogniser while somebody does. Of a silence inside a turn only
    /// the beginning is recognised as it comes, for it may be the turn's end, and then no more than that is wanted; the
    /// rest follows when speech goes on.
    func heard(_ frame: EncodedFrame, isSpeech: Bool, isInTurn: Bool, at now: Int) {
        guard isInTurn else {
            if prefix.count >= prefixFrames, !prefix.isEmpty { prefix.removeFirst() }
            if prefixFrames > 0 { prefix.append(frame) }
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
        decoded.removeAll(keepingCapacity: true)
        let spoken = frame.law == .muLaw ? frame : G711.transcode(frame, to: .muLaw)
        decoder.process(spoken, into: &decoded)
        heardFrames += 1
        for piece in decoded {
            guard resampler != nil else {
                toRecognizer.offer(.audio(piece))
                continue
            }
            resampled.removeAll(keepingCapacity: true)
            try? resampler?.process(piece, into: &resampled)
            for piece in resampled { toRecognizer.offer(.audio(piece)) }
        }
    }

    func speechStarted(at now: Int) { perform(machine.speechStarted(at: now)) }

    func speechEnded(spokenMs: Int, lastSpeechAt: Int, at now: Int) {
        heldSilence.removeAll(keepingCapacity: true)
        silentFrames = 0
        countHeard()
        resampler?.flush()
        graph.latency.begin(speechEndedAt: lastSpeechAt, now: now)
        perform(machine.speechEnded(spokenMs: spokenMs, at: now))
        if machine.conversation.canRecognizeSpeech {
            toRecognizer.offer(.turnEnded)
        } else {
            perform(machine.transcript(.final(text: "", confidence: nil), at: now))
        }
    }

    /// What the recogniser was given since the last time.
    private func countHeard() {
        graph.usage.add(.speechToText, .milliseconds, heardFrames * EncodedFrame.milliseconds)
        heardFrames = 0
    }

    func paused(at now: Int) { perform(machine.paused(at: now)) }
    var callerWords: Int? { machine.callerWords }
    func monologue(at now: Int) { perform(machine.monologue(at: now)) }
    func interrupted(at now: Int) { perform(machine.interrupted(at: now)) }
    func resumed(at now: Int) {}
    func key(_ digit: Character, at now: Int) { perform(machine.key(digit, at: now)) }
    func transferRequested(at now: Int) { perform(machine.transferRequested(at: now)) }
    func transferFailed(at now: Int) { perform(machine.transferFailed(at: now)) }
    func answeringMachine(at now: Int) { perform(machine.answeringMachine(at: now)) }
    func say(_ text: String, at now: Int) { perform(machine.say(text, at: now)) }
    func timeIsUp(at now: Int) { perform(machine.timeIsUp(at: now)) }

    func tick(at now: Int) {
        machine.transcriptLength(graph.transcript.count)
        perform(machine.tick(at: now))
    }

    func turnHeard(_ heard: String, turn: Int32, isInterrupted: Bool, at now: Int) {
        machine.transcriptLength(graph.transcript.count)
        perform(machine.turnHeard(heard, turn: turn, isInterrupted: isInterrupted, at: now))
    }

    private func recognized(_ event: TranscriptEvent) {
        guard !isStopped else { return }
        let now = graph.now
        if case .final = event { graph.latency.transcribed(now) }
        perform(machine.transcript(event, at: now))
    }

    // MARK: Deciding

    private func perform(_ actions: [DialogueMachine.Action]) {
        for action in actions where !isStopped { perform(action) }
    }

    private func perform(_ action: DialogueMachine.Action) {
        switch action {
        case .requestModel(let conversation, let generation): request(conversation, generation)
        case .cancelModel:
            modelTask?.cancel()
            modelTask = nil
        case .speak(let text, let turn):
            graph.latency.worded(graph.now)
            speak(text, turn)
        case .disclose(let text, let turn):
            disclosure = speak(text, turn)
        case .source(let title, let turn): graph.drawn(on: title, turn: turn)
        case .awaitSilence(let ms): graph.awaitSilence(ms: ms)
        case .turnComplete(let turn): graph.speaker.turnComplete(turn)
        case .flushSpeech:
            sentences.flush()
            graph.flushSpeech()
        case .expect(let hints): toRecognizer.offer(.expect(hints))
        case .progress(let tracker): graph.report(.progress(tracker))
        case .customerSaid(let entry):
            graph.append(entry)
            machine.transcriptLength(graph.transcript.count)
        case .press(let keys): if !graph.press(keys) { graph.report(.warning("this line takes no keys")) }
        case .transfer: graph.transfer()
        case .hangUp(let reason): graph.finish(reason)
        }
    }

    /// Hands a sentence to the voice; returns its utterance in the ledger.
    @discardableResult
    private func speak(_ text: String, _ turn: Int32) -> Int {
        let utterance = graph.speaker.begin(turn: turn, text: text)
        let sentence = Sentence(utterance: utterance, turn: turn, text: text, language: machine.conversation.brief.language)
        graph.usage.add(.textToSpeech, .characters, text.count)
        if !sentences.offer(sentence) { graph.speaker.complete(utterance) }
        return utterance
    }

    private func request(_ conversation: Conversation, _ generation: Int) {
        let model = engines.languageModel
        let me = Confined(self, to: loop)
        modelTask = Task(executorPreference: loop) {
            do {
                for try await event in model.respond(to: conversation) { me.value.modelSaid(event, generation) }
                me.value.modelFinished(generation)
            } catch is CancellationError {
            } catch { me.value.modelFailed(error, generation) }
        }
    }

    private func modelSaid(_ event: LanguageModelEvent, _ generation: Int) {
        guard !isStopped else { return }
        perform(machine.model(event, generation: generation, at: graph.now))
    }
    private func modelFinished(_ generation: Int) {
        guard !isStopped else { return }
        perform(machine.modelFinished(generation: generation, at: graph.now))
    }
    private func modelFailed(_ error: any Error, _ generation: Int) {
        guard !isStopped, machine.isCurrent(generation: generation) else { return }
        if machine.isGuess(generation: generation) { return perform(machine.modelFailed(generation: generation, at: graph.now)) }
        graph.talkerFailed("language-model: \(error)")
    }

    // MARK: To the caller

    private static func synthesized(_ piece: SynthesizedAudio, by me: Confined<CascadeTalker>) async {
        if me.value.take(piece) { await withCheckedContinuation { me.value.speakerWaiter = $0 } }
    }

    /// - Returns: whether to wait until the speaker has room again.
    private func take(_ piece: SynthesizedAudio) -> Bool {
        guard !isStopped else { return false }
        switch piece {
        case .words(let words, let utterance):
            graph.speaker.words(words, of: utterance)
            return false
        case .finished(let utterance):
            graph.speaker.complete(utterance)
            return false
        case .audio(let frame, let utterance):
            guard !graph.speaker.ledger.utterances[utterance].isInterrupted else { return false }
            graph.latency.synthesized(graph.now)
            encoded.removeAll(keepingCapacity: true)
            encoder.process(frame, into: &encoded)
            for frame in encoded { graph.say(frame, of: utterance) }
            return graph.speaker.isFull
        }
    }

    func speakerHasRoom() {
        speakerWaiter?.resume()
        speakerWaiter = nil
    }

    func stop() {
        guard !isStopped else { return }
        isStopped = true
        countHeard()
        machine.stop()
        modelTask?.cancel()
        services?.cancel()
        toRecognizer.finish()
        sentences.finish()
        speakerHasRoom()
    }
}
