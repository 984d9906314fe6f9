/// What Plivo is told to do with a call (plivo.com/docs/voice/xml/overview).
public enum PlivoXML {
    public static let contentType = "text/xml; charset=utf-8"
    /// Seconds of ringing that a `<Dial>` may have here.
    private static let ringSeconds = 5...600

    /// `<Stream>`: the call's media to and from a WebSocket of ours. When that has closed nothing follows, and the call
    /// ends.
    ///
    /// - Parameters:
    ///   - format: one of Plivo's (`contentType`).
    ///   - token: told in `start`; `extraHeaders` takes letters and digits alone.
    ///   - statusURL: told of the stream's begin and end.
    public static func stream(_ url: String, _ format: WireFormat, token: String, statusURL: String) -> String {
        let contentType = "\(PlivoFormat.encoding(of: format));rate=\(format.sampleRate)"
        return response([
            MarkupElement(
                "Stream",
                [
                    ("bidirectional", "true"), ("keepCallAlive", "true"), ("contentType", contentType),
                    ("extraHeaders", "token=\(token)"), ("statusCallbackUrl", statusURL),
                    ("statusCallbackMethod", "POST"),
                ], text: url)
        ])
    }

    /// `<Dial>`: connects the call to another number.
    ///
    /// - Parameters:
    ///   - target: a number, or a `sip:` address.
    ///   - callerID: a number of the account's; nil: Plivo chooses.
    ///   - next: asked, with `DialStatus`, when that is over.
    public static func dial(_ target: String, callerID: String?, ringSeconds: Int, next: String) -> String {
        let isSIP = target.lowercased().hasPrefix("sip:")
        let timeout = CarrierREST.within(Self.ringSeconds, ringSeconds)
        return response([
            MarkupElement(
                "Dial",
                [
                    ("action", next), ("method", "POST"), ("timeout", String(timeout)),
                    ("callerId", callerID.map(CarrierNumber.bare)),
                ], [MarkupElement(isSIP ? "User" : "Number", text: isSIP ? target : CarrierNumber.bare(target))])
        ])
    }

    /// Words of Plivo's own voice, then the end.
    ///
    /// - Parameter language: with a region. Plivo's own voices have no Korean; those of Amazon Polly do.
    public static func say(_ text: String, language: String) -> String {
        let voice = language == "ko-KR" ? "Polly.Seoyeon" : nil
        return response([
            MarkupElement("Speak", [("voice", voice), ("language", language)], text: text), MarkupElement("Hangup"),
        ])
    }

    /// A call that is not answered.
    public static func reject(isBusy: Bool) -> String {
        response([MarkupElement("Hangup", [("reason", isBusy ? "busy" : "rejected")])])
    }

    public static let hangUp = response([MarkupElement("Hangup")])

    private static func response(_ elements: [MarkupElement]) -> String { MarkupElement.document("Response", elements) }
}
