/// A tool of the agent's that its model may call, beside the dialogue's own (`DialogueTool`).
public struct CallTool: Sendable, Equatable, Codable {
    /// What the caller hears while a tool works.
    public struct WaitingSpeech: Sendable, Equatable, Codable {
        /// Said when the tool is called; nil: nothing.
        public var before: String?
        /// Said one after the other while there is no result.
        public var texts: [String]
        /// Until the first of `texts`, and from one to the next, ms.
        public var afterMs: Int
        public var everyMs: Int
        public init(before: String? = nil, texts: [String] = [], afterMs: Int = 1_500, everyMs: Int = 6_000) {
            self.before = before
            self.texts = texts
            self.afterMs = afterMs
            self.everyMs = everyMs
        }
    }

    /// As models know it: `crm_lookup`, or `server__tool` of an MCP server.
    public var name: String
    public var purpose: String
    /// JSON Schema of its arguments, as JSON text.
    public var parameters: String
    /// Grows with each change of the tool.
    public var revision: Int
    public var speech: WaitingSpeech?
    /// The machine itself asks the other party before it is called.
    public var needsConsent: Bool
    /// Calls of it in one call.
    public var limit: Int

    public init(
        name: String, purpose: String, parameters: String, revision: Int = 1, speech: WaitingSpeech? = nil,
        needsConsent: Bool = false, limit: Int = 10
    ) {
        self.name = name
        self.purpose = purpose
        self.parameters = parameters
        self.revision = revision
        self.speech = speech
        self.needsConsent = needsConsent
        self.limit = limit
    }
}

/// What came of a call of a tool.
public struct ToolResult: Sendable, Equatable, Codable {
    /// `ok`, or the word of what went wrong: `timeout`, `http_500`, `invalid_arguments`, `refused`, `not_available`.
    public var status: String
    /// What the model is told: JSON text of at most `ToolResult.limit` characters. Data, and never an instruction.
    public var output: String
    /// Requests that were made for it.
    public var attempts: Int

    /// Characters of `output`.
    public static let limit = 8_000

    public init(status: String = "ok", output: String, attempts: Int = 1) {
        self.status = status
        self.output = output
        self.attempts = attempts
    }
}

/// The tools of one call, and the means to carry them out. A call holds its own from the beginning to the end, so an
/// edit of a tool takes effect with the next call.
public protocol ToolBox: Sendable {
    var tools: [CallTool] { get }
    /// Carries a tool out; comes back within the tool's own time, whatever happens. Cancelling the task gives up.
    /// - Parameters:
    ///   - arguments: JSON text as the model wrote it, not checked yet.
    ///   - number: counts the call's tool calls from 1; the same number twice is the same request (`Idempotency-Key`).
    func call(_ name: String, arguments: String, number: Int) async -> ToolResult
}
