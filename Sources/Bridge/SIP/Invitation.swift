/// An INVITE to send.
public struct Invitation: Sendable {
    public struct Credentials: Sendable, Equatable {
        public var user: String
        public var password: String
        /// Challenges of other realms are not answered; nil: those of every realm are.
        public var realm: String?
        public init(user: String, password: String, realm: String? = nil) {
            self.user = user
            self.password = password
            self.realm = realm
        }
    }
    public var requestURI: String
    /// Display name and URI with tag as they stand in From, e.g. `"Clinic" <sip:1000@host>;tag=outb-…`.
    public var from: String
    public var to: String
    public var callID: String
    /// Outbound proxy, a SIP URI.
    public var proxy: String?
    /// Our offer; `SIPLeg` writes it.
    public var sdp: String
    public var headers: [(name: String, value: String)]
    public var credentials: Credentials?
    /// It comes to ourselves, to take a place in another call of ours (Replaces).
    public var isToOurselves = false
    public init(
        requestURI: String, from: String, to: String, callID: String, proxy: String? = nil, sdp: String = "",
        headers: [(name: String, value: String)] = [], credentials: Credentials? = nil
    ) {
        self.requestURI = requestURI
        self.from = from
        self.to = to
        self.callID = callID
        self.proxy = proxy
        self.sdp = sdp
        self.headers = headers
        self.credentials = credentials
    }
}

/// An INVITE received.
public struct IncomingCall: Sendable, Equatable {
    public var dialog: Dialog
    /// User parts of From and of the Request-URI.
    public var from: String
    public var to: String
    public var sdp: String?
    public var outboundID: String?
    /// IPv4 address that the INVITE came from.
    public var source = ""
    /// Of the body; nil without one.
    public var contentType: String?
    /// Value of Authorization or Proxy-Authorization.
    public var authorization: String?
    /// Value of User-Agent.
    public var agent: String?
    /// It wants no SDP in the answer.
    public var rejectsSDP = false
    /// User part of P-Asserted-Identity (RFC 3325). Unproven: any sender can write it.
    public var assertedIdentity: String?
    /// Whose place the caller wants to take, where it is a dialog of ours (RFC 3891).
    public var replaces: Dialog?
    /// ... but only while that one rings.
    public var replacesEarlyOnly = false
    /// It names a dialog, but none of ours.
    public var replacesUnknown = false
    /// It is an INVITE of our own.
    public var isFromOurselves = false

    public init(dialog: Dialog, from: String, to: String, sdp: String?, source: String) {
        self.dialog = dialog
        self.from = from
        self.to = to
        self.sdp = sdp
        self.source = source
    }
}

/// A request outside a dialog that wants an answer at once.
public struct OptionsRequest: Sendable {
    public var source: String
    public var agent: String?
}
