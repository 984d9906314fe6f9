public import Net

/// A carrier's settings: the account there, and how its calls are carried. A property of `CarrierSettings`.
public protocol CarrierAccount: Sendable {
    /// The carrier whose account it is.
    static var carrier: any Carrier.Type { get }
    /// The carrier's API can place calls.
    var canDial: Bool { get }
    /// It can hand a call over to a number.
    var canTransfer: Bool { get }
    /// What is missing or does not fit together, with the settings' names; nil: nothing.
    ///
    /// - Parameters:
    ///   - isGateway: the carrier takes numbers (`outbound.default_gateway`).
    ///   - publicURL: our address as the carrier sees it.
    func problem(isGateway: Bool, publicURL: String?) -> String?
    /// nil: it is not set up.
    func carrier(_ client: HTTPClient, publicURL: String?) -> (any Carrier)?
}

extension CarrierAccount {
    public var canTransfer: Bool { canDial }
}
