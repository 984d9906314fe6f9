/// What the caller does: speech, words, keys.
extension DialogueMachine {
    /// Turns of the caller in which an answering machine can still be detected.
    private static let machineDetectionTurns = 6

    // MARK: Speech

    public mutating func speechStarted(at now: Int) -> [Action] {
        guard isOpen || isClosing else { return [] }
        caller = .speaking(CallerTurn(since: now))
        flow.callerBegan()
        return []
    }

    /// The barge-in stage has found that the caller takes the turn.
    public mutating func interrupted(at now: Int) -> [Action] {
        guard canBeStopped, spokenTurn.isSpeaking || !languageModel.isIdle else { return [] }
        var actions: [Action] = []
        if !languageModel.isIdle {
            actions += cancelModel()
            spokenTurn.breakOff()
        }
        if spokenTurn.isSpeaking {
            spokenTurn.silence()
            actions.append(.flushSpeech)
        }
        return actions
    }

    /// `spokenMs` from first to last speech; the turn is decided at `now`.
    public mutating func speechEnded(spokenMs: Int, at now: Int) -> [Action] {
        guard case .speaking(let turn) = caller else { return [] }
        caller = .silent
        flow.callerEnded(at: now)
        guard isOpen else { return [] }
        guard conversation.canRecognizeSpeech else { return callerTurn("", turn, spokenMs: spokenMs, at: now) }
        caller = .awaitingTranscript(turn, spokenMs: spokenMs, deadline: now + policy.transcriptTimeoutMs)
        return []
    }

    // MARK: Words

    /// The recogniser's text of the turn so far; nil: none.
    var words: String? {
        switch caller {
        case .speaking(let turn), .awaitingTranscript(let turn, _, _): turn.words.isEmpty ? nil : turn.words
        case .silent: nil
        }
    }

    /// Words of the caller so far; nil where none are known.
    public var callerWords: Int? {
        guard isCallerSpeaking, let words else { return nil }
        return Backchannel.isOne(words, language: conversation.brief.language)
            ? 0 : words.split(separator: " ").count
    }

    public mutating func transcript(_ event: TranscriptEvent, at now: Int) -> [Action] {
        guard isOpen else { return [] }
        switch event {
        case .interim(let text): return heard(text)
        case .pause(let text):
            let actions = heard(text)
            return caller == .silent ? actions : actions + speculate()
        case .final(let text, _, let isUncertain):
            guard case .awaitingTranscript(let turn, let spokenMs, _) = caller else { return [] }
            return callerTurn(text, isUncertain: isUncertain, turn, spokenMs: spokenMs, at: now)
        }
    }

    private mutating func heard(_ text: String) -> [Action] {
        switch caller {
        case .silent: return []
        case .awaitingTranscript(var turn, let spokenMs, let deadline):
            turn.words = text
            caller = .awaitingTranscript(turn, spokenMs: spokenMs, deadline: deadline)
            return dropSpeculation(unlessTo: text)
        case .speaking(var turn):
            turn.words = text
            caller = .speaking(turn)
            let waitMs = policy.endOfTurn.waitMs(
                text, expecting: hints, language: conversation.brief.language, silenceMs: silenceMs)
            return dropSpeculation(unlessTo: text) + [.awaitSilence(ms: waitMs)]
        }
    }

    /// The caller makes a pause; the turn may be over.
    public mutating func paused(at now: Int) -> [Action] { isCallerSpeaking ? speculate() : [] }

    /// The caller's turn is over.
    /// - Parameters:
    ///   - text: empty if nothing could be understood.
    ///   - isUncertain: other words are nearly as likely.
    mutating func callerTurn(
        _ text: String, isUncertain: Bool = false, _ turn: CallerTurn, spokenMs: Int, at now: Int
    ) -> [Action] {
        caller = .silent
        let entry = TranscriptEntry(
            startMs: turn.since, endMs: turn.since + max(0, spokenMs), speaker: .customer, text: text)
        if flow.isLeavingMessage { return text.isEmpty ? [] : [.customerSaid(entry)] }
        guard !text.isEmpty else { return sound(entry, spokenMs: spokenMs, at: now) }
        // A backchannel does not interrupt our turn; other words do.
        if spokenTurn.isSpeaking, Backchannel.isOne(text, language: conversation.brief.language) {
            return [.customerSaid(entry)]
        }
        return answer(entry, isUncertain: isUncertain, at: now)
    }

    /// The caller made a sound without words.
    private mutating func sound(_ entry: TranscriptEntry, spokenMs: Int, at now: Int) -> [Action] {
        let dropped = dropSpeculation()
        if let rest = spokenTurn.rest, languageModel.isIdle { return dropped + speakTurn(rest) }
        if spokenMs < policy.noiseMs {
            // If it interrupted our sentence, the silence prompt repeats the sentence.
            if !spokenTurn.isSpeaking, languageModel.isIdle { flow.awaitCaller(at: now, shortened: 3) }
            return dropped
        }
        return dropped + (spokenTurn.isSpeaking ? [] : answer(entry, at: now))
    }

    private mutating func answer(_ entry: TranscriptEntry, isUncertain: Bool = false, at now: Int) -> [Action] {
        let text = entry.text
        var actions = spokenTurn.isSpeaking ? interrupted(at: now) : []
        let talk = flow.read(text, mayBeMachine: mayBeMachine)
        if talk != nil || languageModel.speculation?.answers(text) != true { actions += dropSpeculation() }
        actions.append(.customerSaid(entry))
        switch talk {
        case .machine: return actions + answeringMachine(at: now)
        case .screening: conversation.items += [.caller(text), .screened]
        case .menu: conversation.items += [.caller(text), .menu]
        case .hold:
            spokenTurn.forgetRest()
            flow.awaitCaller(at: now)
            conversation.items.append(.caller(text))
            return actions
        case nil:
            lastEvidence = .init(turn: transcriptCount, startMs: entry.startMs, endMs: entry.endMs)
            conversation.items.append(.caller(text))
            if isUncertain { conversation.items.append(.uncertain) }
            tools.callerSpoke()
            let consent = isUncertain ? nil : ToolLedger.answer(in: text, language: conversation.brief.language)
            if let taken = consented(consent, since: entry.startMs, at: now) { return actions + taken }
            if let speculation = languageModel.speculation { return actions + takeSpeculation(speculation, at: now) }
        }
        return actions + requestModel(at: now)
    }

    /// No question has been answered yet.
    private var mayBeMachine: Bool {
        conversation.callerTurns < Self.machineDetectionTurns
            && !conversation.tracker.answers.contains { $0.status == .answered }
    }

    // MARK: Keys

    public mutating func key(_ digit: Character, at now: Int) -> [Action] {
        guard isOpen, !flow.isLeavingMessage else { return [] }
        let actions = interrupted(at: now)
        flow.keyPressed()
        let wantsMany = conversation.tracker.current.map { QuestionReading($0).kind == .number } ?? false
        guard wantsMany else {
            return actions + keysComplete(Keying(since: now, digits: String(digit), deadline: now), at: now)
        }
        guard digit != "#", (keying?.digits.count ?? 0) < Keying.limit else {
            return actions + (keying.map { keysComplete($0, at: now) } ?? [])
        }
        keying = Keying(
            since: keying?.since ?? now, digits: (keying?.digits ?? "") + String(digit),
            deadline: now + policy.keyPauseMs)
        return actions
    }

    mutating func keysComplete(_ keys: Keying, at now: Int) -> [Action] {
        keying = nil
        let entry = TranscriptEntry(startMs: keys.since, endMs: now, speaker: .customer, text: "[\(keys.digits)]")
        lastEvidence = .init(turn: transcriptCount, startMs: entry.startMs, endMs: entry.endMs)
        conversation.items.append(.keys(keys.digits))
        tools.callerSpoke()
        let consent = ToolLedger.answer(inKeys: keys.digits, language: conversation.brief.language)
        if let taken = consented(consent, since: keys.since, at: now) { return [.customerSaid(entry)] + taken }
        return [.customerSaid(entry)] + requestModel(at: now)
    }

    /// The result of `Action.press`.
    public mutating func pressed(_ isTaken: Bool) -> [Action] {
        guard !isTaken else { return [] }
        conversation.items.append(.keysRefused)
        return [.warning("this line takes no keys")]
    }
}
