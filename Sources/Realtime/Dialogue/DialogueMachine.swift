internal import Foundation
internal import Pipeline

/// When to speak, listen, prompt and stop.
public struct TurnPolicy: Sendable, Equatable {
    /// Silence of the callee after our turn until he is prompted, ms.
    public var silencePromptMs = 7_000
    /// The recogniser has this long after the end of a turn, ms; then the turn counts as not understood.
    public var transcriptTimeoutMs = 6_000
    /// The model has this long for its first word, ms.
    public var modelTimeoutMs = 15_000
    /// A goodbye that does not end in this time is cut, ms.
    public var closingLimitMs = 8_000
    /// Keys of a number are complete after this pause, ms, or after `#`.
    public var keyPauseMs = 2_500
    /// Shorter sounds that gave no text are noise, ms.
    public var noiseMs = 300
    public init() {}
}

/// Decides how a conversation goes on. Events in, actions out; it waits for nothing and reads no clock: every event
/// carries the call's time in milliseconds since the answer.
public struct DialogueMachine: Sendable {
    public enum Action: Sendable, Equatable {
        /// Ask the model for a response; its events come back with this number.
        case requestModel(Conversation, generation: Int)
        case cancelModel
        case speak(text: String, turn: Int32)
        /// Our turn has no more sentences.
        case turnComplete(turn: Int32)
        /// Barge-in: silence now, everywhere.
        case flushSpeech
        case expect(AnswerHints)
        case progress(TaskTracker)
        case customerSaid(TranscriptEntry)
        case hangUp(EndReason)
    }

    private enum Phase: Equatable { case waiting, talking, closing(EndReason), ended }

    public private(set) var conversation: Conversation
    public private(set) var answeredBy: AnsweredBy = .unknown
    public private(set) var turn: Int32 = 0
    private let policy: TurnPolicy
    private var phase = Phase.waiting
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
    private var silenceDeadline: Int?
    private var closingDeadline: Int?
    private var keys = ""
    private var keysDeadline: Int?
    private var transcriptCount = 0
    private var lastEvidence: Answer.Evidence?

    /// - Parameter tracker: what is known already, where the conversation takes over from another way of holding it.
    public init(brief: Brief, canRecognizeSpeech: Bool, tracker: TaskTracker? = nil, policy: TurnPolicy = TurnPolicy()) {
        self.conversation = Conversation(brief: brief, canRecognizeSpeech: canRecognizeSpeech)
        if let tracker { self.conversation.tracker = tracker }
        self.policy = policy
    }

    /// Our speech may be cut: not during the goodbye.
    public var isInterruptible: Bool { phase == .talking }
    public var isEnded: Bool { phase == .ended }
    public var isClosing: Bool { if case .closing = phase { true } else { false } }

    // MARK: Events

    /// Media flows: the greeting starts.
    public mutating func mediaStarted(at now: Int) -> [Action] {
        guard phase == .waiting else { return [] }
        phase = .talking
        conversation.items.append(.connected)
        return requestModel(at: now)
    }

    public mutating func speechStarted(at now: Int) -> [Action] {
        guard phase == .talking || isClosing else { return [] }
        isCallerSpeaking = true
        callerStartedAt = now
        silenceDeadline = nil
        transcriptDeadline = nil
        return []
    }

    /// The barge-in stage says the caller means it.
    public mutating func interrupted(at now: Int) -> [Action] {
        guard isInterruptible, isSpeaking || isModelRunning else { return [] }
        var actions: [Action] = []
        if isModelRunning {
            generation += 1
            isModelRunning = false
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
        callerSpokenMs = spokenMs
        callerEndedAt = callerStartedAt + spokenMs
        guard phase == .talking else { return [] }
        transcriptDeadline = now + policy.transcriptTimeoutMs
        return []
    }

    public mutating func transcript(_ event: TranscriptEvent, at now: Int) -> [Action] {
        guard phase == .talking, case .final(let text, _) = event, transcriptDeadline != nil else { return [] }
        transcriptDeadline = nil
        return callerTurn(text, at: now)
    }

    private mutating func callerTurn(_ text: String, at now: Int) -> [Action] {
        if text.isEmpty, callerSpokenMs < policy.noiseMs {
            // A cough: go on as if nothing had been; if it cost our sentence, the silence prompt says it again.
            if !isSpeaking, !isModelRunning { silenceDeadline = now + policy.silencePromptMs / 3 }
            return []
        }
        // A sound that did not stop us, and that is no word, leaves our sentence alone; a word takes the turn.
        if isSpeaking, text.isEmpty { return [] }
        let actions = isSpeaking ? interrupted(at: now) : []
        if answeredBy == .unknown, !text.isEmpty { answeredBy = .human }
        let entry = TranscriptEntry(
            startMs: callerStartedAt, endMs: max(callerEndedAt, callerStartedAt), speaker: .customer, text: text)
        lastEvidence = .init(turn: transcriptCount, startMs: entry.startMs, endMs: entry.endMs)
        conversation.items.append(.caller(text))
        return actions + [.customerSaid(entry)] + requestModel(at: now)
    }

    /// Where the next transcript entry will stand; told by whoever keeps the transcript.
    public mutating func transcriptLength(_ count: Int) { transcriptCount = count }

    public mutating func monologue(at now: Int) -> [Action] {
        guard phase == .talking, conversation.callerTurns == 0 else { return [] }
        conversation.items.append(.monologue)
        return requestModel(at: now)
    }

    public mutating func key(_ digit: Character, at now: Int) -> [Action] {
        guard phase == .talking else { return [] }
        var actions = interrupted(at: now)
        silenceDeadline = nil
        if answeredBy == .unknown { answeredBy = .human }
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
        generation += 1
        isModelRunning = true
        modelHasSpoken = false
        modelDeadline = now + policy.modelTimeoutMs
        silenceDeadline = nil
        splitter.flush()
        turn += 1
        actions.append(.requestModel(conversation, generation: generation))
        return actions
    }

    public mutating func model(_ event: LanguageModelEvent, generation: Int, at now: Int) -> [Action] {
        guard generation == self.generation, isModelRunning, phase != .ended else { return [] }
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
                actions.append(.expect(AnswerHints(kind: QuestionReading(question).kind, choices: question.choices)))
            }
            return actions
        case .toolCall(DialogueTool.endCall, let arguments):
            let request = try? JSONDecoder().decode(DialogueTool.EndCall.self, from: Data(arguments.utf8))
            let reason = request.flatMap { EndReason(rawValue: $0.reason) } ?? .taskCompleted
            if reason == .voicemail { answeredBy = .voicemail }
            begin(closing: reason, at: now)
            return []
        case .toolCall: return []  // not on this call's list of tools
        }
    }

    private mutating func speak(_ sentences: [String]) -> [Action] {
        guard !sentences.isEmpty else { return [] }
        modelDeadline = nil
        modelHasSpoken = true
        isSpeaking = true
        return sentences.map { .speak(text: $0, turn: turn) }
    }

    private mutating func begin(closing reason: EndReason, at now: Int) {
        guard phase == .talking else { return }
        phase = .closing(reason)
        closingDeadline = now + policy.closingLimitMs
    }

    public mutating func modelFinished(generation: Int, at now: Int) -> [Action] {
        guard generation == self.generation, isModelRunning else { return [] }
        isModelRunning = false
        modelDeadline = nil
        var sentences: [String] = []
        splitter.finish(into: &sentences)
        var actions = speak(sentences)
        if phase == .talking, Int(turn) >= conversation.brief.maxTurns { begin(closing: .maxTurns, at: now) }
        if modelHasSpoken {
            actions.append(.turnComplete(turn: turn))
        } else if case .closing(let reason) = phase {
            actions += end(reason)
        } else {
            silenceDeadline = now + policy.silencePromptMs
        }
        return actions
    }

    /// The response with this number is still wanted.
    public func isCurrent(generation: Int) -> Bool { generation == self.generation && phase != .ended }

    public mutating func modelFailed(generation: Int, at now: Int) -> [Action] {
        guard generation == self.generation, phase != .ended else { return [] }
        isModelRunning = false
        return end(.providerError)
    }

    /// Everything we said of this turn has been heard, or the rest of it was dropped.
    public mutating func turnHeard(_ heard: String, turn: Int32, isInterrupted: Bool, at now: Int) -> [Action] {
        conversation.items.append(.assistant(heard: heard, isInterrupted: isInterrupted))
        guard !isInterrupted, turn == self.turn else { return [] }
        isSpeaking = false
        if case .closing(let reason) = phase, !isModelRunning { return end(reason) }
        if phase == .talking, !isCallerSpeaking, transcriptDeadline == nil, !isModelRunning {
            silenceDeadline = now + policy.silencePromptMs
        }
        return []
    }

    /// The longest duration is reached: a polite close.
    public mutating func timeIsUp(at now: Int) -> [Action] {
        guard phase == .talking else { return phase == .waiting ? end(.maxDuration) : [] }
        conversation.items.append(.timeIsUp)
        var actions: [Action] = isSpeaking ? [.flushSpeech] : []
        isSpeaking = false
        actions += requestModel(at: now)
        begin(closing: .maxDuration, at: now)
        return actions
    }

    /// Once a beat: deadlines.
    public mutating func tick(at now: Int) -> [Action] {
        guard phase != .ended else { return [] }
        if let deadline = closingDeadline, now >= deadline, case .closing(let reason) = phase { return end(reason) }
        if let deadline = modelDeadline, now >= deadline, isModelRunning {
            modelDeadline = nil
            return modelFailed(generation: generation, at: now)
        }
        if let deadline = transcriptDeadline, now >= deadline {
            transcriptDeadline = nil
            return callerTurn("", at: now)
        }
        if let deadline = keysDeadline, now >= deadline { return keysComplete(at: now) }
        if let deadline = silenceDeadline, now >= deadline, !isCallerSpeaking, !isSpeaking {
            silenceDeadline = nil
            conversation.items.append(.silence)
            return requestModel(at: now)
        }
        return []
    }

    private mutating func end(_ reason: EndReason) -> [Action] {
        guard phase != .ended else { return [] }
        phase = .ended
        return [.hangUp(reason)]
    }

    /// The far end is gone.
    public mutating func stop() { phase = .ended }
}
