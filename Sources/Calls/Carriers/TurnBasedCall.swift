public import Foundation
public import Pipeline
public import Realtime

/// A turn-based conversation, for trunks that cannot stream media: our turn is played from a file, what the caller says
/// after it is recorded, and each recording is transcribed, answered, and the answer synthesised.
///
/// The same `DialogueMachine` decides as on a stream. Its clock is that of the recording we make: our turns and the
/// caller's, one after the other.
public actor TurnBasedCall: CarriedConversation {
    /// One turn of ours.
    public struct Turn: Sendable, Equatable {
        /// Counted from 1.
        public var number: Int
        /// WAV, 8 kHz; empty where there is nothing to say.
        public var audio: [UInt8]
        /// The call is to be hung up after it.
        public var isLast: Bool
        /// By the wall clock: whatever depends on the time is the same for a request that is repeated.
        public var madeAt = Date()
    }

    /// What came of the caller's turn.
    public enum Heard: Sendable, Equatable {
        case silence
        case keys(String)
        case speech(WaveFile)
    }

    /// Milliseconds of silence that end the caller's recording.
    public static let endSilenceMs = 2_000
    /// Seconds that one recording may last.
    public static let recordingLimit = 30
    /// Turns of ours in one call.
    private static let turnLimit = 1_000
    /// Milliseconds for recogniser and model: a webhook must be answered within 15 s.
    private static let thinkLimitMs = 10_000
    /// Seconds beyond a turn of ours and the longest recording after which the provider has forgotten the call.
    private static let absenceLimit = 20.0
    /// Audio kept before the speech that is recognised, frames.
    private static let prefixFrames = 15

    private let call: Call
    private let conversation: CallGraph.Settings
    private let journal: CallJournal
    private let onEnd: @Sendable () -> Void
    /// Has the provider hang up, where nothing else does.
    private let release: (@Sendable () async -> Void)?
    private var machine: DialogueMachine
    private let recording: Recording?
    private let startedAt = ContinuousClock.now

    private var clock = 0
    private var entries: [TranscriptEntry] = []
    private var latencies: [TurnLatency] = []
    private var pending: [String] = []
    private var spoken: (text: String, turn: Int32, startMs: Int, endMs: Int, at: ContinuousClock.Instant)?
    private var ending: EndReason?
    private var isOver = false
    private var failure: String?
    private var production: (number: Int, task: Task<Turn, Never>)?
    private var turns: [Int: Turn] = [:]
    private var watchdog: Task<Void, Never>?

    // The same stages and engines as on a stream, for the whole call.
    private let cascade: Cascade
    private let turnEngines: CascadeTurns
    private var feed: RecognizerFeed
    private var callerChain: CallerChain
    private var spokenChain = SpokenChain()
    private var meters = CascadeMeters()
    private var services: Task<Void, Never>?
    private var tools: TurnTools

    init(
        call: Call, engines: SpeechEngines, settings: CallSettings, journal: CallJournal,
        toolBox: (any ToolBox)? = nil,
        release: (@Sendable () async -> Void)? = nil,
        onEnd: @escaping @Sendable () -> Void
    ) {
        self.call = call
        self.journal = journal
        self.onEnd = onEnd
        self.release = release
        conversation = settings.conversation(of: call, canTransfer: false)
        tools = TurnTools(toolBox, journal: journal)
        machine = DialogueMachine(
            brief: call.brief, canRecognizeSpeech: engines.speechToText.recognizes(language: call.brief.language),
            tools: tools.ledger, policy: conversation.policy, silenceMs: conversation.detector.silenceMs)
        recording = journal.beginRecording()
        cascade = Cascade(engines, heard: CallLayout.heardFromFile)
        turnEngines = CascadeTurns(cascade: cascade, limitMs: Self.thinkLimitMs)
        feed = RecognizerFeed(to: cascade.heard, sampleRate: engines.speechToText.sampleRate, prefixMs: 0)
        callerChain = CallerChain(CallLayout.callerStages(conversation))
    }

    deinit { services?.cancel() }

    // MARK: Turns

    /// Our first turn.
    public func begin() async -> Turn { await turn(after: 0, heard: .silence) }

    /// Our turn after the caller's. The same again for a request that is repeated.
    public func turn(after number: Int, heard: Heard) async -> Turn {
        guard (0...Self.turnLimit).contains(number) else { return Turn(number: 0, audio: [], isLast: true) }
        if let known = turns[number + 1] { return known }
        if let production, production.number == number + 1 { return await production.task.value }
        guard !isOver, production == nil, number == (turns.keys.max() ?? 0) else {
            return Turn(number: number + 1, audio: [], isLast: true)
        }
        let task = Task { await self.produce(number + 1, heard) }
        production = (number + 1, task)
        let turn = await task.value
        production = nil
        // The one that may be playing now, and the one before.
        turns[turn.number] = turn
        turns[turn.number - 2] = nil
        return turn
    }

    /// The WAV of one of the last two turns.
    public func audio(of number: Int) -> [UInt8]? { turns[number]?.audio }

    private func produce(_ number: Int, _ heard: Heard) async -> Turn {
        watchdog?.cancel()
        var latency = TurnLatency(
            endOfTurnMs: Self.endSilenceMs, speechToTextMs: 0, languageModelMs: 0, textToSpeechMs: 0, queueingMs: 0)
        if number == 1 {
            services = Task { [stages = cascade.stages()] in
                do { try await stages.run() } catch is CancellationError {} catch { self.failed("\(error)") }
            }
            await perform(machine.mediaStarted(at: clock), &latency)
        } else {
            await spokenIsHeard(&latency)
            if Self.milliseconds(since: startedAt) > conversation.maxDurationMs {
                await perform(machine.timeIsUp(at: clock), &latency)
            } else if ending == nil {
                await takeResults(&latency)
                await take(heard, &latency)
            }
        }
        await awaitTools(&latency)
        let frames = await synthesize(&latency)
        if number > 1, heard != .silence, !frames.isEmpty {
            latency.turn = entries.count  // where this turn will stand once it has been heard
            latencies.append(latency)
        }
        var samples: [Int16] = []
        var encoded: [EncodedFrame] = []
        let start = clock
        for frame in frames {
            frame.withSamples { samples += $0 }
            spokenChain.process(frame, into: &encoded)
        }
        for frame in encoded {
            recording?.ai(frame, startMs: clock)
            clock += EncodedFrame.milliseconds
        }
        recording?.flush(now: clock)
        if !pending.isEmpty { spoken = (pending.joined(separator: " "), machine.turn, start, clock, .now) }
        pending = []
        let isLast = ending != nil || machine.isClosing || isOver
        let playMs = clock - start
        watch(Double(playMs) / 1_000 + (isLast ? 1 : Double(Self.recordingLimit) + Self.absenceLimit), isLast: isLast)
        return Turn(
            number: number, audio: samples.isEmpty ? [] : WaveFile(sampleRate: 8_000, samples: samples).bytes,
            isLast: isLast)
    }

    /// A request for the next turn means that the last one has been heard to its end. A caller who hung up has heard as
    /// much as there was time for.
    private func spokenIsHeard(_ latency: inout TurnLatency, isCutOff: Bool = false) async {
        guard let spoken else { return }
        self.spoken = nil
        var entry = TranscriptEntry(startMs: spoken.startMs, endMs: spoken.endMs, speaker: .ai, text: spoken.text)
        let heardMs = Self.milliseconds(since: spoken.at)
        if isCutOff, heardMs < spoken.endMs - spoken.startMs {
            entry.heardText = HeardLedger.cut(spoken.text, to: Double(heardMs) / Double(spoken.endMs - spoken.startMs))
            entry.endMs = spoken.startMs + heardMs
            entry.isInterrupted = true
        }
        append(entry)
        let heard = entry.heardText ?? entry.text
        await perform(
            machine.turnHeard(heard, turn: spoken.turn, isInterrupted: entry.isInterrupted, at: clock), &latency)
    }

    private func take(_ heard: Heard, _ latency: inout TurnLatency) async {
        switch heard {
        case .silence:
            clock += Self.endSilenceMs
            guard !machine.tools.isWorking else { return }
            await perform(machine.tick(at: clock + conversation.policy.silencePromptMs), &latency)
        case .keys(let keys):
            for key in keys.prefix(32) { await perform(machine.key(key, at: clock), &latency) }
            // No more will follow: a number is complete.
            if machine.isEnteringKeys { await perform(machine.key("#", at: clock), &latency) }
        case .speech(let file):
            await listen(to: file, &latency)
        }
    }

    /// What tools have given while our last turn was heard.
    private func takeResults(_ latency: inout TurnLatency) async {
        while let (number, result) = await tools.next(withinMs: 0) {
            tools.took(number, result)
            await perform(machine.toolFinished(number, result, isHeldBack: true, at: clock), &latency)
        }
    }

    /// Our turn waits for tools for a while; then it says that they take longer.
    private func awaitTools(_ latency: inout TurnLatency) async {
        let began = ContinuousClock.now
        while machine.tools.isWorking, ending == nil, !isOver {
            let leftMs = TurnTools.waitMs - Self.milliseconds(since: began)
            guard leftMs > 0, let (number, result) = await tools.next(withinMs: leftMs) else { break }
            tools.took(number, result)
            await perform(machine.toolFinished(number, result, at: clock), &latency)
        }
        guard pending.isEmpty, ending == nil, !isOver else { return }
        await perform(machine.speakMeanwhile(at: clock), &latency)
    }

    private func listen(to file: WaveFile, _ latency: inout TurnLatency) async {
        let (frames, wideSound) = file.callerFrames
        var heard = HeardFrame()
        var wide = WideSound()
        var speech: [Int] = []
        var sound: [HeardFrame] = []
        let start = clock
        for (index, frame) in frames.enumerated() {
            clock += EncodedFrame.milliseconds
            recording?.caller(frame, now: clock)
            if index < wideSound.count { wide.set(wideSound[index]) }
            heard.begin(frame, wide: &wide)
            callerChain.process(&heard)
            sound.append(heard)
            if heard.activity.isSpeech { speech.append(index) }
        }
        recording?.flush(now: clock)
        guard let first = speech.first, let last = speech.last else { return await take(.silence, &latency) }
        let startMs = start + first * EncodedFrame.milliseconds
        await perform(machine.speechStarted(at: startMs), &latency)
        let began = ContinuousClock.now
        var text = ""
        if machine.conversation.canRecognizeSpeech {
            let heard = sound[
                max(0, first - Self.prefixFrames)..<min(sound.count, last + 1 + RecognizerFeed.tailFrames)]
            journal.usage.add(.speechToText, .milliseconds, heard.count * EncodedFrame.milliseconds)
            text = await recognize(heard) ?? ""
        }
        latency.speechToTextMs = Self.milliseconds(since: began)
        await perform(
            machine.speechEnded(spokenMs: (last - first + 1) * EncodedFrame.milliseconds, at: clock), &latency)
        machine.transcriptLength(entries.count)
        await perform(machine.transcript(.final(text: text, confidence: nil), at: clock), &latency)
    }

    private func recognize(_ frames: ArraySlice<HeardFrame>) async -> String? {
        var sound: [AudioFrame] = []
        for heard in frames { feed.convert(heard.frame, wide: heard.wide, into: &sound) }
        feed.forget()
        meters.speechToText.count(frames.count)
        let began = ContinuousClock.now
        let text = await turnEngines.transcript(of: sound)
        meters.speechToText.took(milliseconds: Self.milliseconds(since: began))
        return text
    }

    // MARK: Deciding

    private func perform(_ actions: [DialogueMachine.Action], _ latency: inout TurnLatency) async {
        for action in actions {
            switch action {
            case .requestModel(let conversation, let generation): await request(conversation, generation, &latency)
            case .speak(let text, _), .disclose(let text, _):
                pending.append(text)
                journal.usage.add(.textToSpeech, .characters, text.count)
            case .flushSpeech: pending = []
            case .expect(let hints): cascade.heard.offer(.expect(hints))
            case .progress(let tracker): journal.progress(tracker)
            case .customerSaid(let entry): append(entry)
            case .hangUp(let reason): ending = ending ?? reason
            case .fail(let reason): failed(reason)
            // A file cannot press keys.
            case .press: await perform(machine.pressed(false), &latency)
            // One response is awaited after the other.
            case .callTool(let call): tools.run(call, turn: entries.count)
            case .toolRefused(let call, let result): tools.refused(call, result, turn: entries.count)
            case .cancelTool(let call): tools.cancel(call.number)
            case .cancelModel, .turnComplete, .awaitSilence, .source, .warning, .transfer: break
            }
        }
    }

    private func request(_ conversation: Conversation, _ generation: Int, _ latency: inout TurnLatency) async {
        let began = ContinuousClock.now
        meters.languageModel.count()
        let events = await turnEngines.response(
            to: ModelRequest(conversation: conversation, generation: generation))
        meters.languageModel.took(milliseconds: Self.milliseconds(since: began))
        latency.languageModelMs += Self.milliseconds(since: began)
        guard let events else {
            return await perform(machine.modelFailed("no response", generation: generation, at: clock), &latency)
        }
        for event in events { await perform(machine.model(event, generation: generation, at: clock), &latency) }
        await perform(machine.modelFinished(generation: generation, at: clock), &latency)
    }

    private func synthesize(_ latency: inout TurnLatency) async -> [AudioFrame] {
        let texts = pending
        guard !texts.isEmpty, !isOver else { return [] }
        let began = ContinuousClock.now
        meters.textToSpeech.count(texts.count)
        let frames = await turnEngines.sound(of: texts, turn: machine.turn, language: call.brief.language)
        latency.textToSpeechMs = Self.milliseconds(since: began)
        meters.textToSpeech.took(milliseconds: latency.textToSpeechMs)
        if frames == nil { failed("text-to-speech: no speech") }
        return frames ?? []
    }

    private func failed(_ reason: String) {
        guard !isOver else { return }
        failure = failure ?? reason
        ending = .providerError
    }

    private static func milliseconds(since start: ContinuousClock.Instant) -> Int {
        Int(start.duration(to: .now) / .milliseconds(1))
    }

    private func append(_ entry: TranscriptEntry) {
        entries.append(entry)
        journal.transcript(entry, position: entries.count - 1)
        machine.transcriptLength(entries.count)
    }

    var reading: GraphReading? {
        let caller = callerChain.names
        return GraphReading(
            mode: "turn-based", stages: callerChain.readings + meters.readings + spokenChain.readings,
            links: LinkReading.chain(caller), edges: CallLayout.edges(cascade.edges, behind: caller))
    }

    // MARK: The end

    /// After our last turn the goodbye has time to be heard; otherwise a provider that does not come back has lost the
    /// call.
    private func watch(_ seconds: Double, isLast: Bool) {
        watchdog?.cancel()
        watchdog = Task {
            try? await Task.sleep(for: .seconds(seconds))
            if !Task.isCancelled { await self.finish(isLast ? nil : .mediaTimeout) }
        }
    }

    /// Nothing tells when the machine has finished: the call is ended.
    func answeringMachine() async { await hangUp(.voicemail) }

    // Our turn is a file that the carrier plays: nothing can be put in, and no person can join.
    func say(_ text: String) -> Bool { false }
    func transfer(to choice: TransferChoice, mode: CallSettings.TransferMode?) -> Bool { false }
    func takeOver(_ person: StreamedPerson) -> Bool { false }
    func listen(_ listener: CallListener) -> Bool { false }
    func stopListening(_ id: CallListener.ID) {}

    public func hangUp(_ reason: EndReason) async {
        await finish(ending == nil && !machine.isClosing ? reason : nil)
        // Who left needs no hanging up.
        if reason != .calleeHangup { await release?() }
    }

    /// - Parameter reason: nil: as the dialogue wants it.
    private func finish(_ reason: EndReason?) async {
        guard !isOver else { return }
        isOver = true
        watchdog?.cancel()
        var latency = TurnLatency(
            endOfTurnMs: 0, speechToTextMs: 0, languageModelMs: 0, textToSpeechMs: 0, queueingMs: 0)
        await spokenIsHeard(&latency, isCutOff: true)
        machine.stop()
        tools.stop()
        cascade.finish()
        services?.cancel()
        var tracker = machine.conversation.tracker
        tracker.close()
        let outcome = Outcome(
            endReason: reason ?? ending ?? .taskCompleted, tracker: tracker, answeredBy: machine.answeredBy,
            transcript: entries,
            latencies: latencies,
            interruptions: 0, failure: failure, graph: reading)
        if let recording { await withCheckedContinuation { done in recording.finish(now: clock) { done.resume() } } }
        journal.conversationEnded(outcome, reason: outcome.endReason)
        onEnd()
    }
}
