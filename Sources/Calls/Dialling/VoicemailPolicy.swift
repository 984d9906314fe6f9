internal import Store

/// What happens when an answering machine answers.
public enum VoicemailAction: String, Sendable, Codable, CaseIterable {
    /// The call is ended.
    case hangUp = "hang_up"
    /// A message is left after the beep.
    case leaveMessage = "leave_message"
    /// It is tried again by the retry policy; the last attempt leaves the message, if there is one.
    case retry
}

/// What a call, or the configuration for all calls, wants done then.
public struct VoicemailPolicy: Sendable, Equatable, Codable {
    /// Characters of a message.
    public static let messageLimit = 1_000
    /// nil: as the configuration has it; there: a message is left where there is one.
    public var action: VoicemailAction?
    public var message: String?
    public init(action: VoicemailAction? = nil, message: String? = nil) {
        self.action = action
        self.message = message
    }
}

extension CallSettings {
    private func voicemail(of call: Call) -> (action: VoicemailAction, message: String?) {
        let message = call.voicemail?.message ?? voicemail.message
        return (call.voicemail?.action ?? voicemail.action ?? (message == nil ? .hangUp : .leaveMessage), message)
    }

    /// Another attempt follows when a machine has this one.
    func retriesVoicemail(of call: Call) -> Bool {
        call.direction == .outbound && voicemail(of: call).action == .retry && retry.isEnabled
            && call.attemptsThisRound <= call.maxRetries
    }

    /// The message to leave in this attempt; nil: the call is ended.
    func voicemailMessage(of call: Call) -> String? {
        let (action, message) = voicemail(of: call)
        return action == .hangUp || retriesVoicemail(of: call) ? nil : message
    }
}
