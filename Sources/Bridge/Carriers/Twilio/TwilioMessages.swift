internal import Net

extension CallsREST {
    /// Characters of a text message that Twilio takes (twilio.com/docs/messaging/api/message-resource).
    public static let messageLimit = 1_600

    /// Sends a text message.
    /// - Parameters:
    ///   - to: E.164.
    ///   - from: a number of the account, in E.164.
    public func sendMessage(to: String, from: String, text: String) async throws(RESTFailure) {
        let fields = [("To", to), ("From", from), ("Body", String(text.prefix(Self.messageLimit)))]
        let request = HTTPClientRequest.form(
            "\(configuration.url)/2010-04-01/Accounts/\(configuration.account)/Messages.json", fields)
        let reply = try await rest.send(authenticated(request))
        guard CarrierREST.object(reply)?["sid"] is String else { throw rest.unreadable(reply) }
    }
}
