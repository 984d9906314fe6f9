public import Bridge
public import Foundation
public import Store

/// A person who answers calls at a telephone.
public struct Operator: Sendable, Equatable, Codable {
    public enum Status: String, Sendable, Codable, CaseIterable {
        case available
        /// Speaks already, or wants no call now.
        case busy
        case away
    }

    /// `op-` and 8 hex digits.
    public var id: String
    public var name: String
    /// What callers dial to reach the operator, in any spelling; nil: reached through the AI alone.
    public var number: String?
    /// User of the operator's phones at our registrar.
    public var sipUser: String
    /// nil: no phone can register.
    public var secret: DigestAuthenticator.Secret?
    /// A number or `sip:` address that is called while no phone is registered.
    public var address: String?
    public var status = Status.available
    /// The AI's greeting for callers who do not reach the operator.
    public var awayMessage: String?
    /// Seconds that the phones ring before the AI takes the call.
    public var ringSeconds = 20
    /// Who has a lower one is rung first.
    public var order = 0
    public var createdAt: Date
    public var updatedAt: Date
    /// nil: `default`.
    private var owner: CompanyID?
    /// Whose calls the operator is handed.
    public var company: CompanyID {
        get { owner ?? .default }
        set { owner = newValue == .default ? nil : newValue }
    }

    public init(
        id: String = "op-" + ShortID.random(), name: String, number: String? = nil, sipUser: String,
        createdAt: Date
    ) {
        self.id = id
        self.name = name
        self.number = number
        self.sipUser = sipUser
        self.createdAt = createdAt
        updatedAt = createdAt
    }
}
