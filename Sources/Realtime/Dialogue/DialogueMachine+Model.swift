/// What the language model does: responses, speculative responses, tools.
extension DialogueMachine {
    // MARK: Asking

    /// - Parameter goesOn: with a turn that has been counted against `max_turns`.
    mutating func requestModel(goesOn: Bool = false, at now: Int) -> [Action] {
        let cancelled = cancelModel()
        generation += 1
        languageModel = .responding(response(at: now))
        beginTurn()
        if goesOn { tools.freeTurns += 1 }
        tellResults()
        return cancelled + [.requestModel(conversation, generation: generation)]
    }

    private func response(at now: Int) -> Response {
        let fills = policy.fillerMs > 0 && conversation.callerTurns > 0
        return Response(
            progress: .awaited(deadline: now + policy.modelTimeoutMs, fillerAt: fills ? now + policy.fillerMs : nil))
    }

    /// Whatever the model still says is ignored.
    mutating func cancelModel() -> [Action] {
        guard !languageModel.isIdle else { return [] }
        languageModel = .idle
        generation += 1
        return [.cancelModel]
    }

    mutating func update(_ change: (inout Response) -> Void) {
        guard case .responding(var response) = languageModel else { return }
        change(&response)
        languageModel = .responding(response)
    }

    /// The caller has waited long for the model's first word.
    mutating func fill(deadline: Int) -> [Action] {
        update {
            $0.progress = .awaited(deadline: deadline, fillerAt: nil)
            $0.hasFilled = true
        }
        spokenTurn.speakAside()
        return speak([PolicyTexts.of(conversation.brief.language)("one_moment")])
    }

    // MARK: Speculating

    /// Asks the model to answer the turn so far, before it is certain that the turn is over.
    mutating func speculate() -> [Action] {
        guard policy.speculates, isOpen, !flow.isLeavingMessage, languageModel.isIdle, !spokenTurn.isSpeaking,
            keying == nil, !tools.hasResults, !tools.awaitsConsent,
            let words
        else { return [] }
        switch EndOfTurnPolicy.ending(of: words, expecting: hints, language: conversation.brief.language) {
        case .dangling, .dictation: return []
        case .finished, .open: break
        }
        var supposed = conversation
        supposed.items.append(.caller(words))
        supposed.tools = tools.tools
        generation += 1
        languageModel = .speculating(SpeculativeResponse(to: words))
        return [.requestModel(supposed, generation: generation)]
    }

    mutating func dropSpeculation(unlessTo text: String? = nil) -> [Action] {
        guard let speculation = languageModel.speculation, text.map({ !speculation.answers($0) }) ?? true else {
            return []
        }
        return cancelModel()
    }

    /// The turn was complete: the speculative response is used.
    mutating func takeSpeculation(_ speculation: SpeculativeResponse, at now: Int) -> [Action] {
        languageModel = .responding(response(at: now))
        beginTurn()
        var actions: [Action] = []
        for event in speculation.events { actions += model(event, generation: generation, at: now) }
        if speculation.isFinished { actions += modelFinished(generation: generation, at: now) }
        return actions
    }

    // MARK: The response

    public mutating func model(_ event: LanguageModelEvent, generation: Int, at now: Int) -> [Action] {
        guard generation == self.generation, !flow.isEnded else { return [] }
        switch languageModel {
        case .idle: return []
        case .speculating(var speculation):
            guard speculation.keep(event) else { return cancelModel() }
            languageModel = .speculating(speculation)
            return []
        case .responding: break
        }
        switch event {
        case .text(let delta): return write { $0.write(delta) }
        case .source(let title): return [.source(title, turn: turn)]
        case .toolCall(let name, let arguments) where tools.has(name):
            update {
                guard $0.requests.count < ToolLedger.requestLimit else { return }
                $0.requests.append(ToolLedger.Request(name: name, arguments: arguments))
            }
            return []
        case .toolCall(let name, let arguments):
            let decision = DialogueDecision(
                tool: name, arguments: arguments, canTransfer: policy.canTransfer, canPress: policy.canPress)
            return perform(decision, at: now)
        }
    }

    private mutating func write(_ change: (inout SpokenTurn) -> [String]) -> [Action] {
        let sentences = change(&spokenTurn)
        if !sentences.isEmpty { update { $0.progress = .speaking } }
        return speak(sentences)
    }

    private mutating func perform(_ decision: DialogueDecision, at now: Int) -> [Action] {
        switch decision {
        case .report(let json, let endsCall):
            if endsCall { update { $0.endsCall = true } }
            let changed = conversation.tracker.apply(json: json)
            if let lastEvidence { conversation.tracker.attach(lastEvidence, to: changed) }
            guard let question = conversation.tracker.current else { return [.progress(conversation.tracker)] }
            let hints = AnswerHints(
                kind: QuestionReading(question).kind, choices: question.choices,
                isConfirming: conversation.tracker.proposed?.id == question.id)
            self.hints = hints
            return [.progress(conversation.tracker), .expect(hints)]
        case .end(.voicemail) where policy.voicemailMessage != nil: return answeringMachine(at: now)
        case .end(let reason):
            if flow.close(reason, at: now) { update { $0.hasClosed = true } }
            return []
        case .transfer:
            _ = flow.announceTransfer(at: now)
            return []
        case .press(let keys): return [.press(keys)]
        case .noKeys, .unknown: return []
        }
    }

    public mutating func modelFinished(generation: Int, at now: Int) -> [Action] {
        guard generation == self.generation else { return [] }
        switch languageModel {
        case .idle: return []
        case .speculating(var speculation):
            speculation.finish()
            languageModel = .speculating(speculation)
            return []
        case .responding: break
        }
        var actions = write { $0.finishWriting() }
        guard case .responding(let response) = languageModel else { return actions }
        languageModel = .idle
        actions += settle(response, at: now)
        if response.endsCall, response.requests.isEmpty { flow.close(.taskCompleted, at: now) }
        if Int(turn) - tools.freeTurns >= conversation.brief.maxTurns, !tools.isBusy, !tools.hasResults {
            flow.close(.maxTurns, at: now)
        }
        var hasSpoken = response.hasSpoken
        if let words = tools.firstWords() {
            actions += speak(spokenTurn.write(words + " ") + spokenTurn.finishWriting())
            hasSpoken = true
        }
        if flow.isAnnouncingTransfer, !hasSpoken {
            actions += speak(spokenTurn.write(putThrough) + spokenTurn.finishWriting())
            hasSpoken = true
        }
        if hasSpoken || response.hasFilled {
            spokenTurn.complete()
            actions.append(.turnComplete(turn: turn))
        } else if let reason = flow.closing {
            actions += end(reason)
        } else {
            flow.awaitCaller(at: now)
        }
        return actions + attendTools(at: now)
    }

    /// A speculative response that fails is dropped.
    public mutating func modelFailed(_ reason: String, generation: Int, at now: Int) -> [Action] {
        guard generation == self.generation, !flow.isEnded else { return [] }
        switch languageModel {
        case .idle: return []
        case .speculating: return cancelModel()
        case .responding: return cancelModel() + [.fail("language-model: \(reason)")]
        }
    }
}
