/// Responses of the speech model, and the turns of ours that they make.
extension RealtimeMachine {
    // MARK: Responses

    public mutating func responseStarted(isRequested: Bool, _ moment: Moment) -> [Action] {
        let isUnwanted = flow.isTransferring || flow.isLeavingMessage
        response = .active(.init(lastSign: moment.now))
        turnHasSound = false
        flow.cancelSilence()
        turn += 1
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
        if isFirst { turnsSpoken += 1 }
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
        let isOver = active.endsCall && flow.close(.taskCompleted, at: moment.now)
        if let closing = sayClosing(moment) { return closing }
        if isOver, !active.hasSound { return ask(RealtimeInstructions.goodbye, moment) }
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
        guard !isInterrupted else { return [] }
        if greeting == .begun { greeting = .heard }
        if turn == self.turn, !isResponding {
            // The agent's last words are still to come.
            if flow.isClosing { return isClosingSaid && isAwaiting ? [] : end() }
            if flow.isAnnouncingTransfer { return transfer() }
        }
        if !isResponding, !isCallerSpeaking { flow.awaitCaller(at: moment.now) }
        return []
    }
}
