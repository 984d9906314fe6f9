/// Our first turn: the disclosure, then the agent's first message, word for word. Where there is no first message the
/// model greets.
extension DialogueMachine {
    /// It has something fixed, and is to begin now. An automatic assistant, a menu or a time that is up does not use it
    /// up.
    var isOpeningDue: Bool {
        guard !isOpened, policy.disclosure != nil || policy.character?.firstMessage != nil else { return false }
        switch conversation.items.last {
        case .screened, .menu, .monologue, .timeIsUp: return false
        default: return true
        }
    }

    mutating func open(at now: Int) -> [Action] {
        isOpened = true
        let firstMessage = policy.character?.firstMessage
        var actions: [Action]
        let asks = firstMessage == nil || policy.asksAtOnce
        if asks {
            conversation.isOpening = firstMessage != nil
            actions = requestModel(at: now)
            conversation.isOpening = false
            update { $0.hasFilled = true }
        } else {
            actions = cancelModel()
            beginTurn()
        }
        if let disclosure = policy.disclosure {
            spokenTurn.disclose()
            actions.append(.disclose(text: disclosure, turn: turn))
        }
        if let firstMessage {
            actions += speak(spokenTurn.write(firstMessage + " ") + spokenTurn.finishWriting())
        }
        guard !asks else { return actions }
        spokenTurn.complete()
        return actions + [.turnComplete(turn: turn)]
    }
}
