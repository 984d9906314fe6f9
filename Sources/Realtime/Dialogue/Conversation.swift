/// An event of the conversation, as it is told to the model.
public enum ConversationItem: Sendable, Equatable {
    /// The callee answered and media flows.
    case connected
    /// Another mode of the conversation failed, and this one continues it.
    case takenOver
    /// What the callee heard of our turn.
    case assistant(heard: String, isInterrupted: Bool)
    /// A turn of the callee; empty text stands for speech that could not be understood.
    case caller(String)
    /// The words before are the likeliest, but others are nearly as likely.
    case uncertain
    /// Keys pressed (0–9, *, #).
    case keys(String)
    /// Nothing was said for as long as `ConversationPolicy.silencePromptMs`.
    case silence
    /// The callee's first turn went on without a pause, as an answering machine's does.
    case monologue
    /// The caller's turn came from an automatic assistant that asks who is calling and why.
    case screened
    /// The caller's turn came from a voice menu.
    case menu
    /// The keys we wanted to press could not be sent.
    case keysRefused
    /// The caller asked for a person, but no person could take the call.
    case transferFailed
    /// The maximum duration is nearly reached: say goodbye.
    case timeIsUp
    /// The model has called a tool of the agent's.
    case toolCalled(ToolCall)
    /// What the tool has given, as far as the model is told.
    case toolResult(ToolCall, ToolResult)
}

/// The conversation so far: all that a language model needs for its next response.
public struct Conversation: Sendable, Equatable {
    public var brief: Brief
    public var items: [ConversationItem]
    public var tracker: TaskTracker
    /// Whether the callee's speech can be recognised in this language; if not, answers come by keypad.
    public var canRecognizeSpeech: Bool
    /// The other end may be an answering machine.
    public var detectsMachines = true
    /// The call can be handed to an operator.
    public var canTransfer = false
    /// Keys can be pressed, for a voice menu.
    public var canPress = true
    /// What the model may call beside the dialogue's own tools.
    public var tools: [CallTool] = []
    /// What was found about the caller's last question.
    public var knowledge: [KnowledgeHit] = []
    /// What a response had said when its model failed; the next response continues it.
    public var unfinished = ""
    /// Unique while the server runs.
    public let id = UInt64.random(in: .min ... .max)

    public init(brief: Brief, canRecognizeSpeech: Bool = true) {
        self.brief = brief
        self.items = []
        self.tracker = TaskTracker(questions: brief.questions)
        self.canRecognizeSpeech = canRecognizeSpeech
    }

    /// Events since our last turn, oldest first.
    public var sinceLastTurn: ArraySlice<ConversationItem> {
        let start = items.lastIndex { if case .assistant = $0 { true } else { false } }.map { $0 + 1 } ?? 0
        return items[start...]
    }

    /// Prompts about silence in a row, up to now.
    public var silencesInARow: Int {
        var count = 0
        for item in items.reversed() {
            switch item {
            case .silence: count += 1
            case .assistant, .keysRefused, .uncertain, .toolCalled, .toolResult: continue
            case .connected, .takenOver, .caller, .keys, .monologue, .screened, .menu, .transferFailed, .timeIsUp:
                return count
            }
        }
        return count
    }

    public var callerTurns: Int { items.count { if case .caller = $0 { true } else { false } } }
}

/// Why a connected call ended.
public enum EndReason: String, Sendable, Codable, CaseIterable {
    case taskCompleted = "task_completed"
    case calleeHangup = "callee_hangup"
    case operatorHangup = "operator_hangup"
    case maxDuration = "max_duration"
    case maxTurns = "max_turns"
    case calleeBusy = "callee_busy"
    case refused
    case wrongNumber = "wrong_number"
    case voicemail
    case silence
    case transferred
    case providerError = "provider_error"
    case mediaTimeout = "media_timeout"
    case serverRestart = "server_restart"
}
