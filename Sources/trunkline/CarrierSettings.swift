import Bridge
import Calls
import Net
import Settings

/// The accounts at the carriers. Another carrier is a property, its keys and a name in `accounts`.
struct CarrierSettings: Sendable {
    var twilio = TwilioSettings()
    var telnyx = TelnyxSettings()
    var signalWire = SignalWireSettings()
    var plivo = PlivoSettings()
    var vonage = VonageSettings()
    var exotel = ExotelSettings()
    var genesys = GenesysSettings()

    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        TwilioSettings.keys.under(\.twilio)
        TelnyxSettings.keys.under(\.telnyx)
        SignalWireSettings.keys.under(\.signalWire)
        PlivoSettings.keys.under(\.plivo)
        VonageSettings.keys.under(\.vonage)
        ExotelSettings.keys.under(\.exotel)
        GenesysSettings.keys.under(\.genesys)
    }

    private var accounts: [any CarrierAccount] { [twilio, telnyx, signalWire, plivo, vonage, exotel, genesys] }

    /// Calls can be handed over to numbers by the API of one of them.
    var canTransfer: Bool { accounts.contains { $0.canTransfer } }
    /// Names of those whose API places calls, and cannot hand them over.
    var withoutTransfer: [String] {
        accounts.filter { $0.canDial && !$0.canTransfer }.map { type(of: $0).carrier.title }
    }

    /// What is missing; nil: nothing.
    /// - Parameters:
    ///   - gateway: name of the carrier that takes numbers.
    ///   - publicURL: our address as carriers see it.
    func problem(gateway: String?, publicURL: String?) -> String? {
        accounts.lazy.compactMap { account in
            account.problem(isGateway: gateway == type(of: account).carrier.name, publicURL: publicURL)
        }.first
    }

    /// The carriers that are set up.
    func ready(_ client: HTTPClient, publicURL: String?) -> Carriers {
        Carriers(accounts.compactMap { $0.carrier(client, publicURL: publicURL) })
    }
}
