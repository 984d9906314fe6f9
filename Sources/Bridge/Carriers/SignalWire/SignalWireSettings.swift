internal import Net
public import Settings

/// The project at SignalWire, and how its calls are carried.
public struct SignalWireSettings: Sendable {
    /// Checks what comes from SignalWire; nil: nothing of SignalWire's is taken.
    public var signingKey: String?
    public var project: String?
    public var token: String?
    /// `example` or `example.signalwire.com`.
    public var space: String?
    /// nil: the space's.
    public var url: String?
    public var detectsMachines = true
    public var format = SignalWireFormat.muLaw8k
    /// Where SignalWire's streams go, a `wss:` URL; nil: to our public address.
    public var streamURL: String?
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "signalwire.signing_key", \.signingKey, .text, "checks what comes from SignalWire", unset: "none",
            isSecret: true, known: ["SIGNALWIRE_SIGNING_KEY"])
        Setting(
            "signalwire.project", \.project, projectForm, "the project that calls are placed with", unset: "none",
            known: ["SIGNALWIRE_PROJECT", "SIGNALWIRE_PROJECT_ID"])
        Setting(
            "signalwire.token", \.token, .text, "API token for SignalWire's REST API", unset: "none", isSecret: true,
            known: ["SIGNALWIRE_TOKEN", "SIGNALWIRE_API_TOKEN"])
        Setting(
            "signalwire.space", \.space, spaceForm, "the space, e.g. example.signalwire.com", unset: "none",
            known: ["SIGNALWIRE_SPACE", "SIGNALWIRE_SPACE_URL"])
        Setting(
            "signalwire.api_url", \.url, .webURL, "SignalWire's REST API, or a server like it",
            unset: "/api/laml of the space")
        Setting(
            "signalwire.machine_detection", \.detectsMachines, .flag,
            "ask SignalWire who answered, and end a machine's call")
        Setting("signalwire.stream_format", \.format, .choice, "the sound that streams are asked for in")
        Setting(
            "signalwire.stream_url", \.streamURL, .webSocketText(withQuery: false), "where SignalWire's streams go",
            unset: "public_url and /media/signalwire")
    }

    /// nil: SignalWire's REST API cannot be used.
    public var rest: CallsREST.Configuration? {
        guard let project, let token, let url = url ?? space.map(Self.url) else { return nil }
        return CallsREST.Configuration(
            title: "SignalWire", url: url, account: project, user: project, password: token,
            isCallID: SignalWireREST.isCallID)
    }

    private static func url(space: String) -> String {
        "https://\(space.contains(".") ? space : space + ".signalwire.com")/api/laml"
    }

    /// What is missing; nil: nothing.
    /// - Parameters:
    ///   - isGateway: SignalWire takes numbers.
    ///   - publicURL: our address as SignalWire sees it.
    public func problem(isGateway: Bool, publicURL: String?) -> String? {
        guard !isGateway || rest != nil && signingKey != nil else {
            return
                "outbound.default_gateway is signalwire: set SIGNALWIRE_PROJECT, SIGNALWIRE_TOKEN, SIGNALWIRE_SPACE, "
                + "SIGNALWIRE_SIGNING_KEY and APP_PUBLIC_BASE_URL"
        }
        guard signingKey == nil || publicURL != nil else {
            return "signalwire.signing_key is set, so public_url is needed: signatures cover our address "
                + "(APP_PUBLIC_BASE_URL)"
        }
        return nil
    }

    private static let projectForm = SettingForm<String>(
        "UUID", problem: "must be a UUID", format: { $0 }, parse: { SignalWireREST.isCallID($0) ? $0 : nil })

    private static let spaceForm = SettingForm<String>(
        "name", problem: "must be a space's name, e.g. example.signalwire.com", format: { $0 },
        parse: { text in
            let isName = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-.".contains($0)) }
            return isName && (1...253).contains(text.utf8.count) ? text : nil
        })
}
