/// A message for an answering machine: said when it has finished, beep and all.
public struct VoicemailMessage: Sendable, Equatable {
    /// Silence after which the machine is taken to be recording, ms.
    public static let quietMs = 2_000
    /// A machine that does not end its greeting in this time is given up, ms; a message is cut after the same time.
    public static let limitMs = 60_000

    public let text: String
    private let giveUpAt: Int
    private var dueAt: Int?

    /// - Parameter now: an answering machine was recognised.
    public init(_ text: String, isSpeaking: Bool, at now: Int) {
        self.text = text
        giveUpAt = now + Self.limitMs
        dueAt = isSpeaking ? nil : now + Self.quietMs
    }

    public mutating func speechStarted() { dueAt = nil }
    public mutating func speechEnded(at now: Int) { dueAt = now + Self.quietMs }

    public enum Step: Sendable, Equatable { case wait, say, giveUp }
    public func step(at now: Int) -> Step {
        if now >= giveUpAt { return .giveUp }
        return dueAt.map { now >= $0 } == true ? .say : .wait
    }
}
