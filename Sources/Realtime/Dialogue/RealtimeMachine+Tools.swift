/// What a speech model asks for by its tools, the transfer, and the end.
extension RealtimeMachine {
    // MARK: Tools

    public mutating func called(_ tool: String, _ arguments: String, callID: String, _ moment: Moment) -> [Action] {
        let isAgents = tools.has(tool)
        if case .active(var active) = response {
            active.lastSign = moment.now
            active.toolCalls += isAgents ? 0 : 1
            response = .active(active)
        }
        if isAgents {
            guard toolRequests.count < ToolLedger.requestLimit else {
                return [.finishTool(callID: callID, output: ToolResult.refused("too many tools at once").output)]
            }
            toolRequests.append(ToolLedger.Request(name: tool, arguments: arguments, id: callID))
            return []
        }
        let decision = DialogueDecision(
            tool: tool, arguments: arguments, canTransfer: policy.canTransfer && !flow.isClosing,
            canPress: policy.canPress)
        if case .press(let keys) = decision { return [.press(keys, callID: callID)] }
        let actions = perform(decision, moment)
        return actions.told + [.finishTool(callID: callID, output: decision.output(tracker))] + actions.then
    }

    /// - Returns: the actions before, and after, the model gets the result of its call.
    private mutating func perform(_ decision: DialogueDecision, _ moment: Moment) -> (told: [Action], then: [Action]) {
        switch decision {
        case .report(let json, let endsCall):
            if endsCall, case .active(var active) = response {
                active.endsCall = true
                response = .active(active)
            }
            let changed = tracker.apply(json: json)
            if let lastEvidence { tracker.attach(lastEvidence, to: changed) }
            return ([.progress(tracker)], [])
        case .end(.voicemail) where policy.voicemailMessage != nil: return ([], answeringMachine(moment))
        case .end(let reason):
            if flow.close(reason, at: moment.now), case .active(var active) = response {
                active.hasClosed = true
                response = .active(active)
            }
        case .transfer: _ = flow.announceTransfer(at: moment.now)
        case .press, .noKeys, .unknown: break
        }
        return ([], [])
    }

    // MARK: Transfer

    /// The other party is told before the transfer; if the model has not said it, it is asked to, once.
    mutating func announceTransfer(_ active: Response.Active, _ moment: Moment) -> [Action] {
        if active.hasSound {
            flow.transferSaid()
            return []
        }
        guard !flow.isTransferSaid else { return moment.isSpeaking ? [] : transfer() }
        flow.transferSaid()
        return ask(RealtimeInstructions.puttingThrough, moment)
    }

    mutating func transfer() -> [Action] {
        if isAwaiting { response = .none }
        flow.transferBegan()
        return [.transfer]
    }

    /// An operator asks for the transfer of the call.
    public mutating func transferRequested(_ moment: Moment) -> [Action] {
        guard flow.announceTransfer(at: moment.now) else { return [] }
        flow.transferSaid()
        let actions: [Action] = isResponding ? [.flushSpeech, .cancelResponse] : [.flushSpeech]
        return actions + (isReady ? ask(RealtimeInstructions.puttingThrough, moment) : transfer())
    }

    /// The transfer failed, as nobody answered: the conversation goes on.
    public mutating func transferFailed(_ moment: Moment) -> [Action] {
        guard flow.transferFailed() else { return [] }
        guard isReady else {
            session = .opening(owesAnswer: true)
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

    /// Says an operator's words, in place of our current speech.
    public mutating func say(_ text: String, _ moment: Moment) -> [Action] {
        guard !flow.isClosing, !flow.isEnded, isReady else { return [] }
        return interrupted() + [.flushSpeech] + ask(RealtimeInstructions.say(text), moment)
    }

    public mutating func timeIsUp(_ moment: Moment) -> [Action] {
        guard flow.isTalking else {
            // No person is on the line to say goodbye to.
            return flow.isWaiting || flow.isLeavingMessage ? hangUp(.maxDuration) : []
        }
        return beginClosing(.maxDuration, moment)
    }

    mutating func beginClosing(_ reason: EndReason, _ moment: Moment) -> [Action] {
        guard flow.close(reason, at: moment.now) else { return [] }
        var actions: [Action] = []
        if reason == .maxDuration {
            if isResponding { actions.append(.cancelResponse) }
            actions.append(.flushSpeech)
        }
        return actions + (isReady ? ask(RealtimeInstructions.goodbye, moment) : end())
    }

    mutating func end() -> [Action] { hangUp(flow.closing ?? .taskCompleted) }

    mutating func hangUp(_ reason: EndReason) -> [Action] {
        flow.end()
        return [.hangUp(reason)]
    }
}
