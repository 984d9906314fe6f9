public import Foundation

/// A secret as it is listed: never its value.
public struct SecretEntry: Sendable, Equatable {
    public var name: String
    /// nil: it stands in the configuration.
    public var updatedAt: Date?
    /// `tools/NAME` and `mcp-servers/NAME`.
    public var usedBy: [String]
}
