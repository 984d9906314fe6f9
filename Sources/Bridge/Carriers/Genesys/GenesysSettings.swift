public import Settings

/// The integration at Genesys Cloud whose streams are taken.
public struct GenesysSettings: Sendable {
    /// Of the integration's credentials; nil: no stream of Genesys's is taken without a token.
    public var apiKey: String?
    /// Base64.
    public var clientSecret: String?
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "genesys.api_key", \.apiKey, .text, "API key of the Genesys integration", unset: "none", isSecret: true,
            known: ["GENESYS_API_KEY"])
        Setting(
            "genesys.client_secret", \.clientSecret, .text, "its client secret in Base64: checks signatures",
            unset: "none", isSecret: true, known: ["GENESYS_CLIENT_SECRET"])
    }

    /// nil: not set.
    public var signature: GenesysSignature? {
        guard let apiKey, let clientSecret else { return nil }
        return GenesysSignature(apiKey: apiKey, clientSecret: clientSecret)
    }

    /// What is missing; nil: nothing.
    /// - Parameters:
    ///   - isGateway: Genesys takes numbers.
    ///   - publicURL: our address as Genesys sees it.
    public func problem(isGateway: Bool, publicURL: String?) -> String? {
        if isGateway { return "outbound.default_gateway is genesys, but Genesys places no calls for us" }
        guard apiKey != nil || clientSecret != nil else { return nil }
        guard apiKey != nil, clientSecret != nil else {
            return "genesys.api_key and genesys.client_secret are needed together (GENESYS_API_KEY, "
                + "GENESYS_CLIENT_SECRET)"
        }
        guard signature != nil else { return "genesys.client_secret must be Base64" }
        guard publicURL != nil else {
            return "genesys.api_key is set, so public_url is needed: signatures cover our address (APP_PUBLIC_BASE_URL)"
        }
        return nil
    }
}
