/// Judges the rules of a dialect: those about messages as they come, the others at the end. A value: no socket, no
/// clock.
public struct ConformanceJudge: Sendable {
    /// A rule that a message has broken.
    public struct Problem: Sendable, Equatable {
        public var rule: String
        public var seen: String
    }

    private struct Tally: Sendable {
        var right = 0
        var wrong = 0
        var first: String?
        var memory: Double?
    }

    public let rules: [ConformanceRule]
    public private(set) var context: RuleContext
    private var tallies: [Tally]

    public init(_ dialect: any MediaStreamDialect.Type) {
        rules = CommonRules.all(of: dialect) + dialect.conformance.rules
        tallies = rules.map { _ in Tally() }
        context = RuleContext(traits: dialect.traits, shape: dialect.conformance.shape)
    }

    /// A message of either side; what is wrong with it, if it is the application's.
    public mutating func hear(_ message: WireMessage) -> [Problem] {
        guard message.sender == .application else {
            note(message)
            return []
        }
        var problems: [Problem] = []
        for index in rules.indices {
            guard case .message(let judge) = rules[index].judge else { continue }
            switch judge(message, context, &tallies[index].memory) {
            case .other: break
            case .right: tallies[index].right += 1
            case .wrong(let what):
                let seen = "\(message.words): \(what)"
                tallies[index].wrong += 1
                tallies[index].first = tallies[index].first ?? seen
                problems.append(Problem(rule: rules[index].name, seen: seen))
            }
        }
        settle(message)
        return problems
    }

    private mutating func settle(_ message: WireMessage) {
        if let format = context.shape.format(message), format.isSupported { context.format = format }
    }

    private mutating func note(_ message: WireMessage) {
        if let id = context.shape.announcedID(message) { context.streamID = id }
        settle(message)
        guard let name = message.name else { return }
        context.lastOfCarrier = message
        if context.carrier[name] != nil || context.carrier.count < RuleContext.nameLimit {
            context.carrier[name] = message
        }
    }

    public func finding(of index: Int, _ facts: StreamFacts) -> Finding {
        let tally = tallies[index]
        switch rules[index].judge {
        case .stream(let judge): return judge(facts)
        case .message:
            guard let first = tally.first else {
                guard tally.right > 0 else { return .notSeen("no message is about this") }
                return .pass("\(tally.right) message\(tally.right == 1 ? " is" : "s are") right")
            }
            return .fail("\(first); \(tally.wrong) of \(tally.wrong + tally.right)")
        }
    }
}
