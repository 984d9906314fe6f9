internal import Net
public import Settings

/// The account and the application at Vonage, and how its calls are carried.
public struct VonageSettings: Sendable {
    /// Checks what comes from Vonage; nil: nothing of Vonage's is taken.
    public var signatureSecret: String?
    public var apiKey: String?
    public var applicationID: String?
    /// PEM.
    public var privateKey: String?
    /// Vonage's API, of the region that the calls are in, without a slash at the end.
    public var url = VonageREST.Configuration.vendorURL
    /// nil: no machine detection.
    public var machineDetection: VonageREST.MachineDetection? = .standard
    /// Where Vonage's streams go, a `wss:` URL; nil: to our public address.
    public var streamURL: String?
    /// What a stream is to have.
    public var streamFormat = WireFormat(.linear16(.little), sampleRate: 16_000)
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "vonage.signature_secret", \.signatureSecret, .text, "checks what comes from Vonage", unset: "none",
            isSecret: true, known: ["VONAGE_SIGNATURE_SECRET"])
        Setting(
            "vonage.api_key", \.apiKey, .text, "the account whose webhooks are taken", unset: "any with the secret",
            known: ["VONAGE_API_KEY"])
        Setting(
            "vonage.application_id", \.applicationID, applicationForm, "the application that calls are placed with",
            unset: "none", known: ["VONAGE_APPLICATION_ID"])
        Setting(
            "vonage.private_key", \.privateKey, .text, "its private key, PEM", unset: "none", isSecret: true,
            known: ["VONAGE_PRIVATE_KEY"])
        Setting("vonage.api_url", \.url, .webURL, "Vonage's API in the region of the calls, or a server like it")
        Setting(
            "vonage.machine_detection", \.machineDetection,
            .oneOf([("off", nil), ("standard", .standard), ("advanced", .advanced)]),
            "ask Vonage who answered, and end a machine's call")
        Setting(
            "vonage.stream_url", \.streamURL, .webSocketText(withQuery: false), "where Vonage's streams go",
            unset: "public_url and /media/vonage")
        Setting("vonage.stream_format", \.streamFormat, .oneOf(formats), "sound of Vonage's streams: encoding/Hz")
    }

    private static let formats: [(word: String, value: WireFormat)] = [8_000, 16_000, 24_000].map {
        ("l16/\($0)", WireFormat(.linear16(.little), sampleRate: $0))
    }

    /// nil: Vonage's API cannot be used.
    public var rest: VonageREST.Configuration? {
        guard let applicationID, let key = privateKey.flatMap(VonageKey.init(pem:)) else { return nil }
        var rest = VonageREST.Configuration(applicationID: applicationID, key: key)
        rest.url = url
        return rest
    }

    /// What is missing; nil: nothing.
    /// - Parameters:
    ///   - isGateway: Vonage takes numbers.
    ///   - publicURL: our address as Vonage sees it.
    public func problem(isGateway: Bool, publicURL: String?) -> String? {
        guard (applicationID == nil) == (privateKey == nil) else {
            return "vonage.application_id and vonage.private_key are needed both"
        }
        if let privateKey, VonageKey(pem: privateKey) == nil {
            return "vonage.private_key is no RSA key of 2048 to 4096 bits in PEM: give file:/path, or its text"
        }
        if isGateway, rest == nil || signatureSecret == nil {
            return "outbound.default_gateway is vonage: set VONAGE_APPLICATION_ID, VONAGE_PRIVATE_KEY, "
                + "VONAGE_SIGNATURE_SECRET and APP_PUBLIC_BASE_URL"
        }
        guard applicationID == nil || signatureSecret != nil else {
            return "vonage.application_id is set, so vonage.signature_secret is needed (VONAGE_SIGNATURE_SECRET)"
        }
        guard signatureSecret == nil || publicURL != nil else {
            return "vonage.signature_secret is set, so public_url is needed (APP_PUBLIC_BASE_URL)"
        }
        return nil
    }

    private static let applicationForm = SettingForm<String>(
        "UUID", problem: "must be a UUID", format: { $0 }, parse: { CarrierREST.isUUID($0) ? $0 : nil })
}
