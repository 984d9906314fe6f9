internal import DequeModule
public import Net

/// The speech-to-speech kind: a model that hears the caller and speaks itself.
public protocol SpeechModel: Sendable {
    /// The provider's name, for logs and the call's page.
    var name: String { get }
    /// Opens a session; its events go to `onEvent`. On the loop only.
    func open(_ setup: SpeechSessionSetup, on loop: EventLoop) -> any SpeechSession
}

/// The format of sound to and from a speech model.
public enum SpeechFormat: Sendable, Equatable {
    /// G.711 μ-law at 8 kHz: straight through from the carrier.
    case muLaw
    /// 16-bit little-endian linear PCM at these rates, hertz.
    case pcm(input: Int32, output: Int32)
}

/// Which side decides that the caller's turn is over.
public enum SpeechTurnDetection: Sendable, Equatable {
    /// The model's server, by silence of so many ms.
    case server(silenceMs: Int, threshold: Double, prefixMs: Int)
    /// The model's server, by what is said.
    case semantic(eagerness: String)
    /// We do, and commit.
    case manual

    /// The model's server, as it decides where nothing else is set.
    public static let byServer = SpeechTurnDetection.server(silenceMs: 700, threshold: 0.5, prefixMs: 300)
}

/// The settings of a session at its start.
public struct SpeechSessionSetup: Sendable {
    public var instructions: String
    public var tools: [DialogueToolDefinition]
    /// BCP 47.
    public var language: String
    /// What has been said so far, for a session that takes over a call.
    public var history: [ConversationItem]
    /// Of the session before, where the vendor gave one: it knows the history then.
    public var resumptionHandle: String?

    public init(
        instructions: String, tools: [DialogueToolDefinition], language: String, history: [ConversationItem] = [],
        resumptionHandle: String? = nil
    ) {
        self.instructions = instructions
        self.tools = tools
        self.language = language
        self.history = history
        self.resumptionHandle = resumptionHandle
    }
}

/// One session with a speech model. Confined to its loop.
///
/// The session keeps the vendor's rules: it never asks for a response while one is active, maps the vendor's item ids
/// to small numbers, and drops what comes of a response that was cancelled.
public protocol SpeechSession: AnyObject {
    var onEvent: ((SpeechSessionEvent) -> Void)? { get set }
    /// Sound of the model's speech, in `format`; `item` is its number. The bytes are only valid during the call.
    var onAudio: ((_ bytes: UnsafeBufferPointer<UInt8>, _ item: Int) -> Void)? { get set }
    var format: SpeechFormat { get }
    var turnDetection: SpeechTurnDetection { get }
    /// The vendor tells when the caller begins and stops to speak; else our own detector does.
    var reportsSpeech: Bool { get }
    /// With it a new session goes on where this one stopped, if the vendor has that.
    var resumptionHandle: String? { get }

    /// Whether so much waits to be sent that more sound should wait.
    var isCongested: Bool { get }
    /// Stops reading what the model sends; TCP slows it. `resumeReading` goes on where it stopped.
    func pauseReading()
    func resumeReading()
    /// Sound of the caller, in `format`.
    func hear(_ bytes: UnsafeBufferPointer<UInt8>)
    /// The caller's turn is over (`SpeechTurnDetection.manual`).
    func commitTurn()
    /// Asks for a response, after the active one if there is one; instructions hold for this response alone.
    func respond(_ instructions: String?)
    /// Stops the active response; nothing more comes of it.
    func cancelResponse()
    /// Tells the model how much of this item was heard; the model forgets the rest.
    func truncate(item: Int, heardMs: Int)
    /// The model waits for the results of its tools within its response, and goes on by itself when it has them.
    var goesOnAfterTools: Bool { get }
    /// The result of a tool; `respond` lets the model go on with it, unless it goes on by itself.
    func finishTool(callID: String, output: String)
    /// A fact the model should know, e.g. keys the caller pressed.
    func note(_ text: String)
    func close()
}

extension SpeechSession {
    public var goesOnAfterTools: Bool { false }
}

public enum SpeechSessionEvent: Sendable, Equatable {
    /// Configured: sound may be sent.
    case ready
    case callerSpeechStarted
    case callerSpeechStopped
    /// What the caller said; comes late, and out of step with the response. `startMs`, `endMs` count the sound sent.
    case callerTranscript(text: String, startMs: Int?, endMs: Int?)
    /// `isRequested`: by `respond`; else the server answers the caller by itself.
    case responseStarted(isRequested: Bool)
    /// Words of an item, as they are generated.
    case text(String, item: Int)
    /// An item's speech has been generated to its end.
    case itemFinished(item: Int)
    case toolCall(callID: String, name: String, arguments: String)
    case responseFinished(SpeechResponseStatus)
    /// What the vendor counts for a response.
    case usage(TokenUsage)
    /// The model's server cut its own response off because the caller spoke.
    case interruptedByServer
    /// Something the operator should see; the session goes on.
    case warning(String)
    /// The session will end soon by the vendor's limit: a new one should take over.
    case expiring
    /// The session is over; `isFatal`: the same request would fail again (key, model, quota).
    case closed(reason: String, isFatal: Bool)
}

public enum SpeechResponseStatus: Sendable, Equatable {
    case completed, cancelled, incomplete
    case failed(String)
}

/// Requests for responses that wait until the session can take them.
struct WaitingRequests<Request> {
    /// The most that wait; beyond them the oldest is dropped, as it is out of date.
    static var limit: Int { 16 }
    private var requests: Deque<Request> = []

    var isEmpty: Bool { requests.isEmpty }
    mutating func append(_ request: Request) {
        if requests.count >= Self.limit { requests.removeFirst() }
        requests.append(request)
    }
    mutating func prepend(_ request: Request) { if requests.count < Self.limit { requests.prepend(request) } }
    mutating func removeFirst() -> Request { requests.removeFirst() }
    mutating func removeAll() { requests.removeAll() }
}

/// A tool as every vendor wants it: its name, its purpose, and a JSON Schema of its arguments.
public struct DialogueToolDefinition: Sendable, Equatable {
    public var name: String
    public var purpose: String
    /// JSON Schema (2020-12) as text.
    public var parameters: String
    /// It may take seconds: the conversation goes on meanwhile.
    public var isSlow = false
    public init(name: String, purpose: String, parameters: String, isSlow: Bool = false) {
        self.name = name
        self.purpose = purpose
        self.parameters = parameters
        self.isSlow = isSlow
    }
}

extension CallTool {
    public var definition: DialogueToolDefinition {
        DialogueToolDefinition(name: name, purpose: purpose, parameters: parameters, isSlow: true)
    }
}
