// Over 400 lines: one state machine: each event needs all of its state.
internal import Foundation
internal import Pipeline

/// Decides how a conversation goes on. Events in, actions out; it waits for nothing and reads no clock: every event
/// carries the call's time in milliseconds since the answer.
public struct DialogueMachine: Sendable {
    public enum Action: Sendable, Equatable {
        /// Ask the model for a response; its events come back with this number.
        case requestModel(Conversation, generation: Int)
        case cancelModel
        case speak(text: String, turn: Int32)
        /// The same, but the caller cannot cut it off.
        case disclose(text: String, turn: Int32)
        /// Our turn draws on this piece of knowledge.
        case source(String, turn: Int32)
        /// So long a silence ends the caller's turn that is in progress, ms.
        case awaitSilence(ms: Int)
        /// Our turn has no more sentences.
        case turnComplete(turn: Int32)
        /// Barge-in: silence now, everywhere.
        case flushSpeech
        case expect(AnswerHints)
        case progress(TaskTracker)
        case customerSaid(TranscriptEntry)
        /// Keys for a voice menu.
        case press(String)
        /// The caller has been told, and is to be handed to an operator.
        case transfer
        case hangUp(EndReason)
    }

    public private(set) var conversation: Conversation
    public private(set) var turn: Int32 = 0
    private let policy: ConversationPolicy
    private var flow: CallFlow
    private var generation = 0
    private var isModelRunning = false
    private var modelDeadline: Int?
    private var modelHasSpoken = false
    private var splitter = SentenceSplitter()
    private var isSpeaking = false
    private var isCallerSpeaking = false
    private var callerStartedAt = 0
    private var callerSpokenMs = 0
    private var callerEndedAt = 0
    private var transcriptDeadline: Int?
    private var keys = ""
    private var keysDeadline: Int?
    private var transcriptCount = 0
    private var lastEvidence: Answer.Evidence?
    /// What the recogniser made of the turn so far.
    private var interim = ""
    private var hints: AnswerHints?
    /// A response to what the caller has said so far, kept back until it is certain that he said it.
    private var speculation: SpeculativeResponse?
    private var fillerDeadline: Int?
    private var hasFilled = false
    /// The sentences of our turn, for the case that a noise cuts them off.
    private var sentences: [String] = []
    private var isTurnWhole = false
    private var cutOff: String?
    private let silenceMs: Int

    /// Turns of the other side in which it may be taken for no person.
    private static let machineDetectionTurns = 6

    private struct SpeculativeResponse: Sendable {
        var text: String
        var events: [LanguageModelEvent] = []
        var isFinished = false
    }
    /// Events of a speculation that are kept; beyond, it is thrown away.
    private static let speculationLimit = 4_000

    /// - Parameters:
    ///   - tracker: what is known already, and
    ///   - history: what has been said, where the conversation takes over from another way of holding it.
    ///   - silenceMs: silence that ends a turn of which nothing is known.
    public init(
        brief: Brief, canRecognizeSpeech: Bool, tracker: TaskTracker? = nil, history: [ConversationItem] = [],
        policy: ConversationPolicy = ConversationPolicy(),
        silenceMs: Int = 600
    ) {
        self.conversation = Conversation(brief: brief, canRecognizeSpeech: canRecognizeSpeech)
        if let tracker { self.conversation.tracker = tracker }
        self.conversation.items = history
        self.conversation.detectsMachines = policy.detectsMachines
        self.conversation.canTransfer = policy.canTransfer
        self.policy = policy
        flow = CallFlow(policy: policy, language: brief.language)
        self.silenceMs = silenceMs
    }

    public var answeredBy: AnsweredBy { flow.answeredBy }
    /// Our speech may be cut: not during the goodbye.
    public var isInterruptible: Bool { flow.isTalking || flow.isLeavingMessage }
    public var isEnded: Bool { flow.isEnded }
    public var isClosing: Bool { flow.isClosing }
    /// The conversation goes on, whatever it is about.
    private var isOpen: Bool { flow.isTalking || flow.isLeavingMessage || flow.isAnnouncingTransfer }

    // MARK: Events

    /// Media flows: the greeting starts.
    public mutating func mediaStarted(at now: Int) -> [Action] {
        guard flow.begin() else { return [] }
        let isFirst = conversation.items.isEmpty
        conversation.items.append(isFirst ? .connected : .takenOver)
        if isFirst, !policy.speaksFirst {
            flow.awaitCaller(at: now)
            return []
        }
        var actions = requestModel(at: now)
        if isFirst, let disclosure = policy.disclosure {
            isSpeaking = true
            hasFilled = true
            actions.append(.disclose(text: disclosure, turn: turn))
        }
        return actions
    }

    public mutating func speechStarted(at now: Int) -> [Action] {
        guard isOpen || isClosing else { return [] }
        isCallerSpeaking = true
        flow.callerBegan()
        interim = ""
        callerStartedAt = now
        transcriptDeadline = nil
        return []
    }

    /// The barge-in stage says the caller means it.
    public mutating func interrupted(at now: Int) -> [Action] {
        guard isInterruptible, isSpeaking || isModelRunning else { return [] }
        var actions: [Action] = []
        isTurnWhole = isTurnWhole && !isModelRunning
        if isModelRunning {
            generation += 1
            isModelRunning = false
            speculation = nil
            actions.append(.cancelModel)
        }
        splitter.flush()
        if isSpeaking {
            isSpeaking = false
            actions.append(.flushSpeech)
        }
        return actions
    }

    /// `spokenMs` from first to last speech; the turn is decided at `now`.
    public mutating func speechEnded(spokenMs: Int, at now: Int) -> [Action] {
        guard isCallerSpeaking else { return [] }
        isCallerSpeaking = false
        flow.callerEnded(at: now)
        callerSpokenMs = spokenMs
        callerEndedAt = callerStartedAt + spokenMs
        guard isOpen else { return [] }
        transcriptDeadline = now + policy.transcriptTimeoutMs
        return []
    }

    public mutating func transcript(_ event: TranscriptEvent, at now: Int) -> [Action] {
        guard isOpen else { return [] }
        switch event {
        case .interim(let text), .pause(let text):
            guard isCallerSpeaking || transcriptDeadline != nil else { return [] }
            interim = text
            var actions = dropSpeculation(unless: text)
            let language = conversation.brief.language
            if isCallerSpeaking {
                actions.append(
                    .awaitSilence(
                        ms: policy.endOfTurn.waitMs(text, expecting: hints, language: language, silenceMs: silenceMs)))
            }
            if case .pause = event { actions += speculate(at: now) }
            return actions
        case .final(let text, _):
            guard transcriptDeadline != nil else { return [] }
            transcriptDeadline = nil
            return callerTurn(text, at: now)
        }
    }

    /// The caller makes a pause; his turn may be over.
    public mutating func paused(at now: Int) -> [Action] { isCallerSpeaking ? speculate(at: now) : [] }

    /// Words of the caller so far; nil where none are known.
    public var callerWords: Int? {
        guard isCallerSpeaking, !interim.isEmpty else { return nil }
        return Backchannel.isOne(interim, language: conversation.brief.language)
            ? 0 : interim.split(separator: " ").count
    }

    // MARK: Guessing

    /// Asks the model for its answer to what is known of the turn, before it is known that this is all.
    private mutating func speculate(at now: Int) -> [Action] {
        guard policy.speculates, isOpen, !flow.isLeavingMessage, speculation == nil, !isModelRunning, !isSpeaking,
            !interim.isEmpty, keys.isEmpty
        else { return [] }
        switch EndOfTurnPolicy.ending(of: interim, expecting: hints, language: conversation.brief.language) {
        case .dangling, .dictation: return []
        case .finished, .open: break
        }
        var supposed = conversation
        supposed.items.append(.caller(interim))
        generation += 1
        isModelRunning = true
        modelDeadline = nil
        speculation = SpeculativeResponse(text: interim)
        return [.requestModel(supposed, generation: generation)]
    }

    private mutating func dropSpeculation(unless text: String? = nil) -> [Action] {
        guard let speculation, text.map({ Self.plain($0) != Self.plain(speculation.text) }) ?? true else { return [] }
        self.speculation = nil
        generation += 1
        isModelRunning = false
        return [.cancelModel]
    }

    /// It was all: what the model has said to it counts.
    private mutating func takeSpeculation(_ speculation: SpeculativeResponse, at now: Int) -> [Action] {
        self.speculation = nil
        isModelRunning = true
        beginTurn(at: now)
        var actions: [Action] = []
        for event in speculation.events { actions += model(event, generation: generation, at: now) }
        if speculation.isFinished { actions += modelFinished(generation: generation, at: now) }
        return actions
    }

    /// Texts that differ in nothing one can hear.
    private static func plain(_ text: String) -> String { text.lowercased().filter { $0.isLetter || $0.isNumber } }

    private mutating func callerTurn(_ text: String, at now: Int) -> [Action] {
        if flow.isLeavingMessage {
            guard !text.isEmpty else { return [] }
            return [
                .customerSaid(
                    TranscriptEntry(
                        startMs: callerStartedAt, endMs: max(callerEndedAt, callerStartedAt), speaker: .customer,
                        text: text))
            ]
        }
        // A noise stopped us: what we had not said is said now.
        if text.isEmpty, let rest = cutOff, !isModelRunning, !isSpeaking { return sayAgain(rest, at: now) }
        if text.isEmpty, callerSpokenMs < policy.noiseMs {
            // A cough: go on as if nothing had been; if it cost our sentence, the silence prompt says it again.
            if !isSpeaking, !isModelRunning { flow.awaitCaller(at: now, shortened: 3) }
            return []
        }
        // A sound that did not stop us, and that is no word, leaves our sentence alone; a word takes the turn.
        if isSpeaking, text.isEmpty { return [] }
        if isSpeaking, Backchannel.isOne(text, language: conversation.brief.language) {
            return [
                .customerSaid(
                    TranscriptEntry(
                        startMs: callerStartedAt, endMs: max(callerEndedAt, callerStartedAt), speaker: .customer,
                        text: text))
            ]
        }
        cutOff = nil
        var actions = isSpeaking ? interrupted(at: now) : []
        let entry = TranscriptEntry(
            startMs: callerStartedAt, endMs: max(callerEndedAt, callerStartedAt), speaker: .customer, text: text)
        let talk = flow.read(text, mayBeMachine: mayBeMachine)
        if talk == .machine {
            actions += dropSpeculation()
            return actions + [.customerSaid(entry)] + answeringMachine(at: now)
        }
        if let talk { return actions + dropSpeculation() + [.customerSaid(entry)] + answer(talk, text, at: now) }
        lastEvidence = .init(turn: transcriptCount, startMs: entry.startMs, endMs: entry.endMs)
        conversation.items.append(.caller(text))
        if let speculation, Self.plain(speculation.text) == Self.plain(text) {
            return actions + [.customerSaid(entry)] + takeSpeculation(speculation, at: now)
        }
        actions += dropSpeculation()
        return actions + [.customerSaid(entry)] + requestModel(at: now)
    }

    /// Nobody has answered a question yet.
    private var mayBeMachine: Bool {
        conversation.callerTurns < Self.machineDetectionTurns
            && !conversation.tracker.answers.contains { $0.status == .answered }
    }

    /// A voice that is no person's.
    private mutating func answer(_ talk: AnsweringMachineDetection, _ text: String, at now: Int) -> [Action] {
        switch talk {
        case .machine: return []
        case .screening: conversation.items += [.caller(text), .screened]
        case .hold:
            flow.awaitCaller(at: now)
            conversation.items.append(.caller(text))
            return []
        case .menu: conversation.items += [.caller(text), .menu]
        }
        return requestModel(at: now)
    }

    private mutating func sayAgain(_ rest: String, at now: Int) -> [Action] {
        cutOff = nil
        turn += 1
        isSpeaking = true
        isTurnWhole = true
        var all: [String] = []
        splitter.process(rest + " ", into: &all)
        splitter.finish(into: &all)
        sentences = all
        return all.map { .speak(text: $0, turn: turn) } + [.turnComplete(turn: turn)]
    }

    /// Where the next transcript entry will stand; told by whoever keeps the transcript.
    public mutating func transcriptLength(_ count: Int) { transcriptCount = count }

    public mutating func monologue(at now: Int) -> [Action] {
        guard isOpen, !flow.isLeavingMessage, conversation.callerTurns == 0, policy.detectsMachines else {
            return []
        }
        switch AnsweringMachineDetection.read(interim, language: conversation.brief.language) {
        case .machine: return answeringMachine(at: now)
        case .screening, .hold, .menu: return []
        case nil: break
        }
        conversation.items.append(.monologue)
        return requestModel(at: now)
    }

    /// An answering machine has the line: it is left a message, or the call is over.
    public mutating func answeringMachine(at now: Int) -> [Action] {
        guard let leavesMessage = flow.foundMachine(isSpeaking: isCallerSpeaking, at: now) else { return [] }
        guard leavesMessage else { return end(.voicemail) }
        transcriptDeadline = nil
        modelDeadline = nil
        fillerDeadline = nil
        return interrupted(at: now)
    }

    public mutating func key(_ digit: Character, at now: Int) -> [Action] {
        guard isOpen, !flow.isLeavingMessage else { return [] }
        var actions = interrupted(at: now)
        flow.keyPressed()
        let wantsMany = conversation.tracker.current.map { QuestionReading($0).kind == .number } ?? false
        if wantsMany, digit != "#", keys.count < 20 {
            if keys.isEmpty { callerStartedAt = now }
            keys.append(digit)
            keysDeadline = now + policy.keyPauseMs
            return actions
        }
        if !wantsMany {
            keys = String(digit)
            callerStartedAt = now
        }
        actions += keysComplete(at: now)
        return actions
    }

    private mutating func keysComplete(at now: Int) -> [Action] {
        keysDeadline = nil
        guard !keys.isEmpty else { return [] }
        let pressed = keys
        keys = ""
        let entry = TranscriptEntry(startMs: callerStartedAt, endMs: now, speaker: .customer, text: "[\(pressed)]")
        lastEvidence = .init(turn: transcriptCount, startMs: entry.startMs, endMs: entry.endMs)
        conversation.items.append(.keys(pressed))
        return [.customerSaid(entry)] + requestModel(at: now)
    }

    private mutating func requestModel(at now: Int) -> [Action] {
        var actions: [Action] = []
        if isModelRunning { actions.append(.cancelModel) }
        speculation = nil
        generation += 1
        isModelRunning = true
        beginTurn(at: now)
        actions.append(.requestModel(conversation, generation: generation))
        return actions
    }

    private mutating func beginTurn(at now: Int) {
        modelHasSpoken = false
        hasFilled = false
        modelDeadline = now + policy.modelTimeoutMs
        fillerDeadline = policy.fillerMs > 0 && conversation.callerTurns > 0 ? now + policy.fillerMs : nil
        flow.cancelSilence()
        splitter.flush()
        sentences = []
        isTurnWhole = false
        cutOff = nil
        turn += 1
    }

    public mutating func model(_ event: LanguageModelEvent, generation: Int, at now: Int) -> [Action] {
        guard generation == self.generation, isModelRunning, !flow.isEnded else { return [] }
        if speculation != nil {
            speculation?.events.append(event)
            return speculation.map { $0.events.count > Self.speculationLimit } == true ? dropSpeculation() : []
        }
        switch event {
        case .text(let delta):
            var sentences: [String] = []
            splitter.process(delta, into: &sentences)
            return speak(sentences)
        case .toolCall(DialogueTool.reportTaskState, let arguments):
            let changed = conversation.tracker.apply(json: arguments)
            if let lastEvidence { conversation.tracker.attach(lastEvidence, to: changed) }
            var actions: [Action] = [.progress(conversation.tracker)]
            if let question = conversation.tracker.current {
                let hints = AnswerHints(kind: QuestionReading(question).kind, choices: question.choices)
                self.hints = hints
                actions.append(.expect(hints))
            }
            return actions
        case .toolCall(DialogueTool.endCall, let arguments):
            let request = try? JSONDecoder().decode(DialogueTool.EndCall.self, from: Data(arguments.utf8))
            let reason = request.flatMap { EndReason(rawValue: $0.reason) } ?? .taskCompleted
            if reason == .voicemail, policy.voicemailMessage != nil { return answeringMachine(at: now) }
            flow.close(reason, at: now)
            return []
        case .toolCall(DialogueTool.transferToOperator, _) where policy.canTransfer:
            _ = flow.announceTransfer(at: now)
            return []
        case .toolCall(DialogueTool.sendDTMF, let arguments):
            return DialogueTool.SendDTMF.keys(in: arguments).map { [.press($0)] } ?? []
        case .toolCall: return []  // not on this call's list of tools
        case .source(let title): return [.source(title, turn: turn)]
        }
    }

    private mutating func speak(_ sentences: [String]) -> [Action] {
        guard !sentences.isEmpty else { return [] }
        modelDeadline = nil
        fillerDeadline = nil
        modelHasSpoken = true
        isSpeaking = true
        self.sentences += sentences
        return sentences.map { .speak(text: $0, turn: turn) }
    }

    public mutating func modelFinished(generation: Int, at now: Int) -> [Action] {
        guard generation == self.generation, isModelRunning else { return [] }
        if speculation != nil {
            speculation?.isFinished = true
            return []
        }
        isModelRunning = false
        modelDeadline = nil
        fillerDeadline = nil
        var sentences: [String] = []
        splitter.finish(into: &sentences)
        var actions = speak(sentences)
        if Int(turn) >= conversation.brief.maxTurns { flow.close(.maxTurns, at: now) }
        if flow.isAnnouncingTransfer, !modelHasSpoken { actions += speak([putThrough]) }
        if modelHasSpoken || hasFilled {
            isTurnWhole = true
            actions.append(.turnComplete(turn: turn))
        } else if let reason = flow.closing {
            actions += end(reason)
        } else {
            flow.awaitCaller(at: now)
        }
        return actions
    }

    /// The response with this number is a speculation: that it failed does no harm.
    public func isSpeculative(generation: Int) -> Bool { generation == self.generation && speculation != nil }

    /// The response with this number is still wanted.
    public func isCurrent(generation: Int) -> Bool { generation == self.generation && !flow.isEnded }

    public mutating func modelFailed(generation: Int, at now: Int) -> [Action] {
        guard generation == self.generation, !flow.isEnded else { return [] }
        if speculation != nil { return dropSpeculation() }
        isModelRunning = false
        return end(.providerError)
    }

    /// Everything we said of this turn has been heard, or the rest of it was dropped.
    public mutating func turnHeard(_ heard: String, turn: Int32, isInterrupted: Bool, at now: Int) -> [Action] {
        conversation.items.append(.assistant(heard: heard, isInterrupted: isInterrupted))
        if isInterrupted, turn == self.turn, isTurnWhole {
            cutOff = Self.rest(of: sentences.joined(separator: " "), after: heard)
        }
        guard !isInterrupted, turn == self.turn else { return [] }
        isSpeaking = false
        if let reason = flow.closing, !isModelRunning { return end(reason) }
        if flow.isAnnouncingTransfer, !isModelRunning { return transfer() }
        if isOpen, !isCallerSpeaking, transcriptDeadline == nil, !isModelRunning { flow.awaitCaller(at: now) }
        return []
    }

    // MARK: Handing over

    private var putThrough: String { PolicyTexts.of(conversation.brief.language)("putting_through") }

    /// An operator wants the caller handed over.
    public mutating func transferRequested(at now: Int) -> [Action] {
        guard flow.isTalking else { return [] }
        let actions = say(putThrough, at: now)
        _ = flow.announceTransfer(at: now)
        return actions
    }

    private mutating func transfer() -> [Action] {
        transcriptDeadline = nil
        fillerDeadline = nil
        isCallerSpeaking = false
        flow.transferBegan()
        return [.transfer]
    }

    /// Nobody took the caller: he is ours again.
    public mutating func transferFailed(at now: Int) -> [Action] {
        guard flow.transferFailed() else { return [] }
        isSpeaking = false
        conversation.items.append(.transferFailed)
        return requestModel(at: now)
    }

    /// What follows the heard part, from the begin of a word.
    private static func rest(of text: String, after heard: String) -> String? {
        var start = text.index(text.startIndex, offsetBy: heard.count, limitedBy: text.endIndex) ?? text.endIndex
        while start > text.startIndex, start < text.endIndex, !text[start].isWhitespace,
            !text[text.index(before: start)].isWhitespace
        {
            start = text.index(before: start)
        }
        let rest = text[start...].trimmingCharacters(in: .whitespaces)
        return rest.isEmpty ? nil : rest
    }

    /// An operator wants this said, now: it takes the place of what we were saying.
    public mutating func say(_ text: String, at now: Int) -> [Action] {
        guard isOpen else { return [] }
        var actions = interrupted(at: now)
        beginTurn(at: now)
        modelDeadline = nil
        fillerDeadline = nil
        isTurnWhole = true
        var sentences: [String] = []
        splitter.process(text, into: &sentences)
        splitter.finish(into: &sentences)
        actions += speak(sentences)
        return actions + [.turnComplete(turn: turn)]
    }

    /// The longest duration is reached: a polite close.
    public mutating func timeIsUp(at now: Int) -> [Action] {
        // Nobody is to be said goodbye to.
        guard flow.isTalking else { return flow.isWaiting || flow.isLeavingMessage ? end(.maxDuration) : [] }
        conversation.items.append(.timeIsUp)
        var actions: [Action] = isSpeaking ? [.flushSpeech] : []
        isSpeaking = false
        actions += requestModel(at: now)
        flow.close(.maxDuration, at: now)
        return actions
    }

    /// Once a tick: deadlines.
    public mutating func tick(at now: Int) -> [Action] {
        switch flow.due(at: now, isQuiet: false) {
        case .nothing, .silence: break
        case .hangUp(let reason): return end(reason)
        case .transfer: return transfer()
        case .leaveMessage(let text):
            let actions = say(text, at: now)
            flow.messageBegan(at: now)
            return actions
        }
        guard !flow.isEnded, !flow.isTransferring, !flow.isLeavingMessage else { return [] }
        if let deadline = fillerDeadline, now >= deadline, isModelRunning, speculation == nil, isOpen,
            !isCallerSpeaking
        {
            fillerDeadline = nil
            hasFilled = true
            isSpeaking = true
            return [.speak(text: PolicyTexts.of(conversation.brief.language)("one_moment"), turn: turn)]
        }
        if let deadline = modelDeadline, now >= deadline, isModelRunning {
            modelDeadline = nil
            return modelFailed(generation: generation, at: now)
        }
        if let deadline = transcriptDeadline, now >= deadline {
            transcriptDeadline = nil
            return callerTurn("", at: now)
        }
        if let deadline = keysDeadline, now >= deadline { return keysComplete(at: now) }
        guard flow.due(at: now, isQuiet: !isCallerSpeaking && !isSpeaking) == .silence else { return [] }
        conversation.items.append(.silence)
        return requestModel(at: now)
    }

    private mutating func end(_ reason: EndReason) -> [Action] {
        guard !flow.isEnded else { return [] }
        flow.end()
        return [.hangUp(reason)]
    }

    /// The far end is gone.
    public mutating func stop() { flow.end() }
}
