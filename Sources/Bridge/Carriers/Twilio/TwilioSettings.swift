internal import Net
public import Settings

/// The account at Twilio, and how its calls are carried.
public struct TwilioSettings: Sendable {
    /// Checks what comes from Twilio; nil: nothing of Twilio's is taken.
    public var authToken: String?
    public var accountSID: String?
    /// An API key in the place of the auth token.
    public var keySID: String?
    public var keySecret: String?
    /// Twilio's REST API, without a slash at the end.
    public var url = TwilioREST.vendorURL
    /// `<Play>` and `<Record>`, for trunks without streams.
    public var isTurnBased = false
    public var detectsMachines = true
    /// Where Twilio's streams go, a `wss:` URL; nil: to our public address.
    public var streamURL: String?
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "twilio.auth_token", \.authToken, .text, "checks what comes from Twilio", unset: "none", isSecret: true,
            known: ["TWILIO_AUTH_TOKEN"])
        Setting(
            "twilio.account_sid", \.accountSID, accountForm, "the account that calls are placed with", unset: "none",
            known: ["TWILIO_ACCOUNT_SID"])
        Setting(
            "twilio.api_key_sid", \.keySID, .text, "API key for Twilio's REST API", unset: "the auth token is used",
            known: ["TWILIO_API_KEY_SID"])
        Setting(
            "twilio.api_key_secret", \.keySecret, .text, "its secret", unset: "none", isSecret: true,
            known: ["TWILIO_API_KEY_SECRET"])
        Setting("twilio.api_url", \.url, .webURL, "Twilio's REST API, or a server like it")
        Setting(
            "twilio.mode", \.isTurnBased, .oneOf([("stream", false), ("turns", true)]),
            "turns: <Play> and <Record>, for trunks without streams")
        Setting(
            "twilio.machine_detection", \.detectsMachines, .flag, "ask Twilio who answered, and end a machine's call")
        Setting(
            "twilio.stream_url", \.streamURL, .webSocketText(withQuery: false), "where Twilio's streams go",
            unset: "public_url and /media/twilio", known: ["TWILIO_STREAM_ENDPOINT"])
    }

    /// nil: Twilio's REST API cannot be used.
    public var rest: CallsREST.Configuration? {
        guard let accountSID, let authToken else { return nil }
        return CallsREST.Configuration(
            title: "Twilio", url: url, account: accountSID, user: keySID ?? accountSID,
            password: keySecret ?? authToken, isCallID: TwilioREST.isSID)
    }

    /// What is missing; nil: nothing.
    /// - Parameters:
    ///   - isGateway: Twilio takes numbers.
    ///   - publicURL: our address as Twilio sees it.
    public func problem(isGateway: Bool, publicURL: String?) -> String? {
        guard (keySID == nil) == (keySecret == nil) else {
            return "twilio.api_key_sid and twilio.api_key_secret are needed both"
        }
        for (isWanted, what) in [
            (isGateway, "outbound.default_gateway is twilio"), (isTurnBased, "twilio.mode is turns"),
        ] where isWanted && rest == nil {
            return "\(what): set TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN and APP_PUBLIC_BASE_URL"
        }
        guard authToken == nil || publicURL != nil else {
            return "twilio.auth_token is set, so public_url is needed: signatures cover our address "
                + "(APP_PUBLIC_BASE_URL)"
        }
        return nil
    }

    private static let accountForm = SettingForm<String>(
        "AC and 32 hex digits", problem: "must be AC and 32 hex digits", format: { $0 },
        parse: { text in
            let isSID =
                text.count == 34 && text.hasPrefix("AC") && text.dropFirst(2).allSatisfy { $0.isHexDigit && $0.isASCII }
            return isSID ? text : nil
        })
}
