internal import Net
public import Settings

/// The account at Telnyx, and how its calls are carried.
public struct TelnyxSettings: Sendable {
    /// Checks what comes from Telnyx; nil: nothing of Telnyx's is taken.
    public var publicKey: String?
    public var apiKey: String?
    public var connectionID: String?
    /// Telnyx's REST API, without a slash at the end.
    public var url = TelnyxREST.Configuration.vendorURL
    public var detectsMachines = true
    public var format = TelnyxFormat.muLaw8k
    /// Where Telnyx's streams go, a `wss:` URL; nil: to our public address.
    public var streamURL: String?
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "telnyx.public_key", \.publicKey, keyForm, "checks what comes from Telnyx", unset: "none",
            known: ["TELNYX_PUBLIC_KEY"])
        Setting(
            "telnyx.api_key", \.apiKey, .text, "answers, places, transfers and ends Telnyx's calls", unset: "none",
            isSecret: true, known: ["TELNYX_API_KEY"])
        Setting(
            "telnyx.connection_id", \.connectionID, .text, "the Voice API application that calls are placed with",
            unset: "none", known: ["TELNYX_CONNECTION_ID"])
        Setting("telnyx.api_url", \.url, .webURL, "Telnyx's REST API, or a server like it")
        Setting(
            "telnyx.machine_detection", \.detectsMachines, .flag, "ask Telnyx who answered, and end a machine's call")
        Setting("telnyx.stream_format", \.format, .choice, "the sound that streams are asked for in")
        Setting(
            "telnyx.stream_url", \.streamURL, .webSocketText(withQuery: false), "where Telnyx's streams go",
            unset: "public_url and /media/telnyx")
    }

    /// nil: Telnyx's REST API cannot be used.
    public var rest: TelnyxREST.Configuration? {
        guard let apiKey else { return nil }
        var rest = TelnyxREST.Configuration(apiKey: apiKey, connectionID: connectionID)
        rest.url = url
        return rest
    }

    /// What is missing; nil: nothing.
    /// - Parameters:
    ///   - isGateway: Telnyx takes numbers.
    ///   - publicURL: our address as Telnyx sees it.
    public func problem(isGateway: Bool, publicURL: String?) -> String? {
        guard !isGateway || rest?.connectionID != nil && publicKey != nil else {
            return "outbound.default_gateway is telnyx: set TELNYX_API_KEY, TELNYX_CONNECTION_ID, TELNYX_PUBLIC_KEY "
                + "and APP_PUBLIC_BASE_URL"
        }
        guard publicKey == nil || publicURL != nil else {
            return "telnyx.public_key is set, so public_url is needed: Telnyx is told where to stream to "
                + "(APP_PUBLIC_BASE_URL)"
        }
        return nil
    }

    private static let keyForm = SettingForm<String>(
        "Base64 of 32 bytes", problem: "must be Base64 of 32 bytes", format: { $0 },
        parse: { TelnyxSignature(publicKey: $0) == nil ? nil : $0 })
}
