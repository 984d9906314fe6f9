internal import Bridge

extension Carrier {
    /// Seconds that a call may last which has been transferred: a carrier that cannot be told so at the transfer is
    /// told when it places the call. A call that we have ends when its stream does.
    static var handedOverLimit: Int { 14_400 }
}

extension CarrierFailure {
    init(_ failure: RESTFailure) { self.init(failure.message, code: failure.code, status: failure.status) }
}
