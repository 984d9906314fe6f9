public import Bridge
public import Net

extension TwilioSettings: CarrierAccount {
    public static var carrier: any Carrier.Type { TwilioCarrier.self }
    public var canDial: Bool { rest != nil }

    public func carrier(_ client: HTTPClient, publicURL: String?) -> (any Carrier)? {
        guard let authToken, let publicURL else { return nil }
        return TwilioCarrier(
            signature: FormSignature(key: authToken), publicURL: publicURL,
            rest: rest.map { CallsREST($0, client: client) }, detectsMachines: detectsMachines,
            isTurnBased: isTurnBased, streamURL: streamURL)
    }
}
