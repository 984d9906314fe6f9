internal import Bridge

extension Carrier {
    /// Seconds that a call may last which has been transferred: a carrier that cannot be told so at the transfer is
    /// told when it places the call. A call that we have ends when its stream does.
    static var handedOverLimit: Int { 14_400 }

    /// Where its streams go unless a setting says otherwise: `publicURL` and the dialect's path.
    static func streamURL(at publicURL: String) -> String {
        let base =
            publicURL.hasPrefix("https://")
            ? "wss://" + publicURL.dropFirst(8)
            : publicURL.hasPrefix("http://") ? "ws://" + publicURL.dropFirst(7) : publicURL
        return base + (Dialects.named(dialect)?.traits.paths.first ?? "")
    }
}

extension CarrierFailure {
    init(_ failure: CarrierRESTFailure) { self.init(failure.message, code: failure.code, status: failure.status) }
}
