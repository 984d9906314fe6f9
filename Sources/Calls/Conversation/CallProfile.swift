internal import Pipeline
internal import Realtime
internal import Store

/// What a call's agent says takes the place of the settings for all calls.
extension CallSettings {
    /// Of a call: its longest duration is its own, and so is what its agent says of turns and fixed words.
    func conversation(of call: Call, canTransfer: Bool) -> CallGraph.Settings {
        var settings = conversation
        settings.maxDurationMs = min(call.maxDuration, maxCallDuration) * 1_000
        settings.policy.canTransfer = canTransfer
        settings.policy.detectsMachines = call.direction == .outbound
        settings.policy.voicemailMessage = voicemailMessage(of: call)
        guard let profile = call.profile else { return settings }
        settings.policy.character = AgentCharacter(profile)
        let turns = profile.turns
        if let finishedMs = turns.finishedMs { settings.policy.endOfTurn.finishedMs = finishedMs }
        if let confirmMs = turns.bargeInConfirmMs { settings.bargeIn.confirmMs = confirmMs }
        if let promptMs = turns.silencePromptMs { settings.policy.silencePromptMs = promptMs }
        if let speaksFirst = turns.speaksFirst { settings.policy.speaksFirst = speaksFirst }
        let consent = savesRecording(of: call) ? profile.consentLine : nil
        let first = [profile.disclosure ?? settings.policy.disclosure, consent].compactMap { $0 }
        settings.policy.disclosure = first.isEmpty ? nil : first.joined(separator: " ")
        return settings
    }

    /// Whether what is said in a call is kept as sound.
    func savesRecording(of call: Call) -> Bool { call.profile?.savesRecording ?? savesRecording }
}

extension Call {
    /// The brief that the conversation has: its turns are those of the agent's limit.
    var conversationBrief: Brief {
        guard let limit = profile?.maxTurns else { return brief }
        var own = brief
        own.maxTurns = limit
        return own
    }

    /// Nothing of this call may leave the machine: no model reviews it either.
    var staysOnMachine: Bool { profile?.mode == .embedded }
}
