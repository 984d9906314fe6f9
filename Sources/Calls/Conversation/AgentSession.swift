internal import Pipeline
public import Realtime

/// How a call's conversation is held: by one model that hears and speaks, or by recogniser, language model and voice.
public enum ConversationMode: Sendable {
    case realtime(any SpeechModel)
    case cascade(SpeechEngines)

    /// For logs and the call's page.
    var name: String {
        switch self {
        case .realtime(let model): "realtime/" + model.name
        case .cascade: "cascade"
        }
    }
}

/// The AI's part of a call in one mode: it is told what the caller does, and speaks through the graph's `Speaker`. A
/// session performs what a pure machine decides. Confined to the loop.
///
/// Times are milliseconds since the answer.
protocol AgentSession: AnyObject {
    /// Our speech may be cut off now: not during the goodbye.
    var isInterruptible: Bool { get }
    var tracker: TaskTracker { get }
    /// The agent's tools and their calls, for the session that goes on.
    var tools: ToolLedger { get }
    var answeredBy: AnsweredBy { get }
    /// The conversation's stages and queues, and the AI's side up to the pacer's queue.
    var reading: GraphReading { get }
    /// The queue in front of the pacer.
    var speechPlan: EdgePlan { get }

    func start()
    /// Media flows: the greeting may begin.
    func mediaStarted(at now: Int)
    /// Every frame of the caller, in order, as the stages of the caller's side leave it.
    func heard(_ heard: borrowing HeardFrame, at now: Int)
    func speechStarted(at now: Int)
    /// `spokenMs` from the first to the last speech of the turn; `lastSpeechAt` is when that ended.
    func speechEnded(spokenMs: Int, lastSpeechAt: Int, at now: Int)
    /// The caller makes a pause within a turn.
    func paused(at now: Int)
    /// Words of the caller's turn in progress; nil where no recogniser tells them.
    var callerWords: Int? { get }
    /// The caller speaks without a pause, as an answering machine does.
    func monologue(at now: Int)
    /// The caller took the turn; the graph has silenced us already.
    func interrupted(at now: Int)
    /// A sound of the caller's did not take the turn; our speech goes on.
    func resumed(at now: Int)
    func key(_ digit: Character, at now: Int)
    /// A turn of ours has been heard, to its end or until it was cut off.
    func turnHeard(_ heard: String, turn: Int32, isInterrupted: Bool, at now: Int)
    /// The carrier says that an answering machine has the call.
    func answeringMachine(at now: Int)
    /// An operator wants this said now.
    func say(_ text: String, at now: Int)
    /// The longest duration is reached.
    func timeIsUp(at now: Int)
    /// An operator wants the caller handed over: the caller is told first.
    func transferRequested(at now: Int)
    /// The caller could not be handed to an operator: the conversation goes on.
    func transferFailed(at now: Int)
    /// A tool that `CallGraph.tools` has carried out has given its result.
    func toolFinished(_ number: Int, _ result: ToolResult, at now: Int)
    /// The speaker takes audio again after it was full.
    func speakerHasRoom()
    func tick(at now: Int)
    /// The call is over.
    func stop()
}
