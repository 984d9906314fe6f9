import Bridge
import Calls
import Net

extension Configuration {
    /// The carriers that are set up; each has its keys in the table of settings.
    func carriers(_ client: HTTPClient) -> Carriers {
        Carriers([twilioCarrier(client)].compactMap { $0 })
    }

    private func twilioCarrier(_ client: HTTPClient) -> (any Carrier)? {
        guard let twilioToken, let publicURL else { return nil }
        return TwilioCarrier(
            signature: TwilioSignature(authToken: twilioToken), publicURL: publicURL,
            rest: twilio.map { TwilioREST($0, client: client) }, detectsMachines: twilioDetectsMachines,
            isTurnBased: twilioIsByTurns, streamURL: twilioStreamURL)
    }
}
