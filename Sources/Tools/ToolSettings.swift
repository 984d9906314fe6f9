internal import Net
public import Settings

/// What tools may reach, and the operator's own secrets.
public struct ToolSettings: Sendable {
    /// `host:port` in our own network that tools and MCP servers may be at, in lower case.
    public var allowedHosts: [String] = []
    /// By name; of the company `default`.
    public var secrets: [String: String] = [:]
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "tools.allowed_hosts", \.allowedHosts, hosts,
            "hosts in our own network that tools and MCP servers may be at", unset: "none")
        Setting(
            group: "tools.secrets", \.secrets, secret,
            "a secret for headers of tools and MCP servers, as {{secrets.NAME}}: small letters, digits and _",
            unset: "none", isName: ToolDocument.isName)
    }

    private static let hosts = SettingForm<[String]>(
        "host:port, comma-separated", problem: "must be host:port, comma-separated",
        format: { $0.isEmpty ? nil : $0.joined(separator: ",") },
        parse: { text in
            let hosts = commaSeparated(text).map { $0.lowercased() }
            let isFit = hosts.allSatisfy { host in
                guard let colon = host.lastIndex(of: ":"), colon > host.startIndex,
                    let port = UInt16(host[host.index(after: colon)...])
                else { return false }
                return port > 0 && URIText.isValid(host) && !host.contains("/") && !host.contains("@")
            }
            return isFit ? hosts : nil
        })

    private static let secret = SettingForm<String>(
        "text in one line of ASCII", problem: "must be a text in one line of ASCII",
        parse: { text in !text.isEmpty && HeaderValue.isFit(text) ? text : nil })
}
