internal import Net
public import Settings

/// The account at Exotel, and how its calls are carried.
public struct ExotelSettings: Sendable {
    /// Characters of a webhook token at least: it is all that Exotel's requests can prove.
    private static let tokenLength = 16

    /// Stands in the URLs that Exotel is given; nil: nothing of Exotel's is taken.
    public var webhookToken: String?
    public var accountSID: String?
    public var key: String?
    public var token: String?
    public var appID: String?
    /// Exotel's API, of the account's region, without a slash at the end.
    public var url = ExotelREST.Configuration.vendorURL
    /// Where Exotel's streams go, a `wss:` URL; nil: to our public address.
    public var streamURL: String?
    /// What a stream is to have.
    public var streamFormat = ExotelFormat.linear(8_000)
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "exotel.webhook_token", \.webhookToken, webhookTokenForm,
            "stands in the URLs that Exotel asks, for it signs nothing", unset: "none", isSecret: true,
            known: ["EXOTEL_WEBHOOK_TOKEN"])
        Setting(
            "exotel.account_sid", \.accountSID, wordForm, "the account that calls are placed with", unset: "none",
            known: ["EXOTEL_ACCOUNT_SID"])
        Setting("exotel.api_key", \.key, .text, "key for Exotel's API", unset: "none", known: ["EXOTEL_API_KEY"])
        Setting(
            "exotel.api_token", \.token, .text, "its token", unset: "none", isSecret: true, known: ["EXOTEL_API_TOKEN"])
        Setting(
            "exotel.app_id", \.appID, wordForm, "the flow that answered calls of ours are taken to", unset: "none",
            known: ["EXOTEL_APP_ID"])
        Setting("exotel.api_url", \.url, .webURL, "Exotel's API in the account's region, or a server like it")
        Setting(
            "exotel.stream_url", \.streamURL, .webSocketText(withQuery: false), "where Exotel's streams go",
            unset: "public_url and /media/exotel")
        Setting("exotel.stream_format", \.streamFormat, .oneOf(formats), "sound of Exotel's streams: encoding/Hz")
    }

    private static let formats: [(word: String, value: WireFormat)] = ExotelFormat.rates.map {
        ("l16/\($0)", ExotelFormat.linear($0))
    }

    /// nil: Exotel's API cannot be used.
    public var rest: ExotelREST.Configuration? {
        guard let accountSID, let key, let token, let appID else { return nil }
        var rest = ExotelREST.Configuration(accountSID: accountSID, key: key, token: token, appID: appID)
        rest.url = url
        return rest
    }

    /// What is missing; nil: nothing.
    /// - Parameters:
    ///   - isGateway: Exotel takes numbers.
    ///   - publicURL: our address as Exotel sees it.
    public func problem(isGateway: Bool, publicURL: String?) -> String? {
        let given = [accountSID, key, token, appID].compactMap { $0 }.count
        guard given == 0 || rest != nil else {
            return "exotel.account_sid, exotel.api_key, exotel.api_token and exotel.app_id are needed together"
        }
        if isGateway, rest == nil || webhookToken == nil {
            return "outbound.default_gateway is exotel: set EXOTEL_ACCOUNT_SID, EXOTEL_API_KEY, EXOTEL_API_TOKEN, "
                + "EXOTEL_APP_ID, EXOTEL_WEBHOOK_TOKEN and APP_PUBLIC_BASE_URL"
        }
        guard given == 0 || webhookToken != nil else {
            return "exotel.account_sid is set, so exotel.webhook_token is needed (EXOTEL_WEBHOOK_TOKEN)"
        }
        guard webhookToken == nil || publicURL != nil else {
            return "exotel.webhook_token is set, so public_url is needed (APP_PUBLIC_BASE_URL)"
        }
        return nil
    }

    /// It stands in a URL.
    private static let webhookTokenForm = SettingForm<String>(
        "at least \(tokenLength) letters and digits", problem: "must be at least \(tokenLength) letters and digits",
        format: { $0 }, parse: { $0.utf8.count >= tokenLength && isWord($0, and: "-_") ? $0 : nil })

    private static let wordForm = SettingForm<String>(
        "letters, digits, - and _", problem: "must consist of letters, digits, - and _", format: { $0 },
        parse: { !$0.isEmpty && isWord($0, and: "-_") ? $0 : nil })

    private static func isWord(_ text: String, and others: String) -> Bool {
        text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) || others.contains($0) }
    }
}
