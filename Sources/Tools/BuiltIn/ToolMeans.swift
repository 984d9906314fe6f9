public import Foundation
public import JSON
public import Realtime

/// What the built-in tools need of the call that they are called in. A tool without its means is not among the call's.
public struct ToolMeans: Sendable {
    /// A call back that the model asks for.
    public struct Callback: Sendable, Equatable {
        public var at: Date
        public var reason: String
        public init(at: Date, reason: String) {
            self.at = at
            self.reason = reason
        }
    }

    /// What became of it.
    public enum CallbackAnswer: Sendable, Equatable {
        /// When the new call is placed: later than asked where the calling hours want that.
        case scheduled(Date)
        /// In words for the model.
        case refused(String)
    }

    /// Places a new call: the same agent, the callee's zone and calling hours. nil: no calls can be placed.
    public var scheduleCall: (@Sendable (Callback) async -> CallbackAnswer)?
    /// Sends a text message to the other party. nil: no carrier can.
    public var sendSMS: (@Sendable (String) async throws -> Void)?
    /// Searches the knowledge that the agent may use. nil: there is none.
    public var search: (@Sendable (String) async -> [KnowledgeHit])?
    /// What is known of the answers now, for `{{answers.ID}}`.
    public var answers: @Sendable () -> [String: JSONValue] = { [:] }

    public init() {}

    /// Milliseconds for a built-in tool.
    static let timeoutMs = 5_000
}
