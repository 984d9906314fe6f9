public import Bridge
public import Net

extension PlivoSettings: CarrierAccount {
    public static var carrier: any Carrier.Type { PlivoCarrier.self }
    public var canDial: Bool { rest != nil }

    public func carrier(_ client: HTTPClient, publicURL: String?) -> (any Carrier)? {
        guard let authToken, let publicURL else { return nil }
        return PlivoCarrier(
            signature: PlivoSignature(authToken: authToken), publicURL: publicURL,
            rest: rest.map { PlivoREST($0, client: client) }, detectsMachines: detectsMachines,
            streamURL: streamURL, streamFormat: streamFormat)
    }
}
