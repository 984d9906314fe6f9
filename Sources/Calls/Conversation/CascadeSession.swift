internal import Net
internal import Pipeline
internal import Realtime

/// Recogniser, language model and voice, one after the other (`Cascade`), with `DialogueMachine` deciding.
///
/// It performs the machine's actions and tells it what happens; it decides nothing.
final class CascadeSession: AgentSession {
    private unowned let graph: CallGraph
    private let loop: EventLoop
    private let language: String
    private var machine: DialogueMachine
    private let cascade: Cascade
    private var feed: RecognizerFeed
    private var spokenChain = SpokenChain()
    private var meters = CascadeMeters()
    private var encoded: [EncodedFrame] = []
    private var speakerWaiter: CheckedContinuation<Void, Never>?
    private var services: Task<Void, Never>?
    private var isStopped = false
    /// The utterance of a disclosure that has not been heard to its end.
    private var disclosure: Int?

    init(graph: CallGraph, engines: SpeechEngines, brief: Brief, tracker: TaskTracker?, tools: ToolLedger) {
        let settings = graph.settings
        self.graph = graph
        loop = graph.loop
        language = brief.language
        machine = DialogueMachine(
            brief: brief, canRecognizeSpeech: engines.speechToText.recognizes(language: brief.language),
            tracker: tracker,
            history: tracker == nil ? [] : graph.transcript.history, turns: graph.speaker.ledger.lastTurn,
            tools: tools, policy: settings.policy,
            silenceMs: settings.detector.silenceMs)
        cascade = Cascade(engines, background: loop.background)
        feed = RecognizerFeed(
            to: cascade.heard, sampleRate: engines.speechToText.sampleRate, prefixMs: settings.prefixMs)
    }

    var isInterruptible: Bool {
        if let disclosure, graph.speaker.ledger.isFullyHeard(disclosure) {
            self.disclosure = nil
            machine.disclosureHeard()
        }
        return machine.isInterruptible
    }
    var tracker: TaskTracker { machine.conversation.tracker }
    var tools: ToolLedger { machine.tools }
    var answeredBy: AnsweredBy { machine.answeredBy }
    var speechPlan: EdgePlan { CallLayout.speech }

    var reading: GraphReading {
        GraphReading(
            mode: "cascade", stages: meters.readings + spokenChain.readings, edges: cascade.edges)
    }

    func start() {
        // The stages hold this object, so it must not hold them: they belong to the task that runs them.
        var stages = cascade.stages()
        // Tasks of the loop: they touch this object on the loop's thread alone.
        let me = Confined(self, to: loop)
        stages.add("transcripts") { [transcripts = cascade.transcripts] in
            while let signal = await transcripts.next() {
                if case .data(let event) = signal { me.value.recognized(event) }
                if case .end = signal { return }
            }
        }
        stages.add("responses") { [responses = cascade.responses] in
            while let signal = await responses.next() {
                if case .data(let reply) = signal { me.value.replied(reply) }
                if case .end = signal { return }
            }
        }
        stages.add("audio") { [audio = cascade.audio] in
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
        graph.sessionFailed(reason)
    }

    // MARK: From the caller

    func mediaStarted(at now: Int) { perform(machine.mediaStarted(at: now)) }

    func heard(_ heard: borrowing HeardFrame, at now: Int) {
        guard machine.conversation.canRecognizeSpeech else { return }
        if heard.isInTurn { meters.speechToText.count() }
        feed.hear(heard)
    }

    func speechStarted(at now: Int) { perform(machine.speechStarted(at: now)) }

    func speechEnded(spokenMs: Int, lastSpeechAt: Int, at now: Int) {
        countHeard()
        graph.latency.begin(speechEndedAt: lastSpeechAt, now: now)
        meters.turnEnded(now)
        if machine.conversation.canRecognizeSpeech { feed.endTurn() } else { feed.forget() }
        perform(machine.speechEnded(spokenMs: spokenMs, at: now))
    }

    /// What the recogniser was given since the last time.
    private func countHeard() { graph.usage.add(.speechToText, .milliseconds, feed.takeHeardMs()) }

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

    func toolFinished(_ number: Int, _ result: ToolResult, at now: Int) {
        guard !isStopped else { return }
        perform(machine.toolFinished(number, result, at: now))
    }

    func tick(at now: Int) {
        machine.transcriptLength(graph.transcript.entries.count)
        perform(machine.tick(at: now))
    }

    func turnHeard(_ heard: String, turn: Int32, isInterrupted: Bool, at now: Int) {
        machine.transcriptLength(graph.transcript.entries.count)
        perform(machine.turnHeard(heard, turn: turn, isInterrupted: isInterrupted, at: now))
    }

    private func recognized(_ event: TranscriptEvent) {
        guard !isStopped else { return }
        let now = graph.now
        if case .final = event {
            graph.latency.transcribed(now)
            meters.transcribed(now)
        }
        perform(machine.transcript(event, at: now))
    }

    // MARK: Deciding

    private func perform(_ decide: @autoclosure () -> [DialogueMachine.Action]) {
        let begin = StageMeter.now()
        let actions = decide()
        meters.dialogue.count()
        meters.dialogue.took(nanoseconds: StageMeter.now() &- begin)
        for action in actions where !isStopped { perform(action) }
    }

    private func perform(_ action: DialogueMachine.Action) {
        switch action {
        case .requestModel(let conversation, let generation): request(conversation, generation)
        case .cancelModel: cascade.requests.flush()
        case .callTool(let call): graph.tools.run(call)
        case .toolRefused(let call, let result): graph.tools.refused(call, result)
        case .cancelTool(let call): graph.tools.cancel(call)
        case .speak(let text, let turn):
            graph.latency.worded(graph.now)
            speak(text, turn)
        case .disclose(let text, let turn):
            disclosure = speak(text, turn)
        case .source(let title, let turn): graph.drawn(on: title, turn: turn)
        case .awaitSilence(let ms): graph.awaitSilence(ms: ms)
        case .turnComplete(let turn): graph.speaker.turnComplete(turn)
        case .flushSpeech:
            cascade.sentences.flush()
            graph.flushSpeech()
        case .expect(let hints): cascade.heard.offer(.expect(hints))
        case .progress(let tracker): graph.report(.progress(tracker))
        case .customerSaid(let entry):
            graph.append(entry)
            machine.transcriptLength(graph.transcript.entries.count)
        case .press(let keys): perform(machine.pressed(graph.press(keys)))
        case .warning(let text): graph.report(.warning(text))
        case .transfer: graph.transfer()
        case .hangUp(let reason): graph.finish(reason)
        case .fail(let reason): graph.sessionFailed(reason)
        }
    }

    /// Hands a sentence to the voice; returns its utterance in the ledger.
    @discardableResult
    private func speak(_ text: String, _ turn: Int32) -> Int {
        let utterance = graph.speaker.begin(turn: turn, text: text)
        let sentence = Sentence(
            utterance: utterance, turn: turn, text: text, language: language)
        graph.usage.add(.textToSpeech, .characters, text.count)
        meters.spoke(graph.now)
        if !cascade.sentences.offer(sentence) { graph.speaker.complete(utterance) }
        return utterance
    }

    private func request(_ conversation: Conversation, _ generation: Int) {
        meters.asked(graph.now)
        guard cascade.requests.offer(ModelRequest(conversation: conversation, generation: generation)) else {
            return graph.sessionFailed("language-model: \(CallLayout.requests.limit) requests are waiting")
        }
    }

    private func replied(_ reply: ModelReply) {
        guard !isStopped else { return }
        let now = graph.now
        meters.answered(now)
        switch reply.piece {
        case .event(let event): perform(machine.model(event, generation: reply.generation, at: now))
        case .finished: perform(machine.modelFinished(generation: reply.generation, at: now))
        case .failed(let reason): perform(machine.modelFailed(reason, generation: reply.generation, at: now))
        }
    }

    // MARK: To the caller

    private static func synthesized(_ piece: SynthesizedAudio, by me: Confined<CascadeSession>) async {
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
            meters.sounded(graph.now)
            encoded.removeAll(keepingCapacity: true)
            spokenChain.process(frame, into: &encoded)
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
        services?.cancel()
        cascade.finish()
        speakerHasRoom()
    }
}
