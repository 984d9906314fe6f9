/// The course of every conversation, in every mode: greeting, silence, an answering machine, the transfer to a person,
/// the goodbye. A value: it reads no clock; times are milliseconds since the answer.
///
///     waiting ─▶ talking ─┬─▶ leavingMessage ─▶ closing ─▶ ended
///                         ├─▶ announcingTransfer ─▶ transferring ─▶ (talking)
///                         └─▶ closing ─▶ ended
public struct CallFlow: Sendable {
    public enum Phase: Sendable, Equatable {
        /// No media yet.
        case waiting
        case talking
        /// An answering machine has answered: we wait until its greeting is over.
        case leavingMessage(VoicemailMessage)
        /// The caller is being told that they are put through; at `deadline` they are put through in any case.
        /// `isSaid`: the announcement has been made, or asked for.
        case announcingTransfer(deadline: Int, isSaid: Bool)
        /// The call is with a person, or is being put through to one.
        case transferring
        /// We say goodbye; our speech is cut off at `deadline`.
        case closing(EndReason, deadline: Int)
        case ended
    }

    public private(set) var phase = Phase.waiting
    public private(set) var answeredBy: AnsweredBy = .unknown
    private let policy: ConversationPolicy
    private let language: String
    /// When the caller is prompted, if the silence lasts.
    private var silenceDeadline: Int?
    private var promptsInARow = 0
    /// We wait for a person: screening, hold, a menu.
    private var isOnHold = false

    public init(policy: ConversationPolicy, language: String) {
        self.policy = policy
        self.language = language
    }

    // MARK: Where the call is

    public var isTalking: Bool { phase == .talking }
    public var isWaiting: Bool { phase == .waiting }
    public var isEnded: Bool { phase == .ended }
    public var isTransferring: Bool { phase == .transferring }
    public var isClosing: Bool { closing != nil }
    public var isLeavingMessage: Bool { if case .leavingMessage = phase { true } else { false } }
    public var isAnnouncingTransfer: Bool { if case .announcingTransfer = phase { true } else { false } }
    /// The caller has been told, or is being told, that they are put through.
    public var isTransferSaid: Bool { if case .announcingTransfer(_, let isSaid) = phase { isSaid } else { false } }
    /// The reason for the goodbye.
    public var closing: EndReason? { if case .closing(let reason, _) = phase { reason } else { nil } }

    // MARK: Transitions

    /// Media has started. False: it had started before.
    public mutating func begin() -> Bool {
        guard phase == .waiting else { return false }
        phase = .talking
        return true
    }

    /// The caller makes a sound: no silence counts.
    public mutating func callerBegan() {
        silenceDeadline = nil
        if case .leavingMessage(var message) = phase {
            message.speechStarted()
            phase = .leavingMessage(message)
        }
    }

    public mutating func callerEnded(at now: Int) {
        if case .leavingMessage(var message) = phase {
            message.speechEnded(at: now)
            phase = .leavingMessage(message)
        }
    }

    /// It is the caller's turn: silence counts from now on.
    /// - Parameter shortened: a part of the usual time, e.g. 3 for a third.
    public mutating func awaitCaller(at now: Int, shortened: Int = 1) {
        silenceDeadline = now + (isOnHold ? policy.holdMs : policy.silencePromptMs) / max(1, shortened)
    }

    /// One side speaks, or is about to.
    public mutating func cancelSilence() { silenceDeadline = nil }

    /// The caller has spoken: prompts are counted from 0 again.
    public mutating func callerAnswered() { promptsInARow = 0 }

    /// A key was pressed, so a person is on the line.
    public mutating func keyPressed() {
        silenceDeadline = nil
        if answeredBy == .unknown { answeredBy = .human }
    }

    /// Decides by the caller's words whether a person is on the line.
    /// - Parameter mayBeMachine: whether it may still be a machine.
    /// - Returns: nil for a person.
    public mutating func read(_ text: String, mayBeMachine: Bool) -> AnsweringMachineDetection? {
        let talk =
            mayBeMachine && policy.detectsMachines ? AnsweringMachineDetection.read(text, language: language) : nil
        if talk == .machine { return talk }
        isOnHold = talk != nil
        if talk == .screening {
            answeredBy = .screening
        } else if talk == nil, !text.isEmpty, answeredBy == .unknown || answeredBy == .screening {
            answeredBy = .human
        }
        return talk
    }

    /// An answering machine has the line.
    /// - Returns: false: no message is left, the call is over. nil: the call is already in a later state.
    public mutating func foundMachine(isSpeaking: Bool, at now: Int) -> Bool? {
        guard phase == .talking || phase == .waiting || isAnnouncingTransfer else { return nil }
        answeredBy = .voicemail
        silenceDeadline = nil
        guard let text = policy.voicemailMessage else { return false }
        phase = .leavingMessage(VoicemailMessage(text, isSpeaking: isSpeaking, at: now))
        return true
    }

    /// The message is being spoken; then the call is over.
    public mutating func messageBegan(at now: Int) {
        phase = .closing(.voicemail, deadline: now + VoicemailMessage.limitMs)
    }

    /// The goodbye begins. False: the call is already in a later state.
    @discardableResult
    public mutating func close(_ reason: EndReason, at now: Int) -> Bool {
        guard phase == .talking else { return false }
        if reason == .voicemail { answeredBy = .voicemail }
        phase = .closing(reason, deadline: now + policy.closingLimitMs)
        return true
    }

    /// The goodbye was not meant yet: the conversation goes on.
    public mutating func reopen() { if case .closing = phase { phase = .talking } }

    /// The caller is told that they are put through. False: the call is already in a later state.
    public mutating func announceTransfer(at now: Int) -> Bool {
        guard phase == .talking else { return false }
        phase = .announcingTransfer(deadline: now + policy.closingLimitMs, isSaid: false)
        return true
    }

    /// The announcement has been made, or asked for.
    public mutating func transferSaid() {
        guard case .announcingTransfer(let deadline, _) = phase else { return }
        phase = .announcingTransfer(deadline: deadline, isSaid: true)
    }

    public mutating func transferBegan() {
        phase = .transferring
        silenceDeadline = nil
    }

    /// The transfer failed, as nobody answered. False: there was no transfer.
    public mutating func transferFailed() -> Bool {
        guard phase == .transferring else { return false }
        phase = .talking
        return true
    }

    public mutating func end() { phase = .ended }

    // MARK: Deadlines

    /// What must be done now.
    public enum Due: Sendable, Equatable {
        case nothing
        case hangUp(EndReason)
        case transfer
        /// Leave this message, word for word.
        case leaveMessage(String)
        /// The caller is silent.
        case silence
    }

    /// Once a tick.
    /// - Parameter isQuiet: neither side speaks.
    public mutating func due(at now: Int, isQuiet: Bool) -> Due {
        switch phase {
        case .closing(let reason, let deadline): if now >= deadline { return .hangUp(reason) }
        case .announcingTransfer(let deadline, _): if now >= deadline { return .transfer }
        case .leavingMessage(let message):
            switch message.step(at: now) {
            case .wait: return .nothing
            case .giveUp: return .hangUp(.voicemail)
            case .say: return .leaveMessage(message.text)
            }
        case .waiting, .talking: break
        case .transferring, .ended: return .nothing
        }
        guard isQuiet, let deadline = silenceDeadline, now >= deadline else { return .nothing }
        silenceDeadline = nil
        isOnHold = false
        return .silence
    }

    /// Counts a prompt for a silent caller.
    /// - Returns: false: there have been enough prompts.
    public mutating func prompt() -> Bool {
        promptsInARow += 1
        return promptsInARow <= policy.silencePrompts
    }
}
