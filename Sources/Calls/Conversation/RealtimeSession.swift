internal import Bridge
internal import Net
internal import Pipeline
internal import Realtime

/// A conversation with a speech model: `RealtimeMachine` decides, `SessionKeeper` keeps the connection, and this
/// session carries sound and actions between them and the graph. It decides nothing.
///
///     frame ─▶ │heard│ ─▶ (resample) ─▶ SpeechSession ─▶ resample, frame, encode ─▶ │speech│ ─▶ pacer
final class RealtimeSession: AgentSession {
    /// Silence after which the model cannot be waiting for the end of a turn, ms; and frames that one message holds
    /// then.
    static let quietAfterMs = 1_000
    static let quietFrames = 5

    private unowned let graph: CallGraph
    private let model: any SpeechModel
    private let brief: Brief
    private let keeper: SessionKeeper
    private var machine: RealtimeMachine
    private var isStopped = false
    private var startedAt = 0

    // The caller's sound.
    private var isReady = false
    /// Frames that no session has taken: there is none yet, or its connection is congested.
    private var waiting = LocalEdge<HeardFrame>(CallLayout.heardByModel)
    /// To the model's rate; nil: it takes μ-law.
    private var upward: RateConverter?
    private var resampled: [AudioFrame] = []
    private var sound: [UInt8] = []
    private var waitingFrames = 0
    /// The call's time of the first sound the session got.
    private var soundBeganAt: Int?

    // The model's sound.
    private var spokenChain = SpokenChain()
    private var encoded: [EncodedFrame] = []
    /// The ledger's utterances of the session's items.
    private var utterances: [Int: Int] = [:]
    /// Sound of a response that waits for a decision.
    private var held = LocalEdge<(frame: EncodedFrame, utterance: Int)>(CallLayout.undecided)
    /// The model's connection is not read: enough of its speech waits to be spoken.
    private var isPaused = false
    private var meter = StageMeter()
    private var turnEndedAt: Int?

    init(graph: CallGraph, model: any SpeechModel, brief: Brief, tracker: TaskTracker?, tools: ToolLedger) {
        self.graph = graph
        self.model = model
        self.brief = brief
        let policy = graph.settings.policy
        machine = RealtimeMachine(
            brief: brief, policy: policy, name: model.name, tracker: tracker, turns: graph.speaker.ledger.lastTurn,
            tools: tools)
        keeper = SessionKeeper(policy: policy)
    }

    var isInterruptible: Bool { machine.isInterruptible }
    var tracker: TaskTracker { machine.tracker }
    var tools: ToolLedger { machine.tools }
    var answeredBy: AnsweredBy { machine.flow.answeredBy }

    private var moment: RealtimeMachine.Moment {
        RealtimeMachine.Moment(
            now: graph.now, isSpeaking: graph.speaker.isSpeaking, transcriptCount: graph.transcript.entries.count)
    }

    // MARK: The session

    func start() {
        startedAt = graph.now
        keeper.handlers = SessionKeeper.Handlers(
            ready: { [unowned self] in self.sessionReady() },
            lost: { [unowned self] in self.sessionLost() },
            gaveUp: { [unowned self] reason in self.graph.sessionFailed("\(self.model.name): \(reason)") },
            event: { [unowned self] event in self.happened(event) },
            audio: { [unowned self] bytes, item in self.spoken(bytes, item: item) },
            isQuiet: { [unowned self] in self.machine.isQuiet(self.moment) },
            open: { [unowned self] handle in self.open(handle) },
            now: { [unowned self] in self.graph.now })
        keeper.start()
    }

    private func open(_ resumptionHandle: String?) -> any SpeechSession {
        let own = DialogueTool.definitions(
            brief, canTransfer: graph.canTransfer, canPress: graph.settings.policy.canPress)
        let instructions = [RealtimeInstructions.text(brief, tracker: tracker), ToolWords.instructions(tools.tools)]
        let session = model.open(
            SpeechSessionSetup(
                instructions: instructions.compactMap(\.self).joined(separator: "\n"),
                tools: own + tools.tools.map(\.definition),
                language: brief.language, history: graph.transcript.history + tools.told,
                resumptionHandle: resumptionHandle),
            on: graph.loop)
        if case .pcm(let input, _) = session.format {
            upward = RateConverter(to: input)
        }
        if let chain = try? SpokenChain(session.format) { spokenChain = chain }
        return session
    }

    private func sessionReady() {
        isReady = true
        isPaused = false
        utterances.removeAll()
        soundBeganAt = waiting.isEmpty ? nil : graph.now - waiting.count * EncodedFrame.milliseconds
        sound.removeAll(keepingCapacity: true)
        sendWaiting(at: graph.now)
        perform(machine.sessionReady(goesOnAfterTools: keeper.session?.goesOnAfterTools ?? false, moment))
    }

    private func sessionLost() {
        isReady = false
        perform(machine.sessionLost(moment))
        utterances.removeAll()
    }

    private func happened(_ event: SpeechSessionEvent) {
        let now = graph.now
        machine.signOfLife(at: now)
        switch event {
        case .callerSpeechStarted: machine.callerBegan()
        case .callerSpeechStopped: perform(machine.callerStopped(moment))
        case .callerTranscript(let text, let start, let end): callerSaid(text, start, end, at: now)
        case .responseStarted(let isRequested): perform(machine.responseStarted(isRequested: isRequested, moment))
        case .text(let text, let item): graph.speaker.append(text, to: utterance(of: item))
        case .itemFinished(let item): itemFinished(item)
        case .toolCall(let callID, let name, let arguments):
            perform(machine.called(name, arguments, callID: callID, moment))
        case .responseFinished(let status):
            if status == .completed || status == .incomplete { keeper.succeeded() }
            perform(machine.responseFinished(status, moment))
        case .usage(let tokens): graph.usage.add("realtime/" + model.name, tokens)
        case .interruptedByServer: graph.flushSpeech()
        case .warning(let text): graph.report(.warning(model.name + ": " + text))
        case .ready, .expiring, .closed: break  // the keeper's
        }
    }

    // MARK: From the caller

    func mediaStarted(at now: Int) { perform(machine.mediaStarted(moment)) }

    func heard(_ heard: borrowing HeardFrame, at now: Int) {
        meter.count()
        guard let session = keeper.session, isReady, waiting.isEmpty, !session.isCongested else {
            waiting.push(copy heard, at: now)
            return
        }
        waiting.passed()
        // The sound of a caller who is silent while we speak, or has been for long, is not urgent: several frames go
        // in one message.
        let isQuiet =
            !heard.activity.isSpeech && !heard.activity.isInDoubt && !heard.isInTurn && machine.isCallerQuiet
            && (graph.speaker.isSpeaking || now > graph.lastSpeechMs + Self.quietAfterMs)
        if !isQuiet, waitingFrames == 0, heard.frame.law == .muLaw, case .muLaw = session.format {
            if soundBeganAt == nil { soundBeganAt = now - EncodedFrame.milliseconds }
            return heard.frame.withBytes { session.hear($0) }
        }
        take(heard, at: now)
        waitingFrames += 1
        if !isQuiet || waitingFrames >= Self.quietFrames { sendSound() }
    }

    /// What waited for a session, or for room on its connection.
    private func sendWaiting(at now: Int) {
        guard isReady else { return }
        while keeper.session?.isCongested == false, let heard = waiting.popFirst() {
            take(heard, at: now)
            sendSound()
        }
    }

    /// Adds a frame to what goes to the model, in its format: its wide sound where the model takes that.
    private func take(_ heard: borrowing HeardFrame, at now: Int) {
        guard let session = keeper.session else { return }
        if soundBeganAt == nil { soundBeganAt = now - EncodedFrame.milliseconds }
        guard case .pcm = session.format else {
            return G711.transcode(heard.frame, to: .muLaw).withBytes { sound.append(contentsOf: $0) }
        }
        resampled.removeAll(keepingCapacity: true)
        upward?.process(heard.frame, wide: heard.wide, into: &resampled)
        for piece in resampled {
            // The models' PCM is little-endian, and so is every machine that Swift runs on.
            piece.withSamples { sound.append(contentsOf: UnsafeRawBufferPointer($0)) }
        }
    }

    private func sendSound() {
        waitingFrames = 0
        if !sound.isEmpty { sound.withUnsafeBufferPointer { keeper.session?.hear($0) } }
        sound.removeAll(keepingCapacity: true)
    }

    func speechStarted(at now: Int) { machine.callerBegan(at: now) }

    func speechEnded(spokenMs: Int, lastSpeechAt: Int, at now: Int) {
        let session = keeper.session
        perform(
            machine.callerEnded(
                isReported: session?.reportsSpeech ?? true, isCommitted: session?.turnDetection == .manual, moment))
    }

    private func callerSaid(_ text: String, _ start: Int?, _ end: Int?, at now: Int) {
        let began = soundBeganAt ?? now
        let endMs = end.map { min(now, began + $0) } ?? min(graph.lastSpeechMs, now)
        let startMs = start.map { min(endMs, began + $0) } ?? max(0, endMs - 1_000)
        perform(machine.callerSaid(text, startMs: startMs, endMs: endMs, moment))
    }

    func paused(at now: Int) {}
    /// The transcript comes too late to tell.
    var callerWords: Int? { nil }
    func monologue(at now: Int) {}
    func resumed(at now: Int) {}
    func key(_ digit: Character, at now: Int) { perform(machine.key(digit, moment)) }
    func interrupted(at now: Int) { perform(machine.interrupted()) }
    func answeringMachine(at now: Int) { perform(machine.answeringMachine(moment)) }
    func say(_ text: String, at now: Int) { perform(machine.say(text, moment)) }
    func timeIsUp(at now: Int) { perform(machine.timeIsUp(moment)) }
    func transferRequested(at now: Int) { perform(machine.transferRequested(moment)) }
    func transferFailed(at now: Int) { perform(machine.transferFailed(moment)) }
    func toolFinished(_ number: Int, _ result: ToolResult, at now: Int) {
        perform(machine.toolFinished(number, result, moment))
    }

    func tick(at now: Int) {
        perform(machine.tick(moment, isPaused: isPaused))
        guard !isStopped else { return }
        if !waiting.isEmpty { sendWaiting(at: now) }
        keeper.tick()
    }

    // MARK: Actions

    private func perform(_ actions: [RealtimeMachine.Action]) {
        for action in actions where !isStopped { perform(action) }
    }

    private func perform(_ action: RealtimeMachine.Action) {
        let session = keeper.session
        switch action {
        case .respond(let instructions): session?.respond(instructions)
        case .cancelResponse: session?.cancelResponse()
        case .note(let text): session?.note(text)
        case .commitTurn: session?.commitTurn()
        case .finishTool(let callID, let output): session?.finishTool(callID: callID, output: output)
        case .callTool(let call): graph.tools.run(call)
        case .toolRefused(let call, let result): graph.tools.refused(call, result)
        case .cancelTool(let call): graph.tools.cancel(call)
        case .press(let keys, let callID):
            session?.finishTool(callID: callID, output: DialogueDecision.pressed(graph.press(keys)))
        case .answerAwaited:
            let now = graph.now
            turnEndedAt = now
            graph.latency.begin(speechEndedAt: min(graph.lastSpeechMs, now), now: now)
            graph.latency.transcribed(now)
        case .flushSound: spokenChain.flush()
        case .flushSpeech: graph.flushSpeech()
        case .holdSpeech: break  // `emit` asks the machine
        case .releaseSpeech(let isInterrupting): release(isInterrupting: isInterrupting)
        case .dropSpeech:
            held.removeAll()
            for utterance in utterances.values { graph.speaker.complete(utterance) }
        case .speechEnded(let turn, let isTurnOver):
            if !machine.isHolding { for utterance in utterances.values { graph.speaker.complete(utterance) } }
            // Of a turn that was cut off there is no end to wait for.
            if isTurnOver, !graph.speaker.ledger.isInterrupted(turn: turn) { graph.speaker.turnComplete(turn) }
        case .append(let entry): graph.append(entry)
        case .progress(let tracker): graph.report(.progress(tracker))
        case .warning(let text): graph.report(.warning(text))
        case .restartSession(let reason): keeper.restart(reason)
        case .transfer: graph.transfer()
        case .hangUp(let reason): graph.finish(reason)
        case .fail(let reason): graph.sessionFailed(reason)
        }
    }

    // MARK: To the caller

    /// The ledger's utterance of a session's item; a new one begins with its first sound or word.
    private func utterance(of item: Int) -> Int {
        if let known = utterances[item] { return known }
        let utterance = graph.speaker.begin(turn: machine.turn, text: "")
        utterances[item] = utterance
        return utterance
    }

    private func spoken(_ bytes: UnsafeBufferPointer<UInt8>, item: Int) {
        let now = graph.now
        let utterance = utterance(of: item)
        if machine.sounded(at: now) {
            if let began = turnEndedAt { meter.took(milliseconds: now - began) }
            turnEndedAt = nil
            graph.latency.worded(now)
            graph.latency.synthesized(now)
        }
        encoded.removeAll(keepingCapacity: true)
        spokenChain.process(bytes, into: &encoded)
        for frame in encoded { emit(frame, of: utterance) }
        pauseIfFull()
    }

    private func emit(_ frame: EncodedFrame, of utterance: Int) {
        guard !graph.speaker.ledger.utterances[utterance].isInterrupted else { return }
        guard machine.isHolding else { return graph.say(frame, of: utterance) }
        held.push((frame, utterance), at: graph.now)
    }

    private func release(isInterrupting: Bool) {
        var frames: [(frame: EncodedFrame, utterance: Int)] = []
        while let next = held.popFirst() { frames.append(next) }
        if isInterrupting { graph.interruptForResponse(keeping: Set(frames.map(\.utterance))) }
        for item in frames { graph.say(item.frame, of: item.utterance) }
    }

    private func itemFinished(_ item: Int) {
        guard let utterance = utterances[item] else { return }
        encoded.removeAll(keepingCapacity: true)
        spokenChain.finish(into: &encoded)
        for frame in encoded { emit(frame, of: utterance) }
        machine.itemFinished()
        if !machine.isHolding { graph.speaker.complete(utterance) }
    }

    func turnHeard(_ heard: String, turn: Int32, isInterrupted: Bool, at now: Int) {
        let ledger = graph.speaker.ledger
        for (item, utterance) in utterances where ledger.utterances[utterance].turn == turn {
            if isInterrupted, !ledger.isFullyHeard(utterance) {
                keeper.session?.truncate(item: item, heardMs: ledger.utterances[utterance].playedMs)
            }
        }
        utterances = utterances.filter { ledger.utterances[$0.value].turn != turn }
        perform(machine.turnHeard(turn: turn, isInterrupted: isInterrupted, moment))
    }

    // MARK: Backpressure

    /// The model sends its speech faster than it is spoken: beyond the limit its connection is not read.
    private func pauseIfFull() {
        guard !isPaused, graph.speaker.isFull || held.isFull else { return }
        isPaused = true
        graph.speaker.sourceWaits()
        keeper.session?.pauseReading()
    }

    func speakerHasRoom() {
        guard isPaused, held.count < held.plan.limit / 2 else { return }
        isPaused = false
        machine.signOfLife(at: graph.now)
        keeper.session?.resumeReading()
    }

    // MARK: Figures

    var speechPlan: EdgePlan { CallLayout.speechOfModel(from: spokenChain.last) }

    var reading: GraphReading {
        let spoken = spokenChain.readings
        return GraphReading(
            mode: "realtime/" + model.name,
            stages: [meter.reading(CallLayout.speechModel, .conversation)] + spoken,
            links: spoken.first.map { [LinkReading(from: CallLayout.speechModel, to: $0.name)] } ?? [],
            edges: [waiting.reading(at: graph.now)])
    }

    func stop() {
        guard !isStopped else { return }
        isStopped = true
        graph.usage.add("realtime/" + model.name, .milliseconds, max(0, graph.now - startedAt))
        keeper.stop()
        held.removeAll()
        waiting.removeAll()
    }
}
