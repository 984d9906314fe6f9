/// Where in a call a stage stands.
public enum Lane: String, Sendable, Codable {
    /// From the caller to the conversation.
    case caller
    case conversation
    /// From the conversation to the caller.
    case ai
}

/// What a stage reports of itself.
public struct StageReading: Sendable, Equatable, Codable {
    public var name: String
    public var lane: Lane
    /// Frames, sentences, events: whatever the stage takes in.
    public var frames: Int
    /// Milliseconds for one of them, on average and at worst: of computing, or for a service until its first answer.
    /// nil: not measured yet.
    public var meanMs: Double?
    public var worstMs: Double?

    public init(name: String, lane: Lane, frames: Int, meanMs: Double? = nil, worstMs: Double? = nil) {
        self.name = name
        self.lane = lane
        self.frames = frames
        self.meanMs = meanMs
        self.worstMs = worstMs
    }

    // Short: each call's final figures are stored.
    enum CodingKeys: String, CodingKey { case name = "n", lane = "l", frames = "f", meanMs = "m", worstMs = "w" }
}

/// What an edge reports of itself.
public struct EdgeReading: Sendable, Equatable, Codable {
    public var name: String
    public var from: String
    public var to: String
    /// Payloads queued now, and the most there ever were.
    public var depth: Int
    public var peakDepth: Int
    public var limit: Int
    /// Milliseconds the oldest queued payload has waited.
    public var oldestMs: Int
    public var sent: Int
    public var dropped: Int
    /// Times that a producer had to wait for room, or was stopped.
    public var waits: Int
    public var whenFull: WhenFull

    public init(
        _ plan: EdgePlan, depth: Int, peakDepth: Int, oldestMs: Int, sent: Int, dropped: Int, waits: Int
    ) {
        name = plan.name
        from = plan.from
        to = plan.to
        limit = plan.limit
        whenFull = plan.whenFull
        self.depth = depth
        self.peakDepth = peakDepth
        self.oldestMs = oldestMs
        self.sent = sent
        self.dropped = dropped
        self.waits = waits
    }

    enum CodingKeys: String, CodingKey {
        case name = "n", from = "f", to = "t", depth = "d", peakDepth = "p", limit = "l", oldestMs = "o", sent = "s"
        case dropped = "x", waits = "w", whenFull = "u"
    }
}

/// Two stages that follow each other without a queue.
public struct LinkReading: Sendable, Equatable, Codable {
    public var from: String
    public var to: String
    public init(from: String, to: String) {
        self.from = from
        self.to = to
    }
    enum CodingKeys: String, CodingKey { case from = "f", to = "t" }

    /// Each stage to the next.
    public static func chain(_ names: [String]) -> [LinkReading] {
        zip(names, names.dropFirst()).map { LinkReading(from: $0, to: $1) }
    }
}

/// A call's graph at one moment: its stages in flow order, and what joins them.
public struct GraphReading: Sendable, Equatable, Codable {
    /// How the conversation is held, e.g. `realtime/openai`, `cascade`, `turn-based`.
    public var mode: String?
    public var stages: [StageReading]
    public var links: [LinkReading]
    public var edges: [EdgeReading]

    public init(
        mode: String? = nil, stages: [StageReading] = [], links: [LinkReading] = [], edges: [EdgeReading] = []
    ) {
        self.mode = mode
        self.stages = stages
        self.links = links
        self.edges = edges
    }

    enum CodingKeys: String, CodingKey { case mode = "m", stages = "s", links = "k", edges = "e" }
}
