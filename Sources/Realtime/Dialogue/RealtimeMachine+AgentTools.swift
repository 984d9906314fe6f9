/// The agent's tools: which are carried out, what the caller hears meanwhile, and when the model gets the results.
extension RealtimeMachine {
    // MARK: Calls

    /// Settles the tool calls of a response that is complete, or that waits for them.
    mutating func settleTools(_ active: Response.Active, _ moment: Moment) -> [Action] {
        guard !toolRequests.isEmpty else { return [] }
        // The model is to hear what came of its tools before it says goodbye.
        if active.hasClosed { flow.reopen() }
        guard flow.isTalking || flow.isAnnouncingTransfer else { return dropTools() }
        let requests = toolRequests
        toolRequests = []
        var actions: [Action] = []
        let verdicts = tools.settle(requests, hasSpoken: active.hasSound, session: sessionNumber, at: moment.now)
        for verdict in verdicts {
            switch verdict {
            case .run(let call): actions.append(.callTool(call))
            case .ask: break
            case .refuse(let call, let result): actions.append(.toolRefused(call, result))
            case .drop(let call, let result, let id):
                actions.append(.toolRefused(call, result))
                if let id { actions.append(.finishTool(callID: id, output: call.told(result))) }
            case .again(let id): if let id { actions.append(.finishTool(callID: id, output: Self.working)) }
            }
        }
        return actions
    }

    private static let working = #"{"status":"it is working already; its result comes later"}"#

    /// The response was cancelled: its tools are never carried out.
    mutating func dropTools() -> [Action] {
        defer { toolRequests = [] }
        let output = ToolResult.refused("the other party interrupted you before the tool was called").output
        return toolRequests.compactMap { $0.id }.map { .finishTool(callID: $0, output: output) }
    }

    /// A tool has given its result.
    public mutating func toolFinished(_ number: Int, _ result: ToolResult, _ moment: Moment) -> [Action] {
        guard !flow.isEnded, tools.finish(number, result) != nil else { return [] }
        return attendTools(moment)
    }

    // MARK: Meanwhile

    /// What the tools make us do, as soon as neither the caller nor the model speaks.
    mutating func attendTools(_ moment: Moment) -> [Action] {
        var actions: [Action] = []
        // Such a model says nothing until it has the results.
        if goesOnAfterTools, !toolRequests.isEmpty, case .active(let active) = response {
            actions += settleTools(active, moment)
        }
        guard tools.open > 0, isReady, flow.isTalking else { return actions }
        actions += tools.giveUp(at: moment.now).map { .cancelTool($0) }
        if let exhausted = tools.consentExhausted() { actions.append(.toolRefused(exhausted.call, exhausted.result)) }
        if goesOnAfterTools, tools.isDue, !isCallerSpeaking { return actions + tellResults(moment) }
        guard response == .none, !isHolding, !isCallerSpeaking else {
            tools.postpone(at: moment.now)
            return actions
        }
        if tools.isDue { return actions + tellResults(moment) }
        if let tool = tools.questionDue {
            tools.questionOrdered()
            ordered = .question
            let words = ToolLedger.question(about: tool, language: brief.language)
            return actions + ask(RealtimeInstructions.say(words), moment)
        }
        guard !moment.isSpeaking else {
            tools.postpone(at: moment.now)
            return actions
        }
        if let words = tools.firstWords() ?? tools.waitingWords(at: moment.now) {
            ordered = .free
            actions += ask(RealtimeInstructions.say(words), moment)
        }
        return actions
    }

    /// The session that called gets the result as the tool's; another one as a note.
    private mutating func tellResults(_ moment: Moment) -> [Action] {
        var actions: [Action] = []
        var asks = false
        for (entry, result) in tools.take(isAll: false) {
            if let id = entry.id, entry.session == sessionNumber {
                actions.append(.finishTool(callID: id, output: entry.call.told(result)))
                asks = asks || !goesOnAfterTools
            } else {
                actions.append(.note(ToolWords.note(entry.call, result)))
                asks = true
            }
            if entry.hasSpoken { ordered = .free }
        }
        guard !asks else { return actions + ask(nil, moment) }
        if response == .none {
            awaitsToolResponse = true
            response = .awaited(deadline: moment.now + policy.responseTimeoutMs)
        }
        return actions
    }

    /// The silence is not the caller's: a tool works, or they have not answered its question.
    mutating func isSilenceOfTool() -> Bool {
        guard tools.isBusy else { return false }
        tools.questionUnanswered()
        return true
    }

    /// What was asked of the model has not been said.
    mutating func orderLost() {
        ordered = .plain
        tools.questionLost()
    }

    // MARK: Consent

    /// Our own detector says that a turn of the caller's is over; its words come later.
    mutating func turnEnded() {
        guard let since = callerSince else { return }
        callerSince = nil
        turnsSince = turnsSince.suffix(Self.turnsWithoutWords - 1) + [since]
    }

    /// Turns of the caller's that wait for their words.
    private static let turnsWithoutWords = 8

    /// The caller's words as an answer to the question about a tool; the model answers them in any case.
    mutating func consented(to words: String, _ moment: Moment) -> [Action] {
        tools.callerSpoke()
        let since = turnsSince.isEmpty ? callerSince : turnsSince.removeFirst()
        guard tools.awaitsConsent else { return [] }
        return consented(ToolLedger.answer(in: words, language: brief.language), since: since, moment) ?? []
    }

    /// - Returns: nil: it is no answer.
    mutating func consented(_ answer: Bool?, since: Int?, _ moment: Moment) -> [Action]? {
        guard tools.awaitsConsent else { return nil }
        switch tools.answered(answer, since: since, at: moment.now) {
        case .none: return nil
        case .given(let call): return [.callTool(call)] + attendTools(moment)
        case .refused(let call, let result): return [.toolRefused(call, result)] + attendTools(moment)
        }
    }
}
