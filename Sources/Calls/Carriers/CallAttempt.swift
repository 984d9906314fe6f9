public import Bridge
internal import Foundation
public import Logging
internal import Pipeline
public import Realtime

/// Everything an attempt needs from outside.
public struct CallLine: Sendable {
    public var userAgent: UserAgent
    /// nil: Twilio is asked to place no calls.
    public var twilio: TwilioCarrier?
    /// Ways to hold a conversation in a language, best first; what they use is counted.
    public var modes: @Sendable (_ language: String, UsageMeter) -> [ConversationMode]
    public var store: CallStore
    public var logger: Logger
    /// nil: there are none.
    public var operators: OperatorDirectory?
    /// A voice for what is said outside conversations; what it uses is counted.
    public var voice: @Sendable (_ language: String, UsageMeter) -> any TextToSpeech
    /// nil: there is nothing to keep in touch with.
    public var trunks: TrunkKeeper?
    public let calls = ProviderCalls()
    public let trunk = TrunkHealth()
    public init(
        userAgent: UserAgent, twilio: TwilioCarrier? = nil, modes: @escaping @Sendable (_ language: String, UsageMeter) -> [ConversationMode],
        voice: @escaping @Sendable (_ language: String, UsageMeter) -> any TextToSpeech, operators: OperatorDirectory? = nil, store: CallStore,
        logger: Logger
    ) {
        self.voice = voice
        self.operators = operators
        self.userAgent = userAgent
        self.twilio = twilio
        self.modes = modes
        self.store = store
        self.logger = logger
    }

    /// Recogniser, model and voice, where they are one of the ways.
    func cascade(_ language: String, _ usage: UsageMeter) -> SpeechEngines? {
        for case .cascade(let engines) in modes(language, usage) { return engines }
        return nil
    }
}

/// One attempt of an outbound call, whoever carries it: a SIP trunk or a provider.
protocol CallAttempt: Actor {
    /// Runs the attempt to its end; when it returns, all of it is stored.
    func run() async
    /// Gives the call up before it is answered.
    func cancel()
    /// Ends a connected call; one that still rings is cancelled.
    func hangUp(_ reason: EndReason)
    /// Has something said to a connected callee. False: it cannot be done now.
    func say(_ text: String) async -> Bool
    /// Has a connected callee handed to a person. False: it cannot be done now.
    func transfer(to choice: TransferChoice, mode: CallSettings.TransferMode?) async -> Bool
    /// Queue depths of the conversation.
    var edges: [EdgeReading] { get async }
}

/// A conversation that somebody else's leg carries.
protocol CarriedConversation: Actor {
    func hangUp(_ reason: EndReason) async
    /// An answering machine has the call.
    func answeringMachine() async
    func say(_ text: String) async -> Bool
    func transfer(to choice: TransferChoice, mode: CallSettings.TransferMode?) async -> Bool
    var edges: [EdgeReading] { get }
}
