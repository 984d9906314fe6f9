public import Bridge

/// SignalWire: how to reach it, and how it reaches us.
public struct SignalWireCarrier: Carrier {
    public static let name = "signalwire"
    public static let title = "SignalWire"
    public static var dialect: String { SignalWireDialect.traits.name }
    public static func owns(callID: String) -> Bool { SignalWireREST.isCallID(callID) }

    public var signature: FormSignature
    /// Our address as SignalWire sees it, without a slash at the end.
    public var publicURL: String
    /// nil: SignalWire is asked for nothing.
    public var rest: CallsREST?
    /// Ask SignalWire who answered; a machine's call is ended.
    public var detectsMachines: Bool
    public var format: SignalWireFormat
    /// Where its media streams go.
    public var streamURL: String
    /// An update of a call takes no markup, only a URL that is asked for some.
    public let transfers = PendingTransfers()

    /// - Parameter streamURL: nil: `publicURL` and the dialect's path.
    public init(
        signature: FormSignature, publicURL: String, rest: CallsREST? = nil, detectsMachines: Bool = true,
        format: SignalWireFormat = .muLaw8k, streamURL: String? = nil
    ) {
        self.signature = signature
        self.publicURL = publicURL
        self.rest = rest
        self.detectsMachines = detectsMachines
        self.format = format
        self.streamURL = streamURL ?? Self.streamURL(at: publicURL)
    }

    public var api: (any CarrierAPI)? {
        rest.map { rest in
            FormCallsAPI(
                rest: rest, webhooks: publicURL + "/signalwire", detectsMachines: detectsMachines, limitsTime: false
            ) { [publicURL, transfers] callID, transfer in
                transfers.expect(callID)
                _ = transfers.set(transfer, of: callID)
                return [("Url", publicURL + "/signalwire/transfer"), ("Method", "POST")]
            }
        }
    }
}
