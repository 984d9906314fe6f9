/// The carriers that are known, and those that are set up.
public struct Carriers: Sendable {
    /// Each once.
    public static let all: [any Carrier.Type] = [
        TwilioCarrier.self,
        TelnyxCarrier.self,
        SignalWireCarrier.self,
        PlivoCarrier.self,
        VonageCarrier.self,
        ExotelCarrier.self,
        GenesysCarrier.self,
    ]

    private let ready: [any Carrier]

    /// - Parameter ready: those that are set up.
    public init(_ ready: [any Carrier] = []) { self.ready = ready }

    // MARK: Known

    public static var names: [String] { all.map { $0.name } }
    /// A SIP leg of ours, a user's browser, or a stream of another server or a PBX.
    static let sip = "sip", browser = "browser", stream = "stream"
    /// What a call's record may name.
    public static var recorded: [String] { [sip, browser, stream] + names }
    public static func known(_ name: String) -> (any Carrier.Type)? { all.first { $0.name == name } }

    // MARK: Set up

    /// The one of a type, for its own routes.
    public func the<Kind: Carrier>(_ kind: Kind.Type) -> Kind? { ready.lazy.compactMap { $0 as? Kind }.first }
    /// The one whose streams speak a dialect.
    func speaking(_ dialect: String) -> (any Carrier)? { ready.first { type(of: $0).dialect == dialect } }
    /// The first that sends text messages; nil: none does.
    public var messenger: (any TextMessenger)? { ready.lazy.compactMap(\.messenger).first }
    func named(_ name: String) -> (any Carrier)? { ready.first { $0.name == name } }
}
