/// When to speak, listen, prompt and stop. One set of settings for every way of holding a conversation.
public struct ConversationPolicy: Sendable, Equatable {
    // MARK: Every conversation

    /// We greet as soon as media flows; otherwise we wait until the other party speaks.
    public var speaksFirst = true
    /// Said first, and cannot be interrupted; a cascade says it word for word.
    public var disclosure: String?
    /// Silence of the other party after our turn until they are prompted, ms.
    public var silencePromptMs = 7_000
    /// Prompts in a row until a call with a speech model ends. (A cascade's language model decides by itself.)
    public var silencePrompts = 2
    /// Silence allowed while we wait for a person, ms: screening, hold, a menu.
    public var holdMs = 45_000
    /// A goodbye, or the announcement of a transfer, is cut off after this time, ms.
    public var closingLimitMs = 10_000
    /// Left on an answering machine; nil: the call is ended.
    public var voicemailMessage: String?
    /// Answering machines and the like are detected. Incoming calls never come from one.
    public var detectsMachines = true
    /// The call can be handed to a person.
    public var canTransfer = false
    /// Keys can be pressed, for a voice menu.
    public var canPress = true

    /// Offers the model only what is listed of the dialogue's own tools; nil: all. It can always end the call.
    public mutating func offerOnly(_ tools: [String]?) {
        guard let tools else { return }
        canTransfer = canTransfer && tools.contains(DialogueTool.transferToOperator)
        canPress = canPress && tools.contains(DialogueTool.sendDTMF)
    }

    // MARK: Recogniser, language model and voice

    /// The recogniser has this long after the end of a turn, ms; then the turn counts as not understood.
    public var transcriptTimeoutMs = 6_000
    /// The model has this long for its first word, ms.
    public var modelTimeoutMs = 15_000
    /// Keys of a number are complete after this pause, ms, or after `#`.
    public var keyPauseMs = 2_500
    /// Shorter sounds that gave no text are noise, ms.
    public var noiseMs = 300
    public var endOfTurn = EndOfTurnPolicy()
    /// The model is asked before the end of the turn is certain; its answer is dropped if the text changes.
    public var speculates = true
    /// If the model's first word takes longer than this, the caller hears a filler, ms; 0: never.
    public var fillerMs = 2_500

    // MARK: Speech model

    /// The longest time from the end of the caller's turn to the begin of the response, and between two of its events,
    /// ms.
    public var responseTimeoutMs = 10_000
    /// A response that came while we were still speaking waits this long for the transcript that decides about it, ms.
    public var decisionMs = 1_500
    /// How often in a row a broken session is reopened, or a failed response is requested again.
    public var reconnects = 3
    /// The pause before the first attempt, doubled each time, ms.
    public var reconnectDelayMs = 200

    public init() {}
}
