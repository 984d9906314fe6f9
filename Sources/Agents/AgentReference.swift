public import JSON

/// A version of an agent, as a call's record names it.
public struct AgentReference: Sendable, Hashable, Codable {
    /// The agent that is the configuration: version 0, in no store.
    public static let defaultSlug = "default"
    public static let `default` = AgentReference(slug: defaultSlug, version: 0)

    public var slug: String
    public var version: Int
    public init(slug: String, version: Int) {
        self.slug = slug
        self.version = version
    }
}

/// An agent as a request names it: `salon`, the version that is live, or `salon@7`.
public struct AgentName: Sendable, Hashable, CustomStringConvertible {
    /// Characters of `slug@version`.
    public static let lengthLimit = 64

    public var slug: String
    /// nil: the live one.
    public var version: Int?

    /// nil: it is no name of an agent.
    public init?(_ text: String) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false).map(String.init)
        guard text.utf8.count <= Self.lengthLimit, parts.count <= 2, let slug = parts.first, Self.isSlug(slug) else {
            return nil
        }
        self.slug = slug
        guard parts.count == 2 else { return }
        guard let version = Int(parts[1]), version >= 0, String(version) == parts[1] else { return nil }
        self.version = version
    }

    public var description: String { version.map { "\(slug)@\($0)" } ?? slug }

    /// `[a-z][a-z0-9-]{0,39}`
    public static func isSlug(_ text: String) -> Bool { isName(text, others: "-") }

    /// `[a-z][a-z0-9_]{0,39}`
    static func isVariable(_ text: String) -> Bool { isName(text, others: "_") }

    private static let nameLength = 1...40

    private static func isName(_ text: String, others: Character) -> Bool {
        guard nameLength.contains(text.utf8.count), let first = text.first, ("a"..."z").contains(first) else {
            return false
        }
        return text.allSatisfy { ("a"..."z").contains($0) || ("0"..."9").contains($0) || $0 == others }
    }
}

/// A version of an agent, whole.
public struct AgentVersion: Sendable, Equatable {
    public var reference: AgentReference
    /// As `AgentChecker` has passed it.
    public var document: JSONValue
    public init(_ reference: AgentReference, _ document: JSONValue) {
        self.reference = reference
        self.document = document
    }
}

/// What a call's request says beside its agent: kept, so that a newer version can be put in the place of this one.
public struct AgentOrder: Sendable, Equatable, Codable {
    /// Values of variables.
    public var variables: [String: String]
    /// Members of the request that come before the agent's: `purpose`, `questions`, `language`, …
    public var given: Set<String>
    public init(variables: [String: String] = [:], given: Set<String> = []) {
        self.variables = variables
        self.given = given
    }
}
