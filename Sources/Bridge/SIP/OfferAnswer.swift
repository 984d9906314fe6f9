internal import Net
public import Pipeline

/// What two ends have agreed on for a leg's media.
public struct MediaTerms: Sendable, Equatable {
    public var remote: SessionDescription
    public var law: CompandingLaw
    /// Keys of what we send and of what we receive; nil: plain RTP.
    public var keys: Keys?
    public init(remote: SessionDescription, law: CompandingLaw, keys: Keys? = nil) {
        self.remote = remote
        self.law = law
        self.keys = keys
    }

    /// The far end hears nothing of us now.
    public var isHeld: Bool { remote.direction != .sendrecv || remote.address == nil }

    public struct Keys: Sendable, Equatable {
        public var local: SRTPKey
        public var remote: SRTPKey
    }
}

/// Offer and answer of one leg (RFC 3264), the first ones and those of re-INVITEs.
public struct OfferAnswer: Sendable {
    private let host: String
    private let port: UInt16
    /// What we offer is SRTP, and nothing else is taken for an answer: it is never downgraded.
    private let isSecure: Bool
    /// Media may go to this machine itself: its own address is there too, or the peer's signalling.
    private let allowsLoopback: Bool
    private let session: UInt64
    private var version: UInt64
    private var key: SRTPKey?
    private var offered: [CompandingLaw] = [.muLaw, .aLaw]
    private var terms: MediaTerms?

    /// - Parameters:
    ///   - session: of the line `o=`.
    ///   - peer: host that the signalling comes from or goes to.
    public init(
        host: String, port: UInt16, isSecure: Bool, session: UInt64 = .random(in: 1..<1 << 53), peer: String? = nil
    ) {
        allowsLoopback = SocketAddress.isLoopback(host) || peer.map(SocketAddress.isLoopback) ?? false
        self.host = host
        self.port = port
        self.isSecure = isSecure
        self.session = session
        version = session
    }

    private mutating func body(
        _ codecs: [CompandingLaw], event: UInt8?, direction: SessionDescription.Direction = .sendrecv
    ) -> String {
        defer { version &+= 1 }
        return SessionDescription.body(
            host: host, port: port, codecs: codecs, telephoneEvent: event, session: session, version: version,
            direction: direction, key: key)
    }

    /// A body with what we can.
    public mutating func offer() -> String {
        if isSecure || terms?.keys != nil { key = terms?.keys?.local ?? .random() }
        return body([.muLaw, .aLaw], event: 101)
    }

    /// What the far end makes of our offer. Throws where there is nothing that both can, or where it would do without
    /// what secures it.
    public mutating func accept(_ sdp: String?) throws(SDPError) -> MediaTerms {
        guard let sdp else { throw SDPError("the answer has no SDP") }
        let remote = try SessionDescription(parsing: sdp, allowsLoopback: allowsLoopback)
        guard let law = remote.codecs.first else { throw SDPError("the answer has no codec we speak (PCMU, PCMA)") }
        var terms = MediaTerms(remote: remote, law: law)
        if let key {
            guard remote.isSecure, let theirs = remote.keys.first(where: { $0.tag == key.tag && $0.suite == key.suite })
            else {
                throw SDPError("the answer is not secured, and the offer was (SRTP)")
            }
            terms.keys = .init(local: key, remote: theirs)
        } else if remote.isSecure {
            throw SDPError("the answer is secured, and the offer was not")
        }
        self.terms = terms
        return terms
    }

    /// Our answer to an offer of the far end's; the law that we speak already is kept where it can be.
    public mutating func answer(_ sdp: String) throws(SDPError) -> (body: String, terms: MediaTerms) {
        let remote = try SessionDescription(parsing: sdp, allowsLoopback: allowsLoopback)
        guard let first = remote.codecs.first else { throw SDPError("the offer has no codec we speak (PCMU, PCMA)") }
        let law = terms.map { remote.codecs.contains($0.law) ? $0.law : first } ?? first
        var terms = MediaTerms(remote: remote, law: law)
        if remote.isSecure {
            guard let theirs = remote.keys.first else {
                throw SDPError("the offer has no key that we can take (SRTP, AES_CM_128_HMAC_SHA1_80 or _32)")
            }
            var own = self.terms?.keys?.local ?? .random(suite: theirs.suite)
            if own.suite != theirs.suite { own = .random(suite: theirs.suite) }
            own.tag = theirs.tag
            terms.keys = .init(local: own, remote: theirs)
            key = own
        } else {
            guard self.terms?.keys == nil, !isSecure else {
                throw SDPError("the offer is not secured, and the call is (SRTP)")
            }
            key = nil
        }
        self.terms = terms
        return (body([law], event: remote.telephoneEvent, direction: remote.answerDirection), terms)
    }
}
