public import Bridge
internal import Foundation
public import Logging
public import Net
public import Pipeline
public import Realtime

/// Everything an attempt needs from outside.
public struct CallLine: Sendable {
    public var userAgent: any SIPTransport
    /// Where the RTP of our legs comes and goes.
    public var network: any DatagramNetwork = SystemDatagrams()
    /// Where media streams to other servers are opened.
    public var streams: any StreamConnector = SystemStreams()
    public var carriers: Carriers
    /// Ways to hold a conversation in a language, best first; what they use is counted.
    public var modes: @Sendable (_ language: String, UsageMeter) -> [ConversationMode]
    /// The agent's tools in a call; nil: it has none.
    public var toolBox: @Sendable (Call) -> (any ToolBox)? = { _ in nil }
    public var store: CallStore
    public var logger: Logger
    /// nil: there are none.
    public var operators: OperatorDirectory?
    /// A voice for what is said outside conversations; what it uses is counted.
    public var voice: @Sendable (_ language: String, UsageMeter) -> any TextToSpeech
    /// nil: there is nothing to keep in touch with.
    public var trunks: TrunkKeeper?
    public let calls = ProviderCalls()
    /// How loud the connected calls are.
    public let levels = LiveLevels()
    public let trunk = TrunkHealth()
    public init(
        userAgent: any SIPTransport, carriers: Carriers = Carriers(),
        modes: @escaping @Sendable (_ language: String, UsageMeter) -> [ConversationMode],
        voice: @escaping @Sendable (_ language: String, UsageMeter) -> any TextToSpeech,
        operators: OperatorDirectory? = nil, store: CallStore,
        logger: Logger
    ) {
        self.voice = voice
        self.operators = operators
        self.userAgent = userAgent
        self.carriers = carriers
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

/// The operations on a call in progress, the same for every carrier.
protocol LiveCall: Actor {
    /// Ends a connected call; one that still rings is cancelled.
    func hangUp(_ reason: EndReason) async
    /// Has something said to the other party. False: it cannot be done now.
    func say(_ text: String) async -> Bool
    /// Has the other party handed to a person. False: it cannot be done now.
    func transfer(to choice: TransferChoice, mode: CallSettings.TransferMode?) async -> Bool
    /// A person at a separate stream takes the AI's place, once the other party has been told. False: it cannot be
    /// done now.
    func takeOver(_ person: StreamedPerson) async -> Bool
    /// Sends both sides to a listener too, until `stopListening`. False: it cannot be done now.
    func listen(_ listener: CallListener) async -> Bool
    func stopListening(_ id: CallListener.ID) async
    /// The conversation's stages and queues as they are now; nil: there is none yet.
    var reading: GraphReading? { get async }
}

/// One attempt of an outbound call.
protocol CallAttempt: LiveCall {
    /// Runs the attempt to its end; when it returns, all of it is stored.
    func run() async
    /// Gives the call up before it is answered.
    func cancel()
}

/// An attempt whose conversation comes by a leg of a carrier's, and may not be there yet.
protocol CarriedAttempt: CallAttempt {
    var conversation: (any CarriedConversation)? { get }
}

extension CarriedAttempt {
    func say(_ text: String) async -> Bool { await conversation?.say(text) ?? false }
    func transfer(to choice: TransferChoice, mode: CallSettings.TransferMode?) async -> Bool {
        await conversation?.transfer(to: choice, mode: mode) ?? false
    }
    func takeOver(_ person: StreamedPerson) async -> Bool { await conversation?.takeOver(person) ?? false }
    func listen(_ listener: CallListener) async -> Bool { await conversation?.listen(listener) ?? false }
    func stopListening(_ id: CallListener.ID) async { await conversation?.stopListening(id) }
    var reading: GraphReading? {
        get async { await conversation?.reading }
    }
}

/// A call whose conversation is a graph on its own loop.
protocol GraphCall: LiveCall {
    var host: ConversationHost? { get }
}

extension GraphCall {
    var graph: CallGraph? { host?.graph }
    func say(_ text: String) -> Bool {
        graph?.say(text)
        return graph != nil
    }
    func transfer(to choice: TransferChoice, mode: CallSettings.TransferMode?) -> Bool {
        host?.transfer.request(choice, mode) ?? false
    }
    func takeOver(_ person: StreamedPerson) -> Bool { host?.transfer.takeOver(person) ?? false }
    func listen(_ listener: CallListener) -> Bool { graph?.listen(listener) ?? false }
    func stopListening(_ id: CallListener.ID) { graph?.stopListening(id) }
    var reading: GraphReading? { graph?.reading }
}

/// A conversation whose leg is a carrier's.
protocol CarriedConversation: LiveCall {
    /// An answering machine has the call.
    func answeringMachine() async
}

/// A person at the other end of a media stream, on whatever loop.
struct StreamedPerson: Sendable {
    var name: String
    var stream: Confined<any MediaStream>
    var loop: EventLoop
}

/// A listener hears a call without being a party of it.
public struct CallListener: Sendable {
    public typealias ID = UInt64
    public enum Heard: Sendable {
        case frame(EncodedFrame, MediaTrack)
        /// The call is over.
        case ended
    }
    /// Listeners of one call.
    static let limit = 10

    public let id = ID.random(in: .min ... .max)
    /// Called on the call's loop: it must not wait.
    public let hear: @Sendable (Heard) -> Void
    public init(_ hear: @escaping @Sendable (Heard) -> Void) { self.hear = hear }
}
