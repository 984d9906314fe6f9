internal import Net

/// What is Twilio's own in the API for calls (twilio.com/docs/voice/api/call-resource).
public enum TwilioREST {
    public static let vendorURL = "https://api.twilio.com"

    /// `CA` and 32 hex digits, so that it may stand in a path.
    public static func isSID(_ text: String) -> Bool {
        text.utf8.count == 34 && text.hasPrefix("CA") && text.dropFirst(2).allSatisfy { $0.isHexDigit && $0.isASCII }
    }

    /// Of a webhook's signature, and of an upgrade's (twilio.com/docs/usage/security). Lower case.
    public static let signatureHeader = "x-twilio-signature"
}

extension CallsREST {
    /// Downloads a recording as WAV (twilio.com/docs/voice/api/recording#fetch-a-recordings-media): 16 bit, 8 kHz,
    /// mono.
    ///
    /// - Parameter url: as told by Twilio. It must be the API's own address: our key is sent there.
    public func recording(_ url: String, limit: Int) async throws -> [UInt8] {
        guard url.hasPrefix(configuration.url + "/"), !url.contains("..") else {
            throw RESTFailure("the recording is not at \(configuration.url)")
        }
        // It may be told before it can be had.
        for wait in [0, 150, 300, 600, 1_200] {
            if wait > 0 { try await Task.sleep(for: .milliseconds(wait)) }
            var request = HTTPClientRequest("GET", url + ".wav")
            request.redirectLimit = 2
            let reply = try await rest.reply(to: authenticated(request), limit: limit)
            if reply.isSuccess { return reply.body }
            guard reply.status == 404 else { throw rest.refusal(reply) }
        }
        throw RESTFailure("the recording cannot be had", status: 404)
    }
}
