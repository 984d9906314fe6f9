/// When to speak, listen, prompt and stop. One set of settings for every way of holding a conversation.
public struct ConversationPolicy: Sendable, Equatable {
    // MARK: Every conversation

    /// We greet as soon as media flows; else we wait to be spoken to.
    public var speaksFirst = true
    /// Said first, and not to be interrupted; a cascade says it word for word.
    public var disclosure: String?
    /// Silence of the other party after our turn until they are prompted, ms.
    public var silencePromptMs = 7_000
    /// Prompts in a row until a call with a speech model ends. (A cascade's language model decides by itself.)
    public var silencePrompts = 2
    /// Silence that is borne while a person is being fetched, ms: screening, hold, a menu.
    public var holdMs = 45_000
    /// A goodbye, or the announcement of a transfer, that does not end in this time is cut, ms.
    public var closingLimitMs = 10_000
    /// Left on an answering machine; nil: the call is ended.
    public var voicemailMessage: String?
    /// Answering machines and the like are looked for. Nobody who calls us is one.
    public var detectsMachines = true
    /// The call can be handed to a person.
    public var canTransfer = false

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
    /// The model is asked while the turn's end is still being waited for; its answer is dropped if the text changes.
    public var speculates = true
    /// A caller who has waited so long for the model's first word hears that we are at it, ms; 0: never.
    public var fillerMs = 2_500

    // MARK: Speech model

    /// From the end of the caller's turn until the response must have begun, and between two signs of life of it, ms.
    public var responseTimeoutMs = 10_000
    /// A response that came while we were still speaking waits this long for the transcript that decides about it, ms.
    public var decisionMs = 1_500
    /// Times in a row that a session that broke is opened again, or a response that failed asked for again.
    public var reconnects = 3
    /// Pause before the first of them, doubled each time, ms.
    public var reconnectDelayMs = 200

    public init() {}
}
