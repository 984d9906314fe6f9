/// A rule that a server of a dialect keeps, and how it is judged.
public struct ConformanceRule: Sendable {
    /// Lower case with hyphens, unique within a dialect.
    public var name: String
    /// The vendor's rule, in one sentence.
    public var text: String
    /// Where it stands: a URL.
    public var source: String
    var judge: Judge

    enum Judge: Sendable {
        /// Of each message of the application; `Double?` is the rule's own memory.
        case message(@Sendable (WireMessage, RuleContext, inout Double?) -> Observation)
        /// Of what the conversation as a whole was like.
        case stream(@Sendable (StreamFacts) -> Finding)
    }

    /// A rule about each message that the application sends.
    public static func message(
        _ name: String, _ text: String, _ source: String,
        _ judge: @escaping @Sendable (WireMessage, RuleContext) -> Observation
    ) -> ConformanceRule {
        ConformanceRule(
            name: name, text: text, source: source,
            judge: .message { message, context, _ in
                judge(message, context)
            })
    }

    /// The same with a number to remember from one message to the next.
    public static func counting(
        _ name: String, _ text: String, _ source: String,
        _ judge: @escaping @Sendable (WireMessage, RuleContext, inout Double?) -> Observation
    ) -> ConformanceRule {
        ConformanceRule(name: name, text: text, source: source, judge: .message(judge))
    }

    /// A rule about the conversation.
    public static func stream(
        _ name: String, _ text: String, _ source: String, _ judge: @escaping @Sendable (StreamFacts) -> Finding
    ) -> ConformanceRule {
        ConformanceRule(name: name, text: text, source: source, judge: .stream(judge))
    }
}

/// What one message says of a rule.
public enum Observation: Sendable, Equatable {
    /// The rule is not about it.
    case other
    case right
    /// What is wrong, without the message's content.
    case wrong(String)

    /// - Parameter problem: nil: right.
    public static func of(_ problem: String?) -> Observation { problem.map { .wrong($0) } ?? .right }
}

/// What became of a rule.
public struct Finding: Sendable, Equatable {
    public enum Verdict: String, Sendable {
        case pass
        case fail = "FAIL"
        /// It could not be judged.
        case notSeen = "not seen"
    }
    public var verdict: Verdict
    /// One sentence.
    public var seen: String

    public static func pass(_ seen: String) -> Finding { Finding(verdict: .pass, seen: seen) }
    public static func fail(_ seen: String) -> Finding { Finding(verdict: .fail, seen: seen) }
    public static func notSeen(_ why: String) -> Finding { Finding(verdict: .notSeen, seen: why) }
}

/// What a rule about a message knows of the stream so far.
public struct RuleContext: Sendable {
    /// Names of carriers' messages that are kept.
    static let nameLimit = 64

    /// As the carrier announced it.
    public internal(set) var streamID: String?
    /// What sound is in; nil: it is not settled yet.
    public internal(set) var format: WireFormat?
    /// The last message of each name that the carrier sent.
    public internal(set) var carrier: [String: WireMessage] = [:]
    /// The carrier's last message with a name.
    public internal(set) var lastOfCarrier: WireMessage?
    public let traits: DialectTraits
    public let shape: WireShape

    /// Milliseconds of so many bytes of sound.
    public func milliseconds(_ bytes: Int) -> Double? {
        format.map { Double($0.microseconds(ofBytes: bytes)) / 1_000 }
    }
}

/// What a dialect declares for the conformance kit.
public struct DialectConformance: Sendable {
    /// The vendor's page of the protocol.
    public var source: String
    public var shape: WireShape
    /// Beside `CommonRules`.
    public var rules: [ConformanceRule]
    /// A carrier's message that no version of the protocol has; nil: none can be sent.
    public var unknown: String?
    /// A server must not close without having asked for the end.
    public var asksToEnd = false

    public init(source: String, shape: WireShape, rules: [ConformanceRule] = [], unknown: String? = nil) {
        self.source = source
        self.shape = shape
        self.rules = rules
        self.unknown = unknown
    }

    /// Of a dialect that declares nothing: what goes for any stream over a WebSocket.
    static let none: DialectConformance = {
        var shape = WireShape()
        shape.text = .free
        return DialectConformance(source: "https://www.rfc-editor.org/rfc/rfc6455", shape: shape)
    }()
}
