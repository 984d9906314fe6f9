internal import Net

/// In what sound a stream is asked for.
public enum TelnyxFormat: String, Sendable, CaseIterable {
    case muLaw8k = "mulaw/8000"
    case aLaw8k = "alaw/8000"
    case linear8k = "l16/8000"
    case linear16k = "l16/16000"
    case linear24k = "l16/24000"
    case linear48k = "l16/48000"

    var codec: String {
        switch self {
        case .muLaw8k: "PCMU"
        case .aLaw8k: "PCMA"
        case .linear8k, .linear16k, .linear24k, .linear48k: "L16"
        }
    }

    /// Hertz.
    var rate: Int {
        switch self {
        case .muLaw8k, .aLaw8k, .linear8k: 8_000
        case .linear16k: 16_000
        case .linear24k: 24_000
        case .linear48k: 48_000
        }
    }
}

/// A bidirectional stream to us, as it is asked for in each of the places where that can be done. The codec stands in
/// the URL too, for `start` does not tell the one of the sound to Telnyx (`TelnyxDialect`).
public struct TelnyxStream: Sendable {
    /// Where it goes, without a query.
    public var url: String
    public var format: TelnyxFormat

    public init(url: String, format: TelnyxFormat) {
        self.url = url
        self.format = format
    }

    /// The command `answer` takes no rate: a wider stream is asked for by `streaming_start`, once the call is answered.
    public var comesWithAnswer: Bool { format.rate == 8_000 }

    private func url(with more: [(name: String, value: String)] = []) -> String {
        let codec = [(TelnyxDialect.codecName, format.codec), (TelnyxDialect.rateName, String(format.rate))]
        return url + "?" + HTTPForm.encode(codec + more)
    }

    /// Of `<Stream>` (developers.telnyx.com/docs/voice/programmable-voice/texml-verbs/stream).
    public var attributes: [(name: String, value: String?)] {
        [
            ("track", "inbound_track"), ("codec", format.codec), ("bidirectionalMode", "rtp"),
            ("bidirectionalCodec", format.codec), ("bidirectionalSamplingRate", String(format.rate)),
        ]
    }

    /// The URL for `<Stream>`, whose `<Parameter>` has the token.
    public var markupURL: String { url() }

    private func fields(url: String) -> [String: Any] {
        [
            "stream_url": url, "stream_track": "inbound_track", "stream_codec": format.codec,
            "stream_bidirectional_mode": "rtp", TelnyxDialect.codecName: format.codec,
        ]
    }

    /// Of the command `answer`, which takes no parameters of the stream: the URL has the token.
    func answerFields(token: String) -> [String: Any] { fields(url: url(with: [("token", token)])) }

    /// Of the command `streaming_start`.
    func startFields(token: String) -> [String: Any] {
        var fields = fields(url: url())
        fields[TelnyxDialect.rateName] = format.rate
        fields["custom_parameters"] = [["name": "token", "value": token]]
        return fields
    }
}
