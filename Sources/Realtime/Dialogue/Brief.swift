/// What a call should achieve.
public struct Brief: Sendable, Equatable, Codable {
    public var purpose: String
    public var callerDisplayName: String
    public var questions: [Question]
    /// BCP 47, e.g. `en`, `ko`.
    public var language: String
    /// AI turns after which the call is brought to its end.
    public var maxTurns: Int
    /// Replace the embedded greeting and closing where set; `{caller}` and `{purpose}` are filled in.
    public var greetingTemplate: String?
    public var closingTemplate: String?

    public init(
        purpose: String, callerDisplayName: String = "", questions: [Question], language: String = "en", maxTurns: Int = 20,
        greetingTemplate: String? = nil, closingTemplate: String? = nil
    ) {
        self.purpose = purpose
        self.callerDisplayName = callerDisplayName
        self.questions = questions
        self.language = language
        self.maxTurns = maxTurns
        self.greetingTemplate = greetingTemplate
        self.closingTemplate = closingTemplate
    }
}

/// One thing that must be confirmed.
public struct Question: Sendable, Equatable, Codable, Identifiable {
    public enum Kind: String, Sendable, Codable, CaseIterable { case text, boolean, number, choice, date }
    /// `q1`, `q2`, …
    public var id: String
    public var text: String
    /// As given; `text` where the request gave a bare string.
    public var kind: Kind
    public var choices: [String]
    public var isRequired: Bool

    public init(id: String, text: String, kind: Kind = .text, choices: [String] = [], isRequired: Bool = true) {
        self.id = id
        self.text = text
        self.kind = kind
        self.choices = choices
        self.isRequired = isRequired
    }
}
