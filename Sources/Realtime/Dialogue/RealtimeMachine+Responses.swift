/// Responses of the speech model, and the turns of ours that they make.
extension RealtimeMachine {
    // MARK: Responses

    public mutating func responseStarted(isRequested: Bool, _ moment: Moment) -> [Action] {
        let isUnwanted = flow.isTransferring || flow.isLeavingMessage
        var active = Response.Active(lastSign: moment.now)
        turnHasSound = false
        flow.cancelSilence()
        turn += 1
        if isRequested {
            active.isFree = ordered != .plain
            if ordered == .question { tools.questionAsked(turn: turn) }
            ordered = .plain
        }
        response = .active(active)
        let isRequested = isRequested || awaitsToolResponse
        awaitsToolResponse = false
        var actions: [Action] = isUnwanted ? [.cancelResponse, .flushSound] : [.flushSound]
        // The server answers a sound that did not interrupt us: wait for its transcript.
        if !isRequested, moment.isSpeaking {
            held = .undecided(deadline: moment.now + policy.decisionMs, isComplete: false)
            actions.append(.holdSpeech)
        }
        return actions
    }

    /// Sound of the response.
    /// - Returns: whether it is the first.
    public mutating func sounded(at now: Int) -> Bool {
        turnHasSound = true
        guard case .active(var active) = response else { return false }
        let isFirst = !active.hasSound
        active.lastSign = now
        active.hasSound = true
        response = .active(active)
        if isFirst, !active.isFree { turnsSpoken += 1 }
        return isFirst
    }

    /// An item of the response has been generated to its end.
    public mutating func itemFinished() {
        if case .undecided(let deadline, _) = held { held = .undecided(deadline: deadline, isComplete: true) }
    }

    public mutating func responseFinished(_ status: SpeechResponseStatus, _ moment: Moment) -> [Action] {
        guard case .active(let active) = response else { return [] }
        let ended = endSpeech()
        response = .none
        switch status {
        case .cancelled: return [ended] + dropTools()
        case .failed(let code):
            failures += 1
            toolRequests = []
            guard failures <= policy.reconnects else { return [ended, .fail("\(name): response failed: \(code)")] }
            return [ended] + ask(nil, moment)
        case .completed, .incomplete:
            let calls = !toolRequests.isEmpty
            let settled = settleTools(active, moment)
            return [ended] + settled + completed(active, calls: calls, moment) + attendTools(moment)
        }
    }

    /// - Parameter calls: it has called tools of the agent's: their results come first.
    private mutating func completed(_ active: Response.Active, calls: Bool, _ moment: Moment) -> [Action] {
        failures = 0
        if active.endsCall, !calls, flow.close(.taskCompleted, at: moment.now), !active.hasSound {
            return ask(RealtimeInstructions.goodbye, moment)
        }
        if flow.isAnnouncingTransfer { return announceTransfer(active, moment) }
        if flow.isClosing, !active.hasSound, !moment.isSpeaking { return end() }
        var actions: [Action] = []
        if active.toolCalls > 0, !active.hasSound, !calls {
            actions += ask(flow.isClosing ? RealtimeInstructions.goodbye : nil, moment)
        }
        if flow.isTalking, turnsSpoken >= brief.maxTurns, !tools.isBusy, !tools.hasResults {
            actions += beginClosing(.maxTurns, moment)
        }
        if !active.hasSound, active.toolCalls == 0, !flow.isClosing { flow.awaitCaller(at: moment.now) }
        return actions
    }

    /// The speech of this turn ends here, unless it waits for a decision.
    func endSpeech() -> Action {
        .speechEnded(turn: turn, isTurnOver: turnHasSound && !isHolding)
    }

    mutating func drop() -> [Action] {
        held = .no
        return isResponding ? [.dropSpeech, .cancelResponse] : [.dropSpeech]
    }

    mutating func release(interrupting: Bool) -> [Action] {
        guard case .undecided(_, let isComplete) = held else { return [] }
        held = .no
        let released = Action.releaseSpeech(interrupting: interrupting)
        guard isComplete || !isResponding else { return [released] }
        return [released, .speechEnded(turn: turn, isTurnOver: turnHasSound)]
    }

    /// A turn of ours has been heard, to its end or until it was interrupted.
    public mutating func turnHeard(turn: Int32, isInterrupted: Bool, _ moment: Moment) -> [Action] {
        if tools.questionHeard(turn: turn, isInterrupted: isInterrupted, at: moment.now) { turnsSince = [] }
        guard !isInterrupted else { return [] }
        if greeting == .begun { greeting = .heard }
        if turn == self.turn, !isResponding {
            if flow.isClosing { return end() }
            if flow.isAnnouncingTransfer { return transfer() }
        }
        if !isResponding, !isCallerSpeaking { flow.awaitCaller(at: moment.now) }
        return []
    }
}
