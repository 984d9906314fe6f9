internal import Foundation

/// What Twilio is told to do with a call (twilio.com/docs/voice/twiml).
public enum TwiML {
    public static let contentType = "text/xml; charset=utf-8"

    /// `<Connect><Stream>`: the call's media to and from a WebSocket of ours. The URL must have no query (error 31920),
    /// so what the stream is to be known by goes into parameters.
    ///
    /// - Parameter next: asked for TwiML when the stream has ended, or could not be had.
    public static func connect(stream url: String, parameters: [(name: String, value: String)], next: String? = nil)
        -> String
    {
        let inner = parameters.map { #"<Parameter name="\#(escaped($0.name))" value="\#(escaped($0.value))"/>"# }
            .joined()
        return response(
            #"<Connect><Stream url="\#(escaped(url))">\#(inner)</Stream></Connect>"# + (next.map(redirect) ?? ""))
    }

    /// `<Play>` and `<Record>`: one turn of ours, then the caller's.
    ///
    /// - Parameters:
    ///   - url: of the sound; nil where there is nothing to say.
    ///   - next: told of the recording; where the caller is silent, asked without one.
    ///   - silenceSeconds: of silence that end the recording.
    public static func turn(play url: String?, next: String, silenceSeconds: Int, limitSeconds: Int) -> String {
        response(
            (url.map { "<Play>\(escaped($0))</Play>" } ?? "")
                + #"<Record action="\#(escaped(next))" method="POST" timeout="\#(silenceSeconds)" "#
                + #"maxLength="\#(limitSeconds)" playBeep="false" trim="do-not-trim"/>"#
                + redirect(next))
    }

    /// Our last turn.
    public static func goodbye(play url: String?) -> String {
        response((url.map { "<Play>\(escaped($0))</Play>" } ?? "") + "<Hangup/>")
    }

    /// `<Dial>`: hands the call to somebody else.
    ///
    /// - Parameters:
    ///   - target: a number, or a `sip:` address.
    ///   - callerID: a number of the account's; nil: Twilio chooses.
    ///   - next: asked, with `DialCallStatus`, when that is over.
    public static func dial(_ target: String, callerID: String?, ringSeconds: Int, next: String) -> String {
        let element = target.lowercased().hasPrefix("sip:") ? "Sip" : "Number"
        let caller = callerID.map { #" callerId="\#(escaped($0))""# } ?? ""
        return response(
            #"<Dial action="\#(escaped(next))" method="POST" timeout="\#(min(600, max(5, ringSeconds)))"\#(caller)>"#
                + "<\(element)>\(escaped(target))</\(element)></Dial>")
    }

    /// Words of Twilio's own voice, then the end.
    public static func say(_ text: String, language: String) -> String {
        response(#"<Say language="\#(escaped(language))">\#(escaped(text))</Say><Hangup/>"#)
    }

    /// A call that is not answered: the caller hears that the number is not in service, or that it is busy.
    public static func reject(isBusy: Bool) -> String {
        response(#"<Reject reason="\#(isBusy ? "busy" : "rejected")"/>"#)
    }

    private static func redirect(_ url: String) -> String { #"<Redirect method="POST">\#(escaped(url))</Redirect>"# }

    public static let hangUp = response("<Hangup/>")

    static func response(_ verbs: String) -> String {
        #"<?xml version="1.0" encoding="UTF-8"?><Response>\#(verbs)</Response>"#
    }

    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&apos;"
            default:
                // XML 1.0 has no place for other control characters.
                if scalar.value >= 0x20 || scalar == "\t" || scalar == "\n" { result.unicodeScalars.append(scalar) }
            }
        }
        return result
    }
}
