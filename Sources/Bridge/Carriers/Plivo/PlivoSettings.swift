internal import Net
public import Settings

/// The account at Plivo, and how its calls are carried.
public struct PlivoSettings: Sendable {
    /// Checks what comes from Plivo; nil: nothing of Plivo's is taken.
    public var authToken: String?
    public var authID: String?
    /// Plivo's REST API, without a slash at the end.
    public var url = PlivoREST.Configuration.vendorURL
    public var detectsMachines = true
    /// Where Plivo's streams go, a `wss:` URL; nil: to our public address.
    public var streamURL: String?
    /// What a stream is to have.
    public var streamFormat = WireFormat.muLaw8k
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "plivo.auth_token", \.authToken, .text, "checks what comes from Plivo", unset: "none", isSecret: true,
            known: ["PLIVO_AUTH_TOKEN"])
        Setting(
            "plivo.auth_id", \.authID, accountForm, "the account that calls are placed with", unset: "none",
            known: ["PLIVO_AUTH_ID"])
        Setting("plivo.api_url", \.url, .webURL, "Plivo's REST API, or a server like it")
        Setting("plivo.machine_detection", \.detectsMachines, .flag, "ask Plivo who answered, and end a machine's call")
        Setting(
            "plivo.stream_url", \.streamURL, .webSocketText(withQuery: false), "where Plivo's streams go",
            unset: "public_url and /media/plivo")
        Setting("plivo.stream_format", \.streamFormat, .oneOf(formats), "sound of Plivo's streams: encoding/Hz")
    }

    private static let formats: [(word: String, value: WireFormat)] = [
        ("mulaw/8000", .muLaw8k), ("l16/8000", PlivoFormat.linear(8_000)), ("l16/16000", PlivoFormat.linear(16_000)),
    ]

    /// nil: Plivo's REST API cannot be used.
    public var rest: PlivoREST.Configuration? {
        guard let authID, let authToken else { return nil }
        var rest = PlivoREST.Configuration(authID: authID, authToken: authToken)
        rest.url = url
        return rest
    }

    /// What is missing; nil: nothing.
    /// - Parameters:
    ///   - isGateway: Plivo takes numbers.
    ///   - publicURL: our address as Plivo sees it.
    public func problem(isGateway: Bool, publicURL: String?) -> String? {
        if isGateway, rest == nil {
            return "outbound.default_gateway is plivo: set PLIVO_AUTH_ID, PLIVO_AUTH_TOKEN and APP_PUBLIC_BASE_URL"
        }
        guard authID == nil || authToken != nil else {
            return "plivo.auth_id is set, so plivo.auth_token is needed (PLIVO_AUTH_TOKEN)"
        }
        guard authToken == nil || publicURL != nil else {
            return "plivo.auth_token is set, so public_url is needed: signatures cover our address "
                + "(APP_PUBLIC_BASE_URL)"
        }
        return nil
    }

    private static let accountForm = SettingForm<String>(
        "MA or SA and 18 capital letters or digits", problem: "must be MA or SA and 18 capital letters or digits",
        format: { $0 },
        parse: { text in
            let isID =
                text.utf8.count == 20 && (text.hasPrefix("MA") || text.hasPrefix("SA"))
                && text.allSatisfy { $0.isASCII && ($0.isNumber || $0.isUppercase) }
            return isID ? text : nil
        })
}
