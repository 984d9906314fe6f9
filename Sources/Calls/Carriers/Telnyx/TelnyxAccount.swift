public import Bridge
public import Net

extension TelnyxSettings: CarrierAccount {
    public static var carrier: any Carrier.Type { TelnyxCarrier.self }
    public var canDial: Bool { rest?.connectionID != nil }

    public func carrier(_ client: HTTPClient, publicURL: String?) -> (any Carrier)? {
        guard let signature = publicKey.flatMap({ TelnyxSignature(publicKey: $0) }), let publicURL else { return nil }
        return TelnyxCarrier(
            signature: signature, publicURL: publicURL, rest: rest.map { TelnyxREST($0, client: client) },
            detectsMachines: detectsMachines, format: format, streamURL: streamURL)
    }
}
