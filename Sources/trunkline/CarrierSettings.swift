import Bridge
import Calls
import Net
import Settings

/// The settings of each carrier: another one is a property, and a line wherever this one is named below.
struct CarrierSettings: Sendable {
    var twilio = TwilioSettings()

    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        TwilioSettings.keys.under(\.twilio)
    }

    /// Calls can be placed by the API of one of them.
    var canDial: Bool { twilio.rest != nil }

    /// What is missing; nil: nothing.
    /// - Parameters:
    ///   - gateway: name of the carrier that takes numbers.
    ///   - publicURL: our address as carriers see it.
    func problem(gateway: String?, publicURL: String?) -> String? {
        twilio.problem(isGateway: gateway == TwilioCarrier.name, publicURL: publicURL)
    }

    /// The carriers that are set up.
    func ready(_ client: HTTPClient, publicURL: String?) -> Carriers {
        Carriers([twilio.carrier(client, publicURL: publicURL)].compactMap { $0 })
    }
}

extension TwilioSettings {
    fileprivate func carrier(_ client: HTTPClient, publicURL: String?) -> (any Carrier)? {
        guard let authToken, let publicURL else { return nil }
        return TwilioCarrier(
            signature: TwilioSignature(authToken: authToken), publicURL: publicURL,
            rest: rest.map { TwilioREST($0, client: client) }, detectsMachines: detectsMachines,
            isTurnBased: isTurnBased, streamURL: streamURL)
    }
}
