/// The dialects of media streams that are spoken, as server and as client.
public enum Dialects {
    /// Each once. The first is spoken where nothing else is said, by our own pages and by other servers of ours.
    public static let all: [any MediaStreamDialect.Type] = [
        TwilioDialect.self,
        VonageDialect.self,
        JambonzDialect.self,
        GenesysDialect.self,
        AsteriskDialect.self,
        TelnyxDialect.self,
        SignalWireDialect.self,
        PlivoDialect.self,
        ExotelDialect.self,
    ]

    public static var standard: any MediaStreamDialect.Type { all[0] }
    public static var names: [String] { all.map { $0.traits.name } }
    public static let paths = Set(all.flatMap { $0.traits.paths })
    public static let subprotocols = Set(all.flatMap { $0.traits.subprotocols })

    /// The one with this name in settings.
    public static func named(_ name: String) -> (any MediaStreamDialect.Type)? {
        all.first { $0.traits.name == name }
    }

    /// The one that is spoken at a path of ours.
    public static func at(_ path: String) -> (any MediaStreamDialect.Type)? {
        all.first { $0.traits.paths.contains(path) }
    }
}
