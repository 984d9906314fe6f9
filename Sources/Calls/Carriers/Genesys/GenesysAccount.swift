public import Bridge
public import Net

extension GenesysSettings: CarrierAccount {
    public static var carrier: any Carrier.Type { GenesysCarrier.self }
    public var canDial: Bool { false }

    public func carrier(_ client: HTTPClient, publicURL: String?) -> (any Carrier)? {
        guard let signature, let publicURL else { return nil }
        return GenesysCarrier(signature: signature, publicURL: publicURL)
    }
}
