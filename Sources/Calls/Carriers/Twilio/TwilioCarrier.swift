public import Bridge

/// Twilio: how to reach it, and how it reaches us.
public struct TwilioCarrier: Carrier {
    public static let name = "twilio"
    public static let title = "Twilio"
    public static var dialect: String { TwilioDialect.traits.name }
    public static func owns(callID: String) -> Bool { TwilioREST.isSID(callID) }

    public var signature: FormSignature
    /// Our address as Twilio sees it, without a slash at the end.
    public var publicURL: String
    /// nil: Twilio is asked for nothing.
    public var rest: CallsREST?
    /// Ask Twilio who answered; a machine's call is ended.
    public var detectsMachines: Bool
    /// Calls are turn-based, for trunks without streams.
    public var isTurnBased: Bool
    /// Where its media streams go.
    public var streamURL: String

    /// - Parameter streamURL: nil: `publicURL` and the dialect's path.
    public init(
        signature: FormSignature, publicURL: String, rest: CallsREST? = nil, detectsMachines: Bool = true,
        isTurnBased: Bool = false, streamURL: String? = nil
    ) {
        self.signature = signature
        self.publicURL = publicURL
        self.rest = rest
        self.detectsMachines = detectsMachines
        self.isTurnBased = isTurnBased
        self.streamURL = streamURL ?? Self.streamURL(at: publicURL)
    }

    public func isSigned(path: String, query: [(name: String, value: String)], headers: [String: String]) -> Bool {
        guard let given = headers[TwilioREST.signatureHeader] else { return false }
        return signature.isValid(given, url: publicURL + path)
    }

    public var messenger: (any TextMessenger)? { rest.map(TwilioMessenger.init) }

    public var api: (any CarrierAPI)? {
        rest.map { rest in
            FormCallsAPI(
                rest: rest, webhooks: publicURL + "/twilio", detectsMachines: detectsMachines, limitsTime: true
            ) { [publicURL] _, transfer in
                [
                    ("Twiml", transfer.markup(next: publicURL + "/twilio/transferred")),
                    ("TimeLimit", String(Self.handedOverLimit)),
                ]
            }
        }
    }
}
