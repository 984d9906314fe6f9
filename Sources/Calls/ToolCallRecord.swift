internal import Realtime

/// One call of a tool of the agent's, as it is kept with the call.
public struct ToolCallRecord: Sendable, Equatable, Codable {
    /// Kept of one call.
    static let limit = ToolLedger.callLimit

    public var name: String
    /// Of the tool.
    public var revision: Int
    /// How many entries the transcript had when it was called.
    public var turn: Int
    /// As the model wrote them: JSON text. Empty where no transcript is kept.
    public var arguments: String
    /// What the model was told: JSON text. Empty where no transcript is kept.
    public var result: String
    /// `ok`, or the word of what went wrong; `cancelled`: the call ended first.
    public var status: String
    /// From the tool's call to its result, ms.
    public var ms: Int
    /// Requests that were made for it; 0: it was refused.
    public var attempts: Int

    init(_ call: ToolCall, _ result: ToolResult, turn: Int, ms: Int) {
        name = call.name
        revision = call.revision
        self.turn = turn
        arguments = call.arguments
        self.result = String(result.output.prefix(ToolResult.limit))
        status = result.status
        self.ms = ms
        attempts = result.attempts
    }
}
