/// What is SignalWire's own in the API for calls
/// (signalwire.com/docs/compatibility-api/rest/calls/create-a-call) and in its markup.
public enum SignalWireREST {
    /// Of a webhook's signature by the project's signing key, in Base64
    /// (signalwire.com/docs/compatibility-api/guides/webhook-security). Upgrades are not signed. Lower case.
    public static let signatureHeader = "x-signalwire-signature"

    /// A UUID, so that it may stand in a path.
    public static func isCallID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.utf8.count) == [8, 4, 4, 4, 12]
            && parts.allSatisfy { $0.allSatisfy { $0.isHexDigit && $0.isASCII } }
    }
}

/// In what sound a stream is asked for (signalwire.com/docs/compatibility-api/cxml/reference/voice/stream).
public enum SignalWireFormat: String, Sendable, CaseIterable {
    case muLaw8k = "mulaw/8000"
    case linear16k = "l16/16000"
    case linear24k = "l16/24000"

    /// The attribute `codec` of `<Stream>`.
    public var codec: String {
        switch self {
        case .muLaw8k: "PCMU@8000h"
        case .linear16k: "L16@16000h"
        case .linear24k: "L16@24000h"
        }
    }

    /// Of `<Stream>`.
    /// - Parameter token: comes back as `Authorization: Bearer` of the upgrade.
    public func attributes(token: String) -> [(name: String, value: String?)] {
        [("codec", codec), ("realtime", "true"), ("authBearerToken", token)]
    }
}
