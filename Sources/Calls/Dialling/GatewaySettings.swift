internal import Bridge
public import Settings

/// The trunks and carriers for numbers, and how trunks are watched.
public struct GatewaySettings: Sendable {
    /// Trunks that are tried one after the other.
    private static let trunkLimit = 8
    /// Bytes of a trunk's host with its port.
    private static let hostLimit = 255

    public enum Kind: Sendable, Equatable {
        /// Addresses of trunks, the first one first.
        case sip([String])
        /// A carrier of `Carriers`, by name.
        case carrier(String)
    }
    public var kind: Kind?
    /// For digest authentication at the gateway.
    public var user: String?
    public var password: String?
    /// Only challenges of this realm are answered; nil: the gateway's.
    public var realm: String?
    /// A `sip:` URI.
    public var outboundProxy: String?
    public var keeper = TrunkKeeper.Settings()
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "outbound.default_gateway", \.kind, kindForm,
            "who takes numbers: SIP trunks, tried in this order; or a carrier",
            unset: "only sip: addresses are called")
        Setting("sip.gateway.username", \.user, .text, "digest user at the gateway", unset: "none")
        Setting(
            "sip.gateway.password", \.password, .text, "digest password at the gateway", unset: "none", isSecret: true)
        Setting("sip.gateway.outbound_proxy", \.outboundProxy, .text, "sip: URI of an outbound proxy", unset: "none")
        Setting(
            "sip.gateway.realm", \.realm, .text, "only challenges of this realm are answered",
            unset: "any of the gateway's")
        TrunkKeeper.Settings.keys.under(\.keeper, "sip.gateway")
    }

    /// Name of the carrier that takes numbers; nil: none does.
    public var carrier: String? {
        if case .carrier(let name)? = kind { name } else { nil }
    }

    /// Where numbers go, with what is needed to call there.
    public var route: Routing.Gateway? {
        switch kind {
        case nil: return nil
        case .carrier(let name): return .carrier(name)
        case .sip(let addresses):
            let credentials = user.map { Invitation.Credentials(user: $0, password: password ?? "", realm: realm) }
            return .sip(
                addresses.map { Routing.Trunk(address: $0, credentials: credentials, outboundProxy: outboundProxy) })
        }
    }

    private static let kindForm = SettingForm<Kind>(
        "1 to \(trunkLimit) of host[:port][;transport=udp|tcp|tls], comma-separated; or \(carriers)",
        problem: "must be 1 to \(trunkLimit) of host[:port][;transport=udp|tcp|tls], comma-separated, or \(carriers)",
        parse: { text in
            if Carriers.known(text) != nil { return .carrier(text) }
            let addresses = commaSeparated(text)
            return (1...trunkLimit).contains(addresses.count) && addresses.allSatisfy(isTrunk) ? .sip(addresses) : nil
        })

    private static var carriers: String {
        Carriers.all.filter { $0.placesCalls }.map { $0.name }.joined(separator: ", ")
    }

    private static func isTrunk(_ text: String) -> Bool {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false)
        guard parts.count <= 2, let host = parts.first, !host.isEmpty, host.utf8.count <= hostLimit,
            host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-._:[]".contains($0)) })
        else { return false }
        return parts.count == 1 || ["transport=udp", "transport=tcp", "transport=tls"].contains(parts[1].lowercased())
    }
}

extension TrunkKeeper.Settings {
    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        Setting("register", \.registers, .flag, "register with each gateway")
        Setting("register_seconds", \.registrationSeconds, .whole(60...86_400, .seconds), "expiry asked for")
        Setting(
            "keepalive_seconds", \.keepaliveSeconds, .whole(0...3_600, .seconds),
            "between two OPTIONS to each gateway; 0: none")
    }
}
