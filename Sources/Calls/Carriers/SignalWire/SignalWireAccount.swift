public import Bridge
public import Net

extension SignalWireSettings: CarrierAccount {
    public static var carrier: any Carrier.Type { SignalWireCarrier.self }
    public var canDial: Bool { rest != nil }

    public func carrier(_ client: HTTPClient, publicURL: String?) -> (any Carrier)? {
        guard let signingKey, let publicURL else { return nil }
        return SignalWireCarrier(
            signature: FormSignature(key: signingKey), publicURL: publicURL,
            rest: rest.map { CallsREST($0, client: client) }, detectsMachines: detectsMachines, format: format,
            streamURL: streamURL)
    }
}
