/// Where a call stands.
public enum CallState: String, Sendable, Codable, CaseIterable {
    case queued, dialing, ringing, connected, completed
    case noAnswer = "no_answer"
    case busy, rejected, failed, cancelled

    public var isTerminal: Bool {
        switch self {
        case .queued, .dialing, .ringing, .connected: false
        case .completed, .noAnswer, .busy, .rejected, .failed, .cancelled: true
        }
    }

    /// States of calls that have not ended.
    public static let open = allCases.filter { !$0.isTerminal }
}
