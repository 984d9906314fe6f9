/// The agent's tools: which are carried out, what the caller hears meanwhile, and when the model gets the results.
extension DialogueMachine {
    /// Settles the tool calls of a response that is complete.
    mutating func settle(_ response: Response, at now: Int) -> [Action] {
        guard !response.requests.isEmpty else { return [] }
        // The model is to hear what came of its tools before it says goodbye.
        if response.hasClosed { flow.reopen() }
        guard flow.isTalking || flow.isAnnouncingTransfer else { return [] }
        var actions: [Action] = []
        for verdict in tools.settle(response.requests, hasSpoken: response.hasSpoken, at: now) {
            switch verdict {
            case .run(let call):
                conversation.items.append(.toolCalled(call))
                actions.append(.callTool(call))
            case .ask(let call): conversation.items.append(.toolCalled(call))
            case .refuse(let call, let result):
                conversation.items.append(.toolCalled(call))
                actions.append(.toolRefused(call, result))
            case .drop(let call, let result, _): actions.append(.toolRefused(call, result))
            case .again: break
            }
        }
        return actions
    }

    /// A tool has given its result.
    /// - Parameter isHeldBack: the caller has the turn, though nothing has been heard of it yet.
    public mutating func toolFinished(
        _ number: Int, _ result: ToolResult, isHeldBack: Bool = false, at now: Int
    ) -> [Action] {
        guard !flow.isEnded, tools.finish(number, result) != nil else { return [] }
        return isHeldBack ? [] : attendTools(at: now)
    }

    /// Something is to be said now, for our turn would be empty: the words for a caller who waits.
    public mutating func speakMeanwhile(at now: Int) -> [Action] {
        guard tools.isWorking else { return [] }
        tools.hurry(at: now)
        return attendTools(at: now)
    }

    /// What the tools make us do as soon as the caller and the model are silent.
    mutating func attendTools(at now: Int) -> [Action] {
        guard tools.open > 0, flow.isTalking else { return [] }
        var actions: [Action] = tools.giveUp(at: now).map { .cancelTool($0) }
        guard languageModel.isIdle, caller == .silent, keying == nil else {
            tools.postpone(at: now)
            return actions
        }
        if let exhausted = tools.consentExhausted() { actions.append(.toolRefused(exhausted.call, exhausted.result)) }
        if tools.isDue { return actions + requestModel(goesOn: true, at: now) }
        if let tool = tools.questionDue {
            let words = ToolLedger.question(about: tool, language: conversation.brief.language)
            actions += speakTurn(words, isFree: true)
            tools.questionAsked(turn: turn)
            return actions
        }
        guard !spokenTurn.isSpeaking else {
            tools.postpone(at: now)
            return actions
        }
        if let words = tools.waitingWords(at: now) { actions += speakTurn(words, isFree: true) }
        return actions
    }

    /// The silence is not the caller's: a tool works, or they have not answered its question.
    mutating func isSilenceOfTool() -> Bool {
        guard tools.isBusy else { return false }
        tools.questionUnanswered()
        return true
    }

    /// The caller's words, or keys, as an answer to the question about a tool.
    /// - Returns: nil: they are none, and the model answers them.
    mutating func consented(_ answer: Bool?, since: Int, at now: Int) -> [Action]? {
        guard tools.awaitsConsent else { return nil }
        switch tools.answered(answer, since: since, at: now) {
        case .none: return nil
        case .given(let call):
            let words = tools.firstWords().map { speakTurn($0, isFree: true) } ?? []
            return [.callTool(call)] + words + attendTools(at: now)
        case .refused(let call, let result): return [.toolRefused(call, result)] + attendTools(at: now)
        }
    }

    /// Puts the results into the conversation, before what has happened since our last turn.
    mutating func tellResults() {
        conversation.tools = tools.isOffering ? tools.tools : []
        guard tools.open > 0 else { return }
        let results = tools.take(isAll: true).map { ConversationItem.toolResult($0.entry.call, $0.result) }
        let last = conversation.items.lastIndex { item in
            switch item {
            case .connected, .assistant, .toolCalled, .toolResult: true
            default: false
            }
        }
        conversation.items.insert(contentsOf: results, at: last.map { $0 + 1 } ?? 0)
    }
}
