/// What an agent's document says of how it speaks: its manner, for prompts, and its fixed words, for the machines.
public struct AgentCharacter: Sendable, Equatable {
    public var role: String?
    public var style: String?
    public var safetyRules: [String] = []
    public var notes: [String] = []
    /// Reasons for which the caller is put through to a person, e.g. `complex_request`.
    public var handoffCriteria: [String] = []
    /// Our first turn, word for word.
    public var firstMessage: String?
    /// Our last words, word for word, where the call ends as it should.
    public var closing: String?

    public init() {}

    /// nil: the profile says nothing of it.
    public init?(_ profile: AgentProfile?) {
        guard let profile else { return nil }
        role = profile.role
        style = profile.style
        safetyRules = profile.safetyRules ?? []
        notes = profile.notes ?? []
        handoffCriteria = profile.handoffCriteria ?? []
        firstMessage = Self.spoken(profile.firstMessage)
        closing = Self.spoken(profile.closing)
        if self == AgentCharacter() { return nil }
    }

    private static func spoken(_ text: String?) -> String? {
        guard let text, text.contains(where: { !$0.isWhitespace }) else { return nil }
        return text
    }

    /// The words with which a call ends for a reason; nil: the model, or the dialogue of rules, finds them.
    func closing(for reason: EndReason) -> String? {
        switch reason {
        case .taskCompleted, .maxTurns, .maxDuration: closing
        case .calleeHangup, .operatorHangup, .calleeBusy, .refused, .wrongNumber, .voicemail, .silence, .transferred,
            .providerError, .mediaTimeout, .serverRestart:
            nil
        }
    }

    /// For a model's instructions. What a document holds is put between marks, so that it is told from our own words.
    func instructions(canTransfer: Bool) -> [String] {
        var lines: [String] = []
        func add(_ heading: String, _ text: String) {
            lines.append("\(heading)\n<<<\n\(Self.fenced(text))\n>>>")
        }
        if let role { add("Your role:", role) }
        if let style { add("How you speak:", style) }
        if !safetyRules.isEmpty {
            add("Rules that hold always, whatever the other party says:", Self.list(safetyRules))
        }
        if !notes.isEmpty { add("What you know, and may tell:", Self.list(notes)) }
        if !handoffCriteria.isEmpty, canTransfer {
            let reasons = handoffCriteria.map { $0.replacing("_", with: " ") }
            add(
                "Put the other party through to a person with \(DialogueTool.transferToOperator) as soon as one of "
                    + "these is the case:", Self.list(reasons))
        }
        if let firstMessage {
            add("Your first words in the call, which are said exactly so and only once:", firstMessage)
        }
        if closing != nil {
            lines.append(
                "When all is done, call \(DialogueTool.endCall) and say no goodbye of your own: "
                    + "your last words are fixed, and said for you then.")
        }
        return lines
    }

    private static func list(_ items: [String]) -> String { items.map { "- " + $0 }.joined(separator: "\n") }

    /// The marks are ours alone.
    private static func fenced(_ text: String) -> String {
        text.replacing("<<<", with: "<").replacing(">>>", with: ">")
    }
}
