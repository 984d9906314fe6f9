internal import Foundation

/// Decides how a conversation with a speech model goes on. Events in, actions out; it waits for nothing and reads no
/// clock. The model answers the caller by itself; the machine asks for everything else that is to be said (greeting,
/// prompts, goodbye), holds back or replaces responses, and ends the call.
///
/// `CallFlow` holds the states that all conversations share. There are four more states, whose cases carry their data
/// and deadlines:
///
///     session   opening ⇄ ready          response  none ─▶ awaited ─▶ active ─▶ none
///     greeting  due ─▶ begun ─▶ heard    held      no ⇄ undecided
public struct RealtimeMachine: Sendable {
    public enum Action: Sendable, Equatable {
        /// Ask for a response; instructions hold for it alone.
        case respond(String?)
        case cancelResponse
        /// Tell the model a fact.
        case note(String)
        case commitTurn
        case finishTool(callID: String, output: String)
        /// Carry a tool of the agent's out; `toolFinished` tells its result.
        case callTool(ToolCall)
        /// This call of a tool is not carried out.
        case toolRefused(ToolCall, ToolResult)
        /// The result of this call is not awaited any more.
        case cancelTool(ToolCall)
        /// Keys for a voice menu; the tool's output says whether the line took them.
        case press(String, callID: String)
        /// The caller's turn is over: time runs until our first sound.
        case answerAwaited
        /// Drop the sound of an incomplete frame: its response is not needed any more.
        case flushSound
        /// Silence now, everywhere.
        case flushSpeech
        /// The response's sound waits for `releaseSpeech` or `dropSpeech`.
        case holdSpeech
        /// Speak the sound that waited, in place of our current speech or after it.
        case releaseSpeech(interrupting: Bool)
        case dropSpeech
        /// The response has no more sound. `isTurnOver`: our turn has none either.
        case speechEnded(turn: Int32, isTurnOver: Bool)
        case append(TranscriptEntry)
        case progress(TaskTracker)
        case warning(String)
        /// The session does not answer: open another one.
        case restartSession(String)
        case transfer
        case hangUp(EndReason)
        /// The model cannot go on.
        case fail(String)
    }

    /// The state of the call at an event.
    public struct Moment: Sendable {
        /// Milliseconds since the answer.
        public var now: Int
        /// Our speech is being played, or waits to be.
        public var isSpeaking: Bool
        /// Entries of the transcript.
        public var transcriptCount: Int
        public init(now: Int, isSpeaking: Bool, transcriptCount: Int) {
            self.now = now
            self.isSpeaking = isSpeaking
            self.transcriptCount = transcriptCount
        }
    }

    enum Session: Equatable, Sendable {
        /// It is being opened. `owesAnswer`: an answer to the caller, or our greeting, was lost with the session
        /// before.
        case opening(owesAnswer: Bool)
        case ready
    }

    enum Greeting: Equatable, Sendable {
        /// It waits for media and a session.
        case due
        /// It has been asked for, or the caller speaks first.
        case begun
        /// A turn of ours has been heard to its end.
        case heard
    }

    enum Response: Equatable, Sendable {
        case none
        /// The response must begin by then.
        case awaited(deadline: Int)
        case active(Active)

        struct Active: Equatable, Sendable {
            /// The time of the session's last event.
            var lastSign: Int
            var hasSound = false
            /// Calls of the dialogue's own tools.
            var toolCalls = 0
            /// It goes on with a turn that has been counted against `max_turns`.
            var isFree = false
            /// The model has ended the call in this response.
            var hasClosed = false
            /// The model's report says that the call is over.
            var endsCall = false
        }
    }

    /// What a response was asked for.
    enum Ordered: Equatable, Sendable {
        case plain
        /// It goes on with a turn that has been counted.
        case free
        /// It asks the caller about a tool.
        case question
    }

    /// A response that came while we were speaking. It waits until we know whether the caller's sound interrupts us.
    enum Held: Equatable, Sendable {
        case no
        case undecided(deadline: Int, isComplete: Bool)
    }

    let brief: Brief
    let policy: ConversationPolicy
    let name: String
    public internal(set) var flow: CallFlow
    public internal(set) var tracker: TaskTracker
    /// Our turns, counted from 1.
    public internal(set) var turn: Int32

    var session = Session.opening(owesAnswer: false)
    var greeting = Greeting.due
    var response = Response.none
    var held = Held.no
    /// The response of this turn had sound.
    var turnHasSound = false
    /// Responses in a row that failed.
    var failures = 0
    var turnsSpoken = 0
    var isCallerSpeaking = false
    /// The agent's tools and their calls.
    public internal(set) var tools: ToolLedger
    /// Calls of the agent's tools in the response; they are settled together.
    var toolRequests: [ToolLedger.Request] = []
    /// The session's model waits for its tools, and goes on by itself when it has their results.
    var goesOnAfterTools = false
    /// Such a model has got results: its next response is about them.
    var awaitsToolResponse = false
    /// Counts the sessions: a result reaches another session than the one that called as a note.
    var sessionNumber = 0
    /// The next response that was asked for is of this kind.
    var ordered = Ordered.plain
    /// When the caller began to speak, by our own detector; and of the turns that have no words yet.
    var callerSince: Int?
    var turnsSince: [Int] = []
    /// The place of the caller's last words in transcript and recording.
    var lastEvidence: Answer.Evidence?

    /// - Parameters:
    ///   - name: of the model, for the operator.
    ///   - tracker: what is known already, where the conversation takes over from another way of holding it.
    ///   - turns: of ours, so far.
    ///   - tools: the agent's, with what was called before.
    public init(
        brief: Brief, policy: ConversationPolicy, name: String, tracker: TaskTracker? = nil, turns: Int32 = 0,
        tools: ToolLedger = ToolLedger()
    ) {
        turn = turns
        self.tools = tools
        self.tools.questionLost()
        self.tools.filler = nil
        self.brief = brief
        self.policy = policy
        self.name = name
        self.tracker = tracker ?? TaskTracker(questions: brief.questions)
        flow = CallFlow(policy: policy, language: brief.language)
    }

    /// Our speech may be cut off: not the disclosure, which is in our first turn, and not the goodbye.
    public var isInterruptible: Bool {
        flow.isTalking && (policy.disclosure == nil || !policy.speaksFirst || greeting == .heard)
    }
    public var isHolding: Bool { held != .no }
    public var isResponding: Bool { if case .active = response { true } else { false } }
    var isReady: Bool { session == .ready }
    var isAwaiting: Bool { if case .awaited = response { true } else { false } }
    /// A session may be replaced now.
    public func isQuiet(_ moment: Moment) -> Bool {
        response == .none && !isHolding && !isCallerSpeaking && !moment.isSpeaking
    }
    /// Whether the caller is silent, so that the caller's side need not be handled at once.
    public var isCallerQuiet: Bool { !isCallerSpeaking }

    // MARK: The session

    public mutating func mediaStarted(_ moment: Moment) -> [Action] {
        guard flow.begin() else { return [] }
        return greet(moment)
    }

    /// - Parameter goesOnAfterTools: as `SpeechSession` says.
    public mutating func sessionReady(goesOnAfterTools: Bool = false, _ moment: Moment) -> [Action] {
        let owesAnswer = session == .opening(owesAnswer: true)
        session = .ready
        sessionNumber += 1
        self.goesOnAfterTools = goesOnAfterTools
        let notes = tools.running.map { Action.note(ToolWords.working($0)) }
        guard greeting != .due else { return notes + greet(moment) }
        return notes + (owesAnswer ? ask(moment.transcriptCount == 0 ? greetingWords : nil, moment) : [])
    }

    public mutating func sessionLost(_ moment: Moment) -> [Action] {
        session = .opening(owesAnswer: response != .none || session == .opening(owesAnswer: true))
        var actions: [Action] = isHolding ? [.dropSpeech] : []
        held = .no
        actions.append(endSpeech())
        response = .none
        toolRequests = []
        awaitsToolResponse = false
        orderLost()
        return actions
    }

    private var greetingWords: String { RealtimeInstructions.greeting(brief, disclosure: policy.disclosure) }

    private mutating func greet(_ moment: Moment) -> [Action] {
        guard isReady, !flow.isWaiting, greeting == .due else { return [] }
        greeting = .begun
        return policy.speaksFirst ? ask(greetingWords, moment) : []
    }

    mutating func ask(_ instructions: String?, _ moment: Moment) -> [Action] {
        if !isResponding { response = .awaited(deadline: moment.now + policy.responseTimeoutMs) }
        return [.respond(instructions)]
    }

    /// The session has sent something.
    public mutating func signOfLife(at now: Int) {
        guard case .active(var active) = response else { return }
        active.lastSign = now
        response = .active(active)
    }

    // MARK: The caller

    /// Reported by the model's server or by our own detector.
    /// - Parameter now: where our own detector reports it.
    public mutating func callerBegan(at now: Int? = nil) {
        isCallerSpeaking = true
        if let now { callerSince = now }
        flow.callerBegan()
    }

    /// Reported by our own detector.
    /// - Parameters:
    ///   - isReported: the model's server reports it too; then only its report counts.
    ///   - isCommitted: the model waits for us to end the turn.
    public mutating func callerEnded(isReported: Bool, isCommitted: Bool, _ moment: Moment) -> [Action] {
        // The model's server may not have taken it for speech at all.
        isCallerSpeaking = false
        turnEnded()
        flow.callerEnded(at: moment.now)
        guard !flow.isLeavingMessage else { return [] }
        guard !isReported else {
            if response == .none, !moment.isSpeaking { flow.awaitCaller(at: moment.now) }
            return []
        }
        return (isCommitted ? [.commitTurn] : []) + callerStopped(moment)
    }

    /// Reported by the model's server.
    public mutating func callerStopped(_ moment: Moment) -> [Action] {
        isCallerSpeaking = false
        flow.callerAnswered()
        signOfLife(at: moment.now)
        guard !flow.isLeavingMessage, !moment.isSpeaking else { return [] }
        if !isResponding { response = .awaited(deadline: moment.now + policy.responseTimeoutMs) }
        return [.answerAwaited]
    }

    /// The transcript of a turn; it comes late.
    public mutating func callerSaid(_ text: String, startMs: Int, endMs: Int, _ moment: Moment) -> [Action] {
        signOfLife(at: moment.now)
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let talk = flow.read(text, mayBeMachine: mayBeMachine)
        var actions: [Action] = []
        if !text.isEmpty {
            lastEvidence = .init(turn: moment.transcriptCount, startMs: startMs, endMs: endMs)
            actions.append(
                .append(TranscriptEntry(startMs: startMs, endMs: endMs, speaker: .customer, text: text)))
        }
        if talk == .machine { return actions + answeringMachine(moment) }
        if !text.isEmpty { actions += consented(to: text, moment) }
        guard isHolding else { return actions }
        let isBackchannel = text.isEmpty || Backchannel.isOne(text, language: brief.language)
        return actions + (isBackchannel ? drop() : release(interrupting: true))
    }

    /// No question has been answered yet.
    private var mayBeMachine: Bool {
        !flow.isClosing && !flow.isLeavingMessage && !tracker.answers.contains { $0.status == .answered }
    }

    public mutating func key(_ digit: Character, _ moment: Moment) -> [Action] {
        flow.keyPressed()
        let entry = TranscriptEntry(startMs: moment.now, endMs: moment.now, speaker: .customer, text: "[\(digit)]")
        let pressed: [Action] = [.append(entry)] + interrupted()
        let note = Action.note("[The caller pressed the key \(digit).]")
        let answer = ToolLedger.answer(inKeys: String(digit), language: brief.language)
        if let taken = consented(answer, since: moment.now, moment) { return pressed + [.flushSpeech, note] + taken }
        return pressed + [.flushSpeech, note] + ask(nil, moment)
    }

    /// The caller took the turn.
    public mutating func interrupted() -> [Action] {
        var actions = isHolding ? drop() : []
        // The rest of such a response is about the results of tools that still work.
        let goesOn = goesOnAfterTools && tools.isBusy
        if isResponding, !goesOn, !actions.contains(.cancelResponse) { actions.append(.cancelResponse) }
        orderLost()
        return actions + [.flushSound]
    }

    // MARK: Deadlines

    /// Once a tick.
    /// - Parameter isPaused: the model's connection is not read, for enough of its speech waits to be spoken.
    public mutating func tick(_ moment: Moment, isPaused: Bool = false) -> [Action] {
        if isPaused { signOfLife(at: moment.now) }
        var actions: [Action] = []
        if case .undecided(let deadline, _) = held {
            if !moment.isSpeaking {
                actions += release(interrupting: false)
            } else if moment.now >= deadline {
                actions += drop()
            }
        }
        actions += watch(moment)
        actions += attendTools(moment)
        switch flow.due(at: moment.now, isQuiet: !isCallerSpeaking && !moment.isSpeaking) {
        case .nothing: break
        case .hangUp(let reason): actions += hangUp(reason)
        case .transfer: actions += transfer()
        case .leaveMessage(let text):
            guard isReady else { break }
            flow.messageBegan(at: moment.now)
            actions += ask(RealtimeInstructions.say(text), moment)
        case .silence: actions += prompt(moment)
        }
        return actions
    }

    /// A response that does not come, or stops.
    private mutating func watch(_ moment: Moment) -> [Action] {
        guard isReady else { return [] }
        switch response {
        case .none: return []
        case .awaited(let deadline): guard moment.now >= deadline else { return [] }
        case .active(let active):
            // A model that waits for its tools is silent meanwhile.
            if goesOnAfterTools, tools.isBusy { return [] }
            guard moment.now > active.lastSign + policy.responseTimeoutMs else { return [] }
        }
        let reason = "no response within \(policy.responseTimeoutMs) ms"
        return [
            .warning("\(name): a response did not come within \(policy.responseTimeoutMs) ms"), .restartSession(reason),
        ]
    }

    private mutating func prompt(_ moment: Moment) -> [Action] {
        guard !isSilenceOfTool() else { return [] }
        if tracker.isCompleted, !tracker.questions.isEmpty { return hangUp(.taskCompleted) }
        return flow.prompt() ? ask(RealtimeInstructions.silence, moment) : beginClosing(.silence, moment)
    }
}
