public import JSON

/// One item of an agent's document: described once.
///
/// The same description checks a document (`AgentChecker`), is its JSON Schema, tells what holds (`effective`), and
/// says what it does to a call (`apply`).
public struct AgentLeaf: Sendable {
    /// What a value may be.
    public indirect enum Kind: Sendable {
        /// One line of so many characters.
        case line(Int)
        /// Running text of so many characters, taken as it is.
        case text(Int)
        /// Running text whose `{{places}}` are filled in when a call is created.
        case template(Int)
        case whole(ClosedRange<Int>)
        case decimal(ClosedRange<Double>)
        case flag
        /// - Parameter later: words that are known, and whose meaning is not built yet.
        case choice([String], later: [String] = [])
        /// BCP 47.
        case language
        /// `[a-z][a-z0-9-]{0,39}`
        case slug
        /// `[a-z][a-z0-9_]{0,39}`
        case variable
        case provider(AgentProvider)
        /// The name of a tool, an MCP server or a knowledge set of the company.
        case known(AgentCatalogue)
        case list(Kind, ClosedRange<Int>)
        case object([AgentLeaf])
        case textOrObject(Kind, [AgentLeaf])
        /// An object of at most so many true or false.
        case flags(Int)
        /// true or false, a number, or a text of so many characters.
        case scalar(Int)
        /// Known, and not built yet: whatever it holds is refused.
        case later
    }

    /// Names with dots between them.
    public var path: String
    public var kind: Kind
    public var isRequired: Bool
    /// Holds where neither the agent nor the configuration says anything.
    public var usual: JSONValue?
    /// What it means, in a few words.
    public var help: String
    /// What it does to a call. The value has been checked, and its places are filled in.
    public var apply: (@Sendable (inout AgentBrief, JSONValue) -> Void)?

    public init(
        _ path: String, _ kind: Kind, required: Bool = false, default usual: JSONValue? = nil, _ help: String,
        _ apply: (@Sendable (inout AgentBrief, JSONValue) -> Void)? = nil
    ) {
        self.path = path
        self.kind = kind
        isRequired = required
        self.usual = usual
        self.help = help
        self.apply = apply
    }
}

/// What a provider is for.
public enum AgentProvider: String, Sendable, CaseIterable {
    case speechToText, languageModel, textToSpeech, speechModel
}

/// Lists of names that a document may choose from.
public enum AgentCatalogue: String, Sendable, CaseIterable {
    case tools, servers, knowledge
}

/// Levels of a document: the leaves' paths as a tree.
indirect enum AgentTree: Sendable {
    case leaf(AgentLeaf)
    case group([Branch])

    /// A member of a level.
    struct Branch: Sendable {
        var name: String
        var tree: AgentTree
    }

    init(_ leaves: [AgentLeaf]) { self = .group(Self.branches(leaves.map { ($0.path.split(separator: "."), $0) })) }

    private static func branches(_ leaves: [(path: [Substring], leaf: AgentLeaf)]) -> [Branch] {
        var branches: [Branch] = []
        for (path, leaf) in leaves {
            guard let name = path.first, !branches.contains(where: { $0.name == name }) else { continue }
            let under = leaves.filter { $0.path.first == name && $0.path.count > 1 }
            let tree =
                under.isEmpty ? leaf.tree : .group(Self.branches(under.map { (Array($0.path.dropFirst()), $0.leaf) }))
            branches.append(Branch(name: String(name), tree: tree))
        }
        return branches
    }
}

extension AgentLeaf {
    fileprivate var tree: AgentTree { .leaf(self) }
}

// MARK: Values that have been checked

extension JSONValue {
    var string: String? { if case .string(let text) = self { text } else { nil } }
    var integer: Int? { if case .number(let number) = self { number.integer } else { nil } }
    var decimal: Double? { if case .number(let number) = self { number.nearest } else { nil } }
    var flag: Bool? { if case .bool(let value) = self { value } else { nil } }
    var items: [JSONValue]? { if case .array(let items) = self { items } else { nil } }
    var members: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
    var texts: [String]? { items?.compactMap(\.string) }

    /// A member by a path with dots.
    subscript(path path: String) -> JSONValue? {
        path.split(separator: ".").reduce(Optional(self)) { $0?[String($1)] }
    }
}
