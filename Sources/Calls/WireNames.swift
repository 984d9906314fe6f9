public import Store

/// Names of the API. Of calls that came in it says `inbound_id`, and who called whom: the caller's number is the other
/// party's.
extension CallDirection {
    /// The member that holds a call's id.
    public var idName: String { self == .outbound ? "outbound_id" : "inbound_id" }
}

extension Call {
    /// The number that called.
    public var callerNumber: String { direction == .outbound ? localNumber : remoteNumber }
    /// The number that was called.
    public var calledNumber: String { direction == .outbound ? remoteNumber : localNumber }
}
