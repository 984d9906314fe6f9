/// The agent of a call, and its version.
public struct AgentReference: Sendable, Equatable, Codable {
    public var slug: String
    /// Counted from 1; 0: the configuration itself.
    public var version: Int
    public init(slug: String, version: Int) {
        self.slug = slug
        self.version = version
    }
}
