internal import Pipeline
internal import Realtime

/// What a call is made of, top to bottom, in every mode: SIP leg, provider's stream, browser and turn-based call.
///
///     stream ─▶ receive ─▶ voice-activity ─▶ turns ─▶ barge-in ─┐             fused, on the call's loop
///                                                               │
///     cascade   │heard│ ▶ speech-to-text ▶ │transcripts│ ▶ dialogue
///                                          dialogue ▶ │requests│ ▶ language-model ▶ │responses│ ▶ dialogue
///                                          dialogue ▶ │sentences│ ▶ text-to-speech ▶ │audio│
///     realtime  │heard│ ▶ speech-model
///                                                               │
///     stream ◀─ pacer ◀─ │speech│ ◀─ encode ◀─ frame ◀─ resample ◀─┘             as far as the source needs it
///
/// Between two edges stages are fused: they run one after the other within the socket's callback. An edge stands where
/// a task or a vendor begins; it is bounded, and says what happens when it is full. `GET …/graph` and the call's page
/// show what this file declares. A new stage of the caller's side is a line in `callerStages`.
enum CallLayout {
    // MARK: The caller's side

    static let receive = "receive"

    /// In flow order.
    static func callerStages(_ settings: CallGraph.Settings) -> [any CallerStage] {
        [
            VoiceActivityStage(settings.voiceActivity, trained: settings.trainedDetector?()),
            TurnStage(settings.detector),
            BargeInStage(settings.bargeIn),
        ]
    }

    /// Stands for the last stage of the caller's side, whichever that is.
    static let endOfCallerStages = "caller"

    /// Edges with the name of the caller's last stage in place of `endOfCallerStages`.
    /// - Parameter caller: the stages of the caller's side, in flow order.
    static func edges(_ edges: [EdgeReading], behind caller: [String]) -> [EdgeReading] {
        edges.map { edge in
            guard edge.from == endOfCallerStages, let last = caller.last else { return edge }
            var edge = edge
            edge.from = last
            return edge
        }
    }

    // MARK: The conversation

    /// The session that holds the conversation in a mode.
    static func session(
        _ mode: ConversationMode, of graph: CallGraph, brief: Brief, tracker: TaskTracker?, tools: ToolLedger
    ) -> any AgentSession {
        switch mode {
        case .cascade(let engines):
            CascadeSession(graph: graph, engines: engines, brief: brief, tracker: tracker, tools: tools)
        case .realtime(let model):
            RealtimeSession(graph: graph, model: model, brief: brief, tracker: tracker, tools: tools)
        }
    }

    static let speechToText = "speech-to-text"
    static let dialogue = "dialogue"
    static let languageModel = "language-model"
    static let textToSpeech = "text-to-speech"
    static let speechModel = "speech-model"

    /// The caller's sound, 10 s of it: live, so that a recogniser that falls behind loses the oldest.
    static let heard = EdgePlan(
        "heard", from: endOfCallerStages, to: speechToText, limit: 500, whenFull: .dropOldest)
    /// The same from a recording, in a turn-based call: a file can wait.
    static let heardFromFile = EdgePlan(
        "heard", from: endOfCallerStages, to: speechToText, limit: 500, whenFull: .wait)
    /// The same for a speech model; filled while it has no session, or takes nothing in.
    static let heardByModel = EdgePlan(
        "heard", from: endOfCallerStages, to: speechModel, limit: 500, whenFull: .dropOldest)
    static let transcripts = EdgePlan("transcripts", from: speechToText, to: dialogue, limit: 64, whenFull: .wait)
    static let requests = EdgePlan("requests", from: dialogue, to: languageModel, limit: 4, whenFull: .wait)
    static let responses = EdgePlan("responses", from: languageModel, to: dialogue, limit: 64, whenFull: .wait)
    static let sentences = EdgePlan("sentences", from: dialogue, to: textToSpeech, limit: 128, whenFull: .wait)
    /// 5 s of what the voice makes.
    static let audio = EdgePlan("audio", from: textToSpeech, to: SpokenChain.encode, limit: 256, whenFull: .wait)

    /// 30 s of a speech model's response that waits until it is decided whether the caller's sound was worth our
    /// sentence; then its connection is not read.
    static let undecided = EdgePlan("undecided", from: speechModel, to: pacer, limit: 1_500, whenFull: .pauseSource)

    // MARK: The AI's side

    static let pacer = "pacer"
    /// 10 s that wait to be sent; then the voice waits.
    static let speech = EdgePlan("speech", from: SpokenChain.encode, to: pacer, limit: 500, whenFull: .wait)
    /// 30 s: then the model's connection is not read until half of it has been spoken. Less would hold back what the
    /// model says about the caller, which comes by the same connection.
    static func speechOfModel(from stage: String) -> EdgePlan {
        EdgePlan("speech", from: stage, to: pacer, limit: 1_500, whenFull: .pauseSource)
    }
}
