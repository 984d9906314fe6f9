/// The direction of a call, seen from this server.
public enum CallDirection: String, Sendable, Codable, CaseIterable {
    /// We dialled the other party.
    case outbound
    /// The other party called us.
    case inbound

    /// What ids of these calls begin with.
    public var idPrefix: String { self == .outbound ? "ob-" : "in-" }

    /// The direction that an id from outside tells: of a path, a file name, another server or an old record.
    ///
    /// A call knows its direction. Nothing else reads it from an id.
    ///
    /// - Parameter id: `ob-` or `in-` and 8 hex digits.
    /// - Returns: nil: this is no id of a call.
    public init?(id: String) {
        guard let direction = Self.allCases.first(where: { id.hasPrefix($0.idPrefix) }) else { return nil }
        let digits = id.dropFirst(direction.idPrefix.count)
        guard digits.count == ShortID.digits, digits.allSatisfy(\.isHexDigit) else { return nil }
        self = direction
    }

    /// A new id: the prefix and 8 random hex digits.
    public func newID() -> String { idPrefix + ShortID.random() }
}
