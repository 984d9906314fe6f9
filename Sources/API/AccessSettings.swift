internal import JSON
internal import Net
public import Settings

/// Who may use the API, and how often.
public struct AccessSettings: Sendable {
    /// The first admin key; nil: one is made where there is none.
    public var adminKey: String?
    /// Requests a second of a key and source, and at once.
    public var requestsPerSecond = 50.0
    public var burst = 100.0
    /// Who may let calls begin with a version of an agent.
    public var publishRole = Role.operator
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "api_key", \.adminKey, .text, "the first admin key, at least 16 characters",
            unset: "one is made at the first start", isSecret: true)
        Setting(
            "security.rate_limit.per_second", \.requestsPerSecond, .whole(1...100_000), "requests a key and source")
        Setting("security.rate_limit.burst", \.burst, .whole(1...100_000), "requests at once")
        Setting(
            "agents.publish_role", \.publishRole, .oneOf([("operator", .operator), ("admin", .admin)]),
            "who may make a version of an agent the live one")
    }

    public var rate: (perSecond: Double, burst: Double) { (requestsPerSecond, burst) }

    /// Why the server must not listen beyond loopback yet; nil: it may.
    public func problem(host: String) -> String? {
        adminKey == nil && !SocketAddress.isLoopback(host)
            ? "http.host is \(host): to listen beyond loopback, set the first admin key with TRUNKLINE_API_KEY" : nil
    }
}
