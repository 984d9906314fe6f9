internal import Foundation

/// What Vonage is told to do with a call: a call control object
/// (developer.vonage.com/en/voice/voice-api/ncco-reference).
public struct VonageNCCO: Sendable, Equatable {
    public static let contentType = "application/json"
    /// Seconds of ringing that a `connect` may have here.
    private static let ringSeconds = 1...120

    /// JSON: an array of actions.
    public let text: String

    private init(_ actions: [[String: Any]]) {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        let data = try? JSONSerialization.data(withJSONObject: actions, options: options)
        text = data.map { String(decoding: $0, as: UTF8.self) } ?? "[]"
    }

    /// Of REST, which wants it as a value.
    var actions: Any { (try? JSONSerialization.jsonObject(with: Data(text.utf8))) ?? [Any]() }

    /// `connect` to a WebSocket of ours. When that has closed nothing follows, and the call ends.
    ///
    /// - Parameters:
    ///   - sampleRate: hertz: 8 000, 16 000 or 24 000.
    ///   - number: of ours, shown to the far end; what is no number is left out.
    ///   - callID: told back in the first message, which has no id of its own.
    public static func stream(
        _ url: String, sampleRate: Int32, number: String?, callID: String, token: String
    ) -> VonageNCCO {
        var action: [String: Any] = [
            "action": "connect",
            "endpoint": [
                [
                    "type": "websocket", "uri": url, "content-type": "audio/l16;rate=\(sampleRate)",
                    "headers": ["uuid": callID, "token": token],
                ] as [String: Any]
            ],
        ]
        if let number = number.flatMap(digits) { action["from"] = number }
        return VonageNCCO([action])
    }

    /// `connect` to another number.
    ///
    /// - Parameters:
    ///   - target: a number, or a `sip:` address.
    ///   - callerID: a number of the account's; nil: Vonage chooses.
    ///   - next: a URL that is told how it goes; without an answer its reply says what to do next.
    public static func dial(_ target: String, callerID: String?, ringSeconds: Int, next: String) -> VonageNCCO {
        var action: [String: Any] = [
            "action": "connect", "endpoint": [endpoint(target)], "eventType": "synchronous", "eventUrl": [next],
            "eventMethod": "POST",
            "timeout": min(Self.ringSeconds.upperBound, max(Self.ringSeconds.lowerBound, ringSeconds)),
        ]
        if let callerID = callerID.flatMap(digits) { action["from"] = callerID }
        return VonageNCCO([action])
    }

    /// Words of Vonage's own voice, then the end.
    public static func say(_ text: String, language: String) -> VonageNCCO {
        VonageNCCO([["action": "talk", "text": text, "language": language]])
    }

    /// Nothing is to be done, so the call ends. There is no word for a busy line.
    public static let hangUp = VonageNCCO([])

    /// Whom to call, in an NCCO and by REST.
    static func endpoint(_ target: String) -> [String: String] {
        target.lowercased().hasPrefix("sip:")
            ? ["type": "sip", "uri": target] : ["type": "phone", "number": CarrierNumber.bare(target)]
    }

    private static func digits(_ number: String) -> String? {
        let bare = CarrierNumber.bare(number)
        return !bare.isEmpty && bare.allSatisfy { $0.isASCII && $0.isNumber } ? bare : nil
    }
}
