/// Whose a row is: the slug of a company. Every server has the company `default`.
public struct CompanyID: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The installation's own: settings, and whatever was stored before there were companies, are its.
    public static let `default` = CompanyID(rawValue: "default")

    public var description: String { rawValue }
}

extension CompanyID: Storable {
    var stored: Value { .text(rawValue) }
    init(stored: Value) throws { self.init(rawValue: try String(stored: stored)) }
}
