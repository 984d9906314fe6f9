internal import Pipeline

/// Decides how a conversation of recogniser, language model and voice goes on. Events in, actions out; it waits for
/// nothing and reads no clock: every event carries the call's time in milliseconds since the answer.
///
/// `CallFlow` holds the states that all conversations share. Three more states, whose cases carry their data and
/// deadlines, describe the caller, the language model and our turn.
///
///     caller   silent ─▶ speaking ─▶ awaitingTranscript ─▶ silent
///     model    idle ─▶ responding ─▶ idle       idle ─▶ speculating ─▶ responding, idle
///     turn     silent ─▶ speaking ─▶ silent, cutOff
public struct DialogueMachine: Sendable {
    public enum Action: Sendable, Equatable {
        /// Ask the model for a response; its events come back with this number.
        case requestModel(Conversation, generation: Int)
        case cancelModel
        /// Carry a tool out; `toolFinished` tells its result.
        case callTool(ToolCall)
        /// This call of a tool is not carried out.
        case toolRefused(ToolCall, ToolResult)
        /// The result of this call is not awaited any more.
        case cancelTool(ToolCall)
        case speak(text: String, turn: Int32)
        /// The same, but the caller cannot cut it off until `disclosureHeard`.
        case disclose(text: String, turn: Int32)
        /// Our turn uses this piece of knowledge.
        case source(String, turn: Int32)
        /// The silence that ends the caller's current turn, ms.
        case awaitSilence(ms: Int)
        /// Our turn has no more sentences.
        case turnComplete(turn: Int32)
        /// Barge-in: silence now, everywhere.
        case flushSpeech
        case expect(AnswerHints)
        case progress(TaskTracker)
        case customerSaid(TranscriptEntry)
        /// Keys for a voice menu; `pressed` tells whether the line took them.
        case press(String)
        /// A message for the operator; the call goes on.
        case warning(String)
        /// Hand the call to an operator; the caller has been told.
        case transfer
        case hangUp(EndReason)
        /// The conversation cannot go on in this mode.
        case fail(String)
    }

    /// A turn of the caller, as far as it is known.
    struct CallerTurn: Sendable, Equatable {
        /// When it began.
        let since: Int
        /// The recogniser's text of it so far.
        var words = ""
    }

    enum Caller: Sendable, Equatable {
        case silent
        case speaking(CallerTurn)
        /// The turn is over; its transcript must come by `deadline`. `spokenMs`: from its first to its last speech.
        case awaitingTranscript(CallerTurn, spokenMs: Int, deadline: Int)
    }

    /// Keys that are being entered as a number. The caller may speak meanwhile.
    struct Keying: Sendable, Equatable {
        static let limit = 20
        let since: Int
        var digits: String
        /// They are complete if no further key is pressed until then.
        var deadline: Int
    }

    enum Model: Sendable {
        case idle
        case responding(Response)
        /// It has been asked for an answer, but the caller may still go on speaking.
        case speculating(SpeculativeResponse)

        var isIdle: Bool { if case .idle = self { true } else { false } }
        var speculation: SpeculativeResponse? { if case .speculating(let response) = self { response } else { nil } }
    }

    /// A response of the model that is used.
    struct Response: Sendable {
        enum Progress: Sendable {
            /// The first word must come by `deadline`; at `fillerAt` the caller hears a filler.
            case awaited(deadline: Int, fillerAt: Int?)
            case speaking
        }
        var progress: Progress
        /// The turn has speech that does not come from the model: a disclosure, a filler.
        var hasFilled = false
        /// The model's report says that the call is over.
        var endsCall = false
        /// The model has ended the call in this response.
        var hasClosed = false
        /// Calls of the agent's tools; they are settled together when the response is complete.
        var requests: [ToolLedger.Request] = []

        var hasSpoken: Bool { if case .speaking = progress { true } else { false } }
    }

    public internal(set) var conversation: Conversation
    let policy: ConversationPolicy
    let silenceMs: Int
    var flow: CallFlow
    var caller = Caller.silent
    var keying: Keying?
    var languageModel = Model.idle
    /// The number of the last response that was asked for.
    var generation = 0
    var spokenTurn: SpokenTurn
    var transcriptCount = 0
    /// The place of the caller's last answer in transcript and recording.
    var lastEvidence: Answer.Evidence?
    /// What the next answer is likely to be about.
    var hints: AnswerHints?
    /// The agent's tools and their calls.
    public internal(set) var tools: ToolLedger

    /// - Parameters:
    ///   - tracker: what is known already, and
    ///   - history: what has been said, where the conversation takes over from another way of holding it.
    ///   - turns: of ours, so far.
    ///   - tools: the agent's, with what was called before.
    ///   - silenceMs: silence that ends a turn of which nothing is known; nil: the turn detector's default.
    public init(
        brief: Brief, canRecognizeSpeech: Bool, tracker: TaskTracker? = nil, history: [ConversationItem] = [],
        turns: Int32 = 0, tools: ToolLedger = ToolLedger(), policy: ConversationPolicy = ConversationPolicy(),
        silenceMs: Int? = nil
    ) {
        self.conversation = Conversation(brief: brief, canRecognizeSpeech: canRecognizeSpeech)
        if let tracker { self.conversation.tracker = tracker }
        self.conversation.items = history + tools.items
        self.tools = tools
        self.tools.questionLost()
        self.conversation.detectsMachines = policy.detectsMachines
        self.conversation.canTransfer = policy.canTransfer
        self.conversation.canPress = policy.canPress
        self.policy = policy
        flow = CallFlow(policy: policy, language: brief.language)
        spokenTurn = SpokenTurn(number: turns)
        if policy.fillerMs > 0 {
            self.tools.filler = (PolicyTexts.of(brief.language)("one_moment"), policy.fillerMs)
        }
        self.silenceMs = silenceMs ?? TurnDetector.Configuration().silenceMs
    }

    /// Our turns, counted from 1.
    public var turn: Int32 { spokenTurn.number }
    public var answeredBy: AnsweredBy { flow.answeredBy }
    /// Whether a sound may interrupt our speech: not the disclosure, and not the goodbye.
    public var isInterruptible: Bool { canBeStopped && !spokenTurn.isDisclosing }
    public var isEnded: Bool { flow.isEnded }
    public var isClosing: Bool { flow.isClosing }
    /// Keys of a number have been pressed, and more may follow.
    public var isEnteringKeys: Bool { keying != nil }
    var canBeStopped: Bool { flow.isTalking || flow.isLeavingMessage }
    /// Neither closing nor with a person: talking, leaving a message, or announcing the transfer.
    var isOpen: Bool { flow.isTalking || flow.isLeavingMessage || flow.isAnnouncingTransfer }
    var isCallerSpeaking: Bool { if case .speaking = caller { true } else { false } }

    // MARK: Our turns

    /// Media flows: the greeting starts.
    public mutating func mediaStarted(at now: Int) -> [Action] {
        guard flow.begin() else { return [] }
        let isFirst = conversation.items.isEmpty
        conversation.items.append(isFirst ? .connected : .takenOver)
        if isFirst, !policy.speaksFirst {
            flow.awaitCaller(at: now)
            return []
        }
        let actions = requestModel(at: now)
        guard isFirst, let disclosure = policy.disclosure else { return actions }
        spokenTurn.disclose()
        update { $0.hasFilled = true }
        return actions + [.disclose(text: disclosure, turn: turn)]
    }

    /// The disclosure has been heard to its end.
    public mutating func disclosureHeard() { spokenTurn.disclosed() }

    /// A turn of ours begins.
    mutating func beginTurn() {
        flow.cancelSilence()
        spokenTurn.begin()
    }

    func speak(_ sentences: [String]) -> [Action] { sentences.map { .speak(text: $0, turn: turn) } }

    /// The position of the next transcript entry.
    public mutating func transcriptLength(_ count: Int) { transcriptCount = count }

    /// All speech of this turn has been heard, or the rest of it was dropped.
    public mutating func turnHeard(_ heard: String, turn: Int32, isInterrupted: Bool, at now: Int) -> [Action] {
        conversation.items.append(.assistant(heard: heard, isInterrupted: isInterrupted))
        let wasQuestion = tools.questionHeard(turn: turn, isInterrupted: isInterrupted, at: now)
        guard turn == self.turn else { return [] }
        guard !isInterrupted else {
            // A question about a tool is put again as a whole.
            if !wasQuestion { spokenTurn.cut(after: heard) }
            return []
        }
        spokenTurn.silence()
        if languageModel.isIdle {
            if let reason = flow.closing { return end(reason) }
            if flow.isAnnouncingTransfer { return transfer() }
            if isOpen, caller == .silent { flow.awaitCaller(at: now) }
        }
        return []
    }

    /// Says an operator's words at once, in place of our current speech.
    public mutating func say(_ text: String, at now: Int) -> [Action] {
        guard isOpen else { return [] }
        return interrupted(at: now) + speakTurn(text)
    }

    /// A turn that needs no model.
    /// - Parameter isFree: it does not count against `max_turns`.
    mutating func speakTurn(_ text: String, isFree: Bool = false) -> [Action] {
        beginTurn()
        if isFree { tools.freeTurns += 1 }
        let sentences = spokenTurn.write(text + " ") + spokenTurn.finishWriting()
        spokenTurn.complete()
        return speak(sentences) + [.turnComplete(turn: turn)]
    }

    // MARK: Handing over

    var putThrough: String { PolicyTexts.of(conversation.brief.language)("putting_through") }

    /// An operator asks for the transfer of the call.
    public mutating func transferRequested(at now: Int) -> [Action] {
        guard flow.isTalking else { return [] }
        let actions = say(putThrough, at: now)
        _ = flow.announceTransfer(at: now)
        return actions
    }

    private mutating func transfer() -> [Action] {
        caller = .silent
        flow.transferBegan()
        return cancelModel() + [.transfer]
    }

    /// The transfer failed, as nobody answered: the conversation goes on.
    public mutating func transferFailed(at now: Int) -> [Action] {
        guard flow.transferFailed() else { return [] }
        spokenTurn.silence()
        conversation.items.append(.transferFailed)
        return requestModel(at: now)
    }

    // MARK: Answering machines

    /// The caller's first turn goes on without a pause.
    public mutating func monologue(at now: Int) -> [Action] {
        guard isOpen, !flow.isLeavingMessage, conversation.callerTurns == 0, policy.detectsMachines else { return [] }
        switch AnsweringMachineDetection.read(words ?? "", language: conversation.brief.language) {
        case .machine: return answeringMachine(at: now)
        case .screening, .hold, .menu: return []
        case nil: break
        }
        conversation.items.append(.monologue)
        return requestModel(at: now)
    }

    /// An answering machine has answered: we leave a message, or the call is over.
    public mutating func answeringMachine(at now: Int) -> [Action] {
        guard let leavesMessage = flow.foundMachine(isSpeaking: isCallerSpeaking, at: now) else { return [] }
        guard leavesMessage else { return end(.voicemail) }
        if case .awaitingTranscript = caller { caller = .silent }
        return interrupted(at: now)
    }

    // MARK: Deadlines and the end

    /// The maximum duration is reached: we end the call politely.
    public mutating func timeIsUp(at now: Int) -> [Action] {
        // No person is on the line to say goodbye to.
        guard flow.isTalking else { return flow.isWaiting || flow.isLeavingMessage ? end(.maxDuration) : [] }
        conversation.items.append(.timeIsUp)
        var actions: [Action] = spokenTurn.isSpeaking ? [.flushSpeech] : []
        spokenTurn.silence()
        actions += requestModel(at: now)
        flow.close(.maxDuration, at: now)
        return actions
    }

    /// Once a tick.
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
        if case .responding(let response) = languageModel, case .awaited(let deadline, let fillerAt) = response.progress
        {
            if let fillerAt, now >= fillerAt, isOpen, !isCallerSpeaking { return fill(deadline: deadline) }
            if now >= deadline {
                return modelFailed("no response within \(policy.modelTimeoutMs) ms", generation: generation, at: now)
            }
        }
        if case .awaitingTranscript(let turn, let spokenMs, let deadline) = caller, now >= deadline {
            return callerTurn("", turn, spokenMs: spokenMs, at: now)
        }
        if let keying, now >= keying.deadline { return keysComplete(keying, at: now) }
        let attended = attendTools(at: now)
        guard attended.isEmpty else { return attended }
        let isQuiet = !isCallerSpeaking && !spokenTurn.isSpeaking
        guard flow.due(at: now, isQuiet: isQuiet) == .silence, !isSilenceOfTool() else { return [] }
        conversation.items.append(.silence)
        return requestModel(at: now)
    }

    mutating func end(_ reason: EndReason) -> [Action] {
        guard !flow.isEnded else { return [] }
        flow.end()
        return [.hangUp(reason)]
    }

    /// The far end is gone.
    public mutating func stop() { flow.end() }
}
