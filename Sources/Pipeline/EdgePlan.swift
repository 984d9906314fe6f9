/// What a queue does with a payload it has no room for.
public enum WhenFull: String, Sendable, Codable {
    /// The producer waits: for whatever can wait (text, synthesised speech).
    case wait
    /// The oldest payload is dropped and counted: for live audio, which cannot wait.
    case dropOldest = "drop_oldest"
    /// The source's socket is not read until there is room, so that TCP slows the far end.
    case pauseSource = "pause_source"
}

/// The declaration of a queue: which stages it joins, how much it holds, and what happens when it is full.
public struct EdgePlan: Sendable, Equatable {
    public var name: String
    /// The names of the stages before and behind it.
    public var from: String
    public var to: String
    /// The most payloads held, at least 1.
    public var limit: Int
    public var whenFull: WhenFull

    public init(_ name: String, from: String = "", to: String = "", limit: Int, whenFull: WhenFull) {
        self.name = name
        self.from = from
        self.to = to
        self.limit = max(1, limit)
        self.whenFull = whenFull
    }
}
