public import Bridge
public import Net

extension VonageSettings: CarrierAccount {
    public static var carrier: any Carrier.Type { VonageCarrier.self }
    public var canDial: Bool { rest != nil && signatureSecret != nil }

    public func carrier(_ client: HTTPClient, publicURL: String?) -> (any Carrier)? {
        guard let signatureSecret, let publicURL else { return nil }
        return VonageCarrier(
            signature: VonageSignature(secret: signatureSecret, apiKey: apiKey, applicationID: applicationID),
            publicURL: publicURL, rest: rest.map { VonageREST($0, client: client) },
            machineDetection: machineDetection, streamURL: streamURL, sampleRate: streamFormat.sampleRate)
    }
}
