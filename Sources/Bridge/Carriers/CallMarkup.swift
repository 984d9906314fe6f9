/// What a carrier is told to do with a call, in the verbs that several of them share. What only one has, such as
/// attributes of `<Stream>`, is in its folder.
public enum CallMarkup {
    public static let contentType = "text/xml; charset=utf-8"

    /// `<Connect><Stream>`: the call's media to and from a WebSocket of ours.
    ///
    /// - Parameters:
    ///   - attributes: of `<Stream>`, beside its URL.
    ///   - parameters: told with the stream.
    ///   - next: asked for markup when the stream has ended, or could not be had; nil: the carrier hangs up.
    public static func connect(
        stream url: String, attributes: [(name: String, value: String?)] = [],
        parameters: [(name: String, value: String)] = [], next: String? = nil
    ) -> String {
        let inner = parameters.map { MarkupElement("Parameter", [("name", $0.name), ("value", $0.value)]) }
        let connect = MarkupElement("Connect", [], [MarkupElement("Stream", [("url", url)] + attributes, inner)])
        return response([connect] + (next.map { [redirect($0)] } ?? []))
    }

    /// `<Play>` and `<Record>`: one turn of ours, then the caller's.
    ///
    /// - Parameters:
    ///   - url: of the sound; nil where there is nothing to say.
    ///   - next: told of the recording; where the caller is silent, asked without one.
    ///   - silenceSeconds: of silence that end the recording.
    public static func turn(play url: String?, next: String, silenceSeconds: Int, limitSeconds: Int) -> String {
        let record = MarkupElement(
            "Record",
            [
                ("action", next), ("method", "POST"), ("timeout", String(silenceSeconds)),
                ("maxLength", String(limitSeconds)), ("playBeep", "false"), ("trim", "do-not-trim"),
            ])
        return response(play(url) + [record, redirect(next)])
    }

    /// Our last turn.
    public static func goodbye(play url: String?) -> String { response(play(url) + [MarkupElement("Hangup")]) }

    /// `<Dial>`: connects the call to another number.
    ///
    /// - Parameters:
    ///   - target: a number, or a `sip:` address.
    ///   - callerID: a number of the account's; nil: the carrier chooses.
    ///   - next: asked, with `DialCallStatus`, when that is over.
    public static func dial(_ target: String, callerID: String?, ringSeconds: Int, next: String) -> String {
        let whom = MarkupElement(target.lowercased().hasPrefix("sip:") ? "Sip" : "Number", text: target)
        let timeout = String(min(600, max(5, ringSeconds)))
        return response([
            MarkupElement(
                "Dial", [("action", next), ("method", "POST"), ("timeout", timeout), ("callerId", callerID)], [whom])
        ])
    }

    /// Words of the carrier's own voice, then the end.
    public static func say(_ text: String, language: String) -> String {
        response([MarkupElement("Say", [("language", language)], text: text), MarkupElement("Hangup")])
    }

    /// A call that is not answered: the caller hears that the number is not in service, or that it is busy.
    public static func reject(isBusy: Bool) -> String {
        response([MarkupElement("Reject", [("reason", isBusy ? "busy" : "rejected")])])
    }

    public static let hangUp = response([MarkupElement("Hangup")])

    private static func play(_ url: String?) -> [MarkupElement] { url.map { [MarkupElement("Play", text: $0)] } ?? [] }

    private static func redirect(_ url: String) -> MarkupElement {
        MarkupElement("Redirect", [("method", "POST")], text: url)
    }

    private static func response(_ verbs: [MarkupElement]) -> String { MarkupElement.document("Response", verbs) }
}
