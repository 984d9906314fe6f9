public import Bridge
public import Net

extension ExotelSettings: CarrierAccount {
    public static var carrier: any Carrier.Type { ExotelCarrier.self }
    public var canDial: Bool { rest != nil && webhookToken != nil }
    public var canTransfer: Bool { false }

    public func carrier(_ client: HTTPClient, publicURL: String?) -> (any Carrier)? {
        guard let webhookToken, let publicURL else { return nil }
        return ExotelCarrier(
            webhookToken: webhookToken, publicURL: publicURL, rest: rest.map { ExotelREST($0, client: client) },
            streamURL: streamURL, sampleRate: streamFormat.sampleRate)
    }
}
