/// A whole conversation as text: the machine of the cascade and the embedded policy, on a clock made of numbers. No
/// sound, no network, and no tool has an effect.
public struct TextSimulation {
    /// What the other party does.
    public enum Step: Sendable, Equatable {
        case says(String)
        /// Keys of the telephone, one after the other.
        case presses(String)
        case isSilent
    }

    /// What was said, in order.
    public struct Line: Sendable, Equatable {
        public enum Speaker: Sendable, Equatable { case ai, customer }
        public var speaker: Speaker
        public var text: String
    }

    /// The clock, ms: how long a step takes, and how finely silence passes.
    private static let ourTurnMs = 2_000, pauseMs = 500, speechMs = 1_000, spokenMs = 900, tickMs = 100
    /// Longest silence of a step: two prompts and the end come within it.
    private static let silenceLimitMs = 60_000
    /// Responses of one step, so that no machine can keep us.
    private static let responseLimit = 50

    private var machine: DialogueMachine
    private let policy: ConversationPolicy
    private var now = 0
    private var responses = 0
    /// Our turn, as far as it goes.
    private var spoken: [String] = []
    public private(set) var lines: [Line] = []
    public private(set) var end: EndReason?
    public private(set) var isTransferred = false

    public init(_ brief: Brief, policy: ConversationPolicy) {
        self.policy = policy
        machine = DialogueMachine(brief: brief, canRecognizeSpeech: true, policy: policy)
        perform(machine.mediaStarted(at: 0))
        flush()
    }

    public var answers: [Answer] { machine.conversation.tracker.answers }
    public var isOver: Bool { end != nil || isTransferred }

    public mutating func take(_ step: Step) {
        guard !isOver else { return }
        responses = 0
        now += Self.pauseMs
        switch step {
        case .says(let text):
            lines.append(Line(speaker: .customer, text: text))
            perform(machine.speechStarted(at: now))
            now += Self.speechMs
            perform(machine.speechEnded(spokenMs: Self.spokenMs, at: now))
            perform(machine.transcript(.final(text: text, confidence: nil), at: now))
        case .presses(let keys):
            lines.append(Line(speaker: .customer, text: keys))
            for key in keys { perform(machine.key(key, at: now)) }
            wait(atMost: policy.keyPauseMs + Self.tickMs)
        case .isSilent: wait(atMost: Self.silenceLimitMs)
        }
        flush()
    }

    /// Time passes until something is said, or the limit is reached.
    private mutating func wait(atMost limit: Int) {
        let end = now + limit
        while now < end, spoken.isEmpty, !isOver {
            now += Self.tickMs
            perform(machine.tick(at: now))
        }
    }

    private mutating func perform(_ actions: [DialogueMachine.Action]) {
        for action in actions {
            switch action {
            case .requestModel(let conversation, let generation):
                responses += 1
                guard responses <= Self.responseLimit else { return }
                for event in EmbeddedPolicy.events(for: conversation) {
                    perform(machine.model(event, generation: generation, at: now))
                }
                perform(machine.modelFinished(generation: generation, at: now))
            case .speak(let text, _): spoken.append(text)
            case .disclose(let text, _):
                spoken.append(text)
                machine.disclosureHeard()
            case .turnComplete(let turn):
                now += Self.ourTurnMs
                let text = spoken.joined(separator: " ")
                flush()
                perform(machine.turnHeard(text, turn: turn, isInterrupted: false, at: now))
            case .hangUp(let reason): end = end ?? reason
            case .transfer: isTransferred = true
            default: break
            }
        }
    }

    private mutating func flush() {
        guard !spoken.isEmpty else { return }
        lines.append(Line(speaker: .ai, text: spoken.joined(separator: " ")))
        spoken = []
    }
}
