public import Settings

/// Whether other programs' models may use this server by the Model Context Protocol.
public struct MCPSettings: Sendable {
    public var isEnabled = true
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting("mcp.enabled", \.isEnabled, .flag, "answer POST /mcp: tools for the models of other programs")
    }
}
