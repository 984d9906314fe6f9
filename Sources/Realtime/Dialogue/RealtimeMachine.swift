// Over 400 lines: one state machine: each event needs all of its state.
internal import Foundation

/// Decides how a conversation with a speech model goes on. Events in, actions out; it waits for nothing and reads no
/// clock. The model speaks by itself; the machine asks it for what it would not say, watches over its answers, and
/// knows when the call is over.
public struct RealtimeMachine: Sendable {
    public enum Action: Sendable, Equatable {
        /// Ask for a response; instructions hold for it alone.
        case respond(String?)
        case cancelResponse
        /// Tell the model a fact.
        case note(String)
        case commitTurn
        case finishTool(callID: String, output: String)
        /// Keys for a voice menu; the tool's output says whether the line took them.
        case press(String, callID: String)
        /// The caller's turn is over: time runs until our first sound.
        case answerAwaited
        /// What did not fill a frame is of a response that nobody wants any more.
        case flushSound
        /// Silence now, everywhere.
        case flushSpeech
        /// The response's sound waits for `releaseSpeech` or `dropSpeech`.
        case holdSpeech
        /// It is spoken: in place of what we were saying, or after it.
        case releaseSpeech(interrupting: Bool)
        case dropSpeech
        /// The response has no more sound. `isTurnOver`: nor has our turn.
        case speechEnded(turn: Int32, isTurnOver: Bool)
        case append(TranscriptEntry)
        case progress(TaskTracker)
        case warning(String)
        /// The session does not answer: another one is needed.
        case restartSession(String)
        case transfer
        case hangUp(EndReason)
        /// The model cannot go on.
        case fail(String)
    }

    /// What the machine must know of the call at an event.
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

    private enum Response: Equatable, Sendable {
        case none
        /// It must begin by then.
        case awaited(deadline: Int)
        case active(Active)

        struct Active: Equatable, Sendable {
            var hasSound = false
            var toolCalls = 0
        }
    }

    /// A response that came while we were speaking: is the caller's sound worth our sentence?
    private enum Held: Equatable, Sendable {
        case no
        case undecided(deadline: Int, isComplete: Bool)
    }

    private let brief: Brief
    private let policy: ConversationPolicy
    private let canTransfer: Bool
    private let name: String
    public private(set) var flow: CallFlow
    public private(set) var tracker: TaskTracker
    /// Our turns, counted from 1.
    public private(set) var turn: Int32 = 0

    private var isReady = false
    private var hasGreeted = false
    /// A question of the caller, or our greeting, was lost with the session before.
    private var owesAnswer = false
    private var response = Response.none
    private var held = Held.no
    /// The response of this turn had sound.
    private var turnHasSound = false
    private var failures = 0
    private var turnsSpoken = 0
    private var lastSign = 0
    private var isCallerSpeaking = false
    private var hasDisclosed = false
    private var hasAnnouncedTransfer = false
    private var lastEvidence: Answer.Evidence?

    /// - Parameters:
    ///   - name: of the model, for the operator.
    ///   - tracker: what is known already, where the conversation takes over from another way of holding it.
    public init(
        brief: Brief, policy: ConversationPolicy, name: String, canTransfer: Bool, tracker: TaskTracker? = nil
    ) {
        self.brief = brief
        self.policy = policy
        self.name = name
        self.canTransfer = canTransfer
        self.tracker = tracker ?? TaskTracker(questions: brief.questions)
        flow = CallFlow(policy: policy, language: brief.language)
    }

    /// Our speech may be cut off: not the disclosure, which is in our first turn, and not the goodbye.
    public var isInterruptible: Bool {
        flow.isTalking && (policy.disclosure == nil || !policy.speaksFirst || hasDisclosed)
    }
    public var isHolding: Bool { held != .no }
    public var isResponding: Bool { if case .active = response { true } else { false } }
    private var isAwaiting: Bool { if case .awaited = response { true } else { false } }
    /// A session may be replaced now.
    public func isQuiet(_ moment: Moment) -> Bool {
        response == .none && !isHolding && !isCallerSpeaking && !moment.isSpeaking
    }
    /// Whether a caller who is silent need not be heard at once.
    public var isCallerQuiet: Bool { !isCallerSpeaking }

    // MARK: The session

    public mutating func mediaStarted(_ moment: Moment) -> [Action] {
        guard flow.begin() else { return [] }
        return greet(moment)
    }

    public mutating func sessionReady(_ moment: Moment) -> [Action] {
        isReady = true
        lastSign = moment.now
        let greeting = greet(moment)
        guard greeting.isEmpty, owesAnswer, hasGreeted else { return greeting }
        owesAnswer = false
        return ask(moment.transcriptCount == 0 ? self.greeting : nil, moment)
    }

    public mutating func sessionLost(_ moment: Moment) -> [Action] {
        isReady = false
        owesAnswer = owesAnswer || response != .none
        var actions: [Action] = isHolding ? [.dropSpeech] : []
        held = .no
        actions.append(endSpeech())
        response = .none
        return actions
    }

    private var greeting: String { RealtimeInstructions.greeting(brief, disclosure: policy.disclosure) }

    private mutating func greet(_ moment: Moment) -> [Action] {
        guard isReady, !flow.isWaiting, !hasGreeted else { return [] }
        hasGreeted = true
        owesAnswer = false
        return policy.speaksFirst ? ask(greeting, moment) : []
    }

    private mutating func ask(_ instructions: String?, _ moment: Moment) -> [Action] {
        if !isResponding { response = .awaited(deadline: moment.now + policy.responseTimeoutMs) }
        return [.respond(instructions)]
    }

    // MARK: The caller

    /// By the model's server or by our own detector.
    public mutating func callerBegan() {
        isCallerSpeaking = true
        flow.callerBegan()
    }

    /// By our own detector.
    /// - Parameters:
    ///   - isReported: the model's server tells it too, and is believed.
    ///   - isCommitted: the model waits for us to end the turn.
    public mutating func callerEnded(isReported: Bool, isCommitted: Bool, _ moment: Moment) -> [Action] {
        // The model's server may not have taken it for speech at all.
        isCallerSpeaking = false
        flow.callerEnded(at: moment.now)
        guard !flow.isLeavingMessage else { return [] }
        guard !isReported else {
            if response == .none, !moment.isSpeaking { flow.awaitCaller(at: moment.now) }
            return []
        }
        return (isCommitted ? [.commitTurn] : []) + callerStopped(moment)
    }

    /// By the model's server.
    public mutating func callerStopped(_ moment: Moment) -> [Action] {
        isCallerSpeaking = false
        flow.callerAnswered()
        lastSign = moment.now
        guard !flow.isLeavingMessage, !moment.isSpeaking else { return [] }
        if !isResponding { response = .awaited(deadline: moment.now + policy.responseTimeoutMs) }
        return [.answerAwaited]
    }

    /// The transcript of a turn; it comes late.
    public mutating func callerSaid(_ text: String, startMs: Int, endMs: Int, _ moment: Moment) -> [Action] {
        lastSign = moment.now
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let talk = flow.read(text, mayBeMachine: mayBeMachine)
        var actions: [Action] = []
        if !text.isEmpty {
            lastEvidence = .init(turn: moment.transcriptCount, startMs: startMs, endMs: endMs)
            actions.append(
                .append(TranscriptEntry(startMs: startMs, endMs: endMs, speaker: .customer, text: text)))
        }
        if talk == .machine { return actions + answeringMachine(moment) }
        guard isHolding else { return actions }
        let isBackchannel = text.isEmpty || Backchannel.isOne(text, language: brief.language)
        return actions + (isBackchannel ? drop() : release(interrupting: true))
    }

    /// Nobody has answered a question yet.
    private var mayBeMachine: Bool {
        !flow.isClosing && !flow.isLeavingMessage && !tracker.answers.contains { $0.status == .answered }
    }

    public mutating func key(_ digit: Character, _ moment: Moment) -> [Action] {
        flow.keyPressed()
        let entry = TranscriptEntry(startMs: moment.now, endMs: moment.now, speaker: .customer, text: "[\(digit)]")
        return [.append(entry)] + interrupted() + [.flushSpeech, .note("[The caller pressed the key \(digit).]")]
            + ask(nil, moment)
    }

    /// The caller took the turn.
    public mutating func interrupted() -> [Action] {
        var actions = isHolding ? drop() : []
        if isResponding, !actions.contains(.cancelResponse) { actions.append(.cancelResponse) }
        return actions + [.flushSound]
    }

    // MARK: Responses

    public mutating func responseStarted(isRequested: Bool, _ moment: Moment) -> [Action] {
        lastSign = moment.now
        let isUnwanted = flow.isTransferring || flow.isLeavingMessage
        response = .active(.init())
        turnHasSound = false
        flow.cancelSilence()
        turn += 1
        var actions: [Action] = isUnwanted ? [.cancelResponse, .flushSound] : [.flushSound]
        // The server answers a sound that did not stop us: wait for its words.
        if !isRequested, moment.isSpeaking {
            held = .undecided(deadline: moment.now + policy.decisionMs, isComplete: false)
            actions.append(.holdSpeech)
        }
        return actions
    }

    /// Sound of the response.
    /// - Returns: whether it is the first.
    public mutating func sounded(at now: Int) -> Bool {
        lastSign = now
        guard case .active(var active) = response, !active.hasSound else {
            turnHasSound = true
            return false
        }
        active.hasSound = true
        response = .active(active)
        turnHasSound = true
        turnsSpoken += 1
        return true
    }

    /// The server shows that it is alive.
    public mutating func signOfLife(at now: Int) { lastSign = now }

    /// An item of the response has been generated to its end.
    public mutating func itemFinished() {
        if case .undecided(let deadline, _) = held { held = .undecided(deadline: deadline, isComplete: true) }
    }

    public mutating func responseFinished(_ status: SpeechResponseStatus, _ moment: Moment) -> [Action] {
        lastSign = moment.now
        guard case .active(let active) = response else { return [] }
        let ended = endSpeech()
        response = .none
        switch status {
        case .cancelled: return [ended]
        case .failed(let code):
            failures += 1
            guard failures <= policy.reconnects else { return [ended, .fail("\(name): response failed: \(code)")] }
            return [ended] + ask(nil, moment)
        case .completed, .incomplete: return [ended] + completed(active, moment)
        }
    }

    private mutating func completed(_ active: Response.Active, _ moment: Moment) -> [Action] {
        failures = 0
        if flow.isAnnouncingTransfer { return announceTransfer(active, moment) }
        if flow.isClosing, !active.hasSound, !moment.isSpeaking { return end() }
        var actions: [Action] = []
        if active.toolCalls > 0, !active.hasSound {
            actions += ask(flow.isClosing ? RealtimeInstructions.goodbye : nil, moment)
        }
        if flow.isTalking, turnsSpoken >= brief.maxTurns { actions += beginClosing(.maxTurns, moment) }
        if !active.hasSound, active.toolCalls == 0, !flow.isClosing { flow.awaitCaller(at: moment.now) }
        return actions
    }

    /// What is spoken of this turn ends here, unless it waits for a decision.
    private func endSpeech() -> Action {
        .speechEnded(turn: turn, isTurnOver: turnHasSound && !isHolding)
    }

    private mutating func drop() -> [Action] {
        held = .no
        return isResponding ? [.dropSpeech, .cancelResponse] : [.dropSpeech]
    }

    private mutating func release(interrupting: Bool) -> [Action] {
        guard case .undecided(_, let isComplete) = held else { return [] }
        held = .no
        let released = Action.releaseSpeech(interrupting: interrupting)
        guard isComplete || !isResponding else { return [released] }
        return [released, .speechEnded(turn: turn, isTurnOver: turnHasSound)]
    }

    /// A turn of ours has been heard, to its end or until it was cut off.
    public mutating func turnHeard(turn: Int32, isInterrupted: Bool, _ moment: Moment) -> [Action] {
        guard !isInterrupted else { return [] }
        hasDisclosed = true
        if turn == self.turn, !isResponding {
            if flow.isClosing { return end() }
            if flow.isAnnouncingTransfer { return transfer() }
        }
        if !isResponding, !isCallerSpeaking { flow.awaitCaller(at: moment.now) }
        return []
    }

    // MARK: Tools

    public mutating func called(_ tool: String, _ arguments: String, callID: String, _ moment: Moment) -> [Action] {
        lastSign = moment.now
        if case .active(var active) = response {
            active.toolCalls += 1
            response = .active(active)
        }
        switch tool {
        case DialogueTool.reportTaskState:
            let changed = tracker.apply(json: arguments)
            if let lastEvidence { tracker.attach(lastEvidence, to: changed) }
            return [
                .progress(tracker), .finishTool(callID: callID, output: RealtimeInstructions.state(of: tracker)),
            ]
        case DialogueTool.endCall:
            let request = try? JSONDecoder().decode(DialogueTool.EndCall.self, from: Data(arguments.utf8))
            let reason = request.flatMap { EndReason(rawValue: $0.reason) } ?? .taskCompleted
            let finished = Action.finishTool(callID: callID, output: #"{"ok":true}"#)
            if reason == .voicemail, policy.voicemailMessage != nil { return [finished] + answeringMachine(moment) }
            flow.close(reason, at: moment.now)
            return [finished]
        case DialogueTool.transferToOperator where canTransfer && !flow.isClosing:
            if flow.announceTransfer(at: moment.now) { hasAnnouncedTransfer = false }
            return [.finishTool(callID: callID, output: #"{"ok":true,"status":"they are being put through"}"#)]
        case DialogueTool.sendDTMF:
            guard let keys = DialogueTool.SendDTMF.keys(in: arguments) else {
                return [.finishTool(callID: callID, output: Self.noKeys)]
            }
            return [.press(keys, callID: callID)]
        default: return [.finishTool(callID: callID, output: #"{"error":"there is no such tool"}"#)]
        }
    }

    /// What the model is told of keys it had pressed.
    public static func pressed(_ isTaken: Bool) -> String { isTaken ? #"{"ok":true}"# : noKeys }
    private static let noKeys = #"{"error":"this line takes no keys"}"#

    // MARK: Transfer

    /// The other party is told before it is handed over; where the model said nothing, it is asked to, once.
    private mutating func announceTransfer(_ active: Response.Active, _ moment: Moment) -> [Action] {
        if active.hasSound {
            hasAnnouncedTransfer = true
            return []
        }
        guard !hasAnnouncedTransfer else { return moment.isSpeaking ? [] : transfer() }
        hasAnnouncedTransfer = true
        return ask(RealtimeInstructions.puttingThrough, moment)
    }

    private mutating func transfer() -> [Action] {
        if isAwaiting { response = .none }
        flow.transferBegan()
        return [.transfer]
    }

    /// An operator wants the caller handed over.
    public mutating func transferRequested(_ moment: Moment) -> [Action] {
        guard flow.announceTransfer(at: moment.now) else { return [] }
        hasAnnouncedTransfer = true
        let actions: [Action] = isResponding ? [.flushSpeech, .cancelResponse] : [.flushSpeech]
        return actions + (isReady ? ask(RealtimeInstructions.puttingThrough, moment) : transfer())
    }

    /// Nobody took the caller, who is ours again.
    public mutating func transferFailed(_ moment: Moment) -> [Action] {
        guard flow.transferFailed() else { return [] }
        guard isReady else {
            owesAnswer = true
            return []
        }
        return [.note(RealtimeInstructions.transferFailed)] + ask(nil, moment)
    }

    // MARK: The end

    public mutating func answeringMachine(_ moment: Moment) -> [Action] {
        guard let leavesMessage = flow.foundMachine(isSpeaking: isCallerSpeaking, at: moment.now) else { return [] }
        guard leavesMessage else { return hangUp(.voicemail) }
        if isAwaiting { response = .none }
        return interrupted() + [.flushSpeech]
    }

    /// An operator's words, in place of what we were saying.
    public mutating func say(_ text: String, _ moment: Moment) -> [Action] {
        guard !flow.isClosing, !flow.isEnded, isReady else { return [] }
        return interrupted() + [.flushSpeech] + ask(RealtimeInstructions.say(text), moment)
    }

    public mutating func timeIsUp(_ moment: Moment) -> [Action] {
        guard flow.isTalking else {
            // Nobody is to be said goodbye to.
            return flow.isWaiting || flow.isLeavingMessage ? hangUp(.maxDuration) : []
        }
        return beginClosing(.maxDuration, moment)
    }

    private mutating func beginClosing(_ reason: EndReason, _ moment: Moment) -> [Action] {
        guard flow.close(reason, at: moment.now) else { return [] }
        var actions: [Action] = []
        if reason == .maxDuration {
            if isResponding { actions.append(.cancelResponse) }
            actions.append(.flushSpeech)
        }
        return actions + (isReady ? ask(RealtimeInstructions.goodbye, moment) : end())
    }

    private mutating func end() -> [Action] { hangUp(flow.closing ?? .taskCompleted) }

    private mutating func hangUp(_ reason: EndReason) -> [Action] {
        flow.end()
        return [.hangUp(reason)]
    }

    // MARK: Deadlines

    /// Once a tick.
    /// - Parameter isPaused: the model's connection is not read, for enough of its speech waits to be spoken.
    public mutating func tick(_ moment: Moment, isPaused: Bool = false) -> [Action] {
        if isPaused { lastSign = moment.now }
        var actions: [Action] = []
        if case .undecided(let deadline, _) = held {
            if !moment.isSpeaking {
                actions += release(interrupting: false)
            } else if moment.now >= deadline {
                actions += drop()
            }
        }
        actions += watch(moment)
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

    /// A response that never comes, or stops coming.
    private mutating func watch(_ moment: Moment) -> [Action] {
        guard isReady else { return [] }
        switch response {
        case .none: return []
        case .awaited(let deadline): guard moment.now >= deadline else { return [] }
        case .active: guard moment.now > lastSign + policy.responseTimeoutMs else { return [] }
        }
        owesAnswer = true
        let reason = "no response within \(policy.responseTimeoutMs) ms"
        return [
            .warning("\(name): a response did not come within \(policy.responseTimeoutMs) ms"), .restartSession(reason),
        ]
    }

    private mutating func prompt(_ moment: Moment) -> [Action] {
        if tracker.isCompleted, !tracker.questions.isEmpty { return hangUp(.taskCompleted) }
        return flow.prompt() ? ask(RealtimeInstructions.silence, moment) : beginClosing(.silence, moment)
    }
}
