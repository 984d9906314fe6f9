public import Foundation
internal import Synchronization

/// A REGISTER as it came.
public struct Registration: Sendable {
    public struct Contact: Sendable, Equatable {
        /// A SIP URI, or `*`.
        public var uri: String
        /// Seconds; nil: none told here.
        public var expires: Int?
        public init(uri: String, expires: Int? = nil) {
            self.uri = uri
            self.expires = expires
        }
    }
    /// The user part of To: the user to register.
    public var user: String
    public var callID: String
    public var sequence: UInt32
    public var contacts: [Contact]
    /// Seconds, of the header Expires.
    public var expires: Int?
    public var authorization: String?
    /// Where it came from, IPv4.
    public var source: String
    public var port: UInt16
    /// `udp`, `tcp` or `tls`.
    public var transport: String
    /// Value of User-Agent.
    public var agent: String?
    public init(
        user: String, callID: String, sequence: UInt32, contacts: [Contact], expires: Int? = nil,
        authorization: String? = nil, source: String,
        port: UInt16, transport: String = "udp", agent: String? = nil
    ) {
        self.agent = agent
        self.user = user
        self.callID = callID
        self.sequence = sequence
        self.contacts = contacts
        self.expires = expires
        self.authorization = authorization
        self.source = source
        self.port = port
        self.transport = transport
    }
}

/// A final answer to a request outside a dialog.
public struct SIPReply: Sendable, Equatable {
    public var status: Int
    public var headers: [Header]
    public struct Header: Sendable, Equatable {
        public var name: String
        public var value: String
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }
    public init(_ status: Int, _ headers: [Header] = []) {
        self.status = status
        self.headers = headers
    }
}

/// Where our users' phones are (RFC 3261 §10.3). In memory: phones register again by themselves after a restart.
public final class Registrar: Sendable {
    /// One phone of a user.
    public struct Binding: Sendable, Equatable {
        /// As the phone gave it.
        public var contact: String
        /// Where its REGISTER came from: the way back through its NAT, `sip:ADDRESS:PORT;transport=…`.
        public var route: String
        public var expiresAt: Date
        var callID: String
        var sequence: UInt32
    }

    /// Allowed expiry of a registration, in seconds.
    public static let expiry = 60...3_600
    /// Phones of one user.
    public static let contactLimit = 8
    static let contactLength = 512

    private let authenticator: DigestAuthenticator
    private let secret: @Sendable (_ user: String) -> DigestAuthenticator.Secret?
    /// Called when a user's first phone registers, or the last one is gone.
    private let onChange: @Sendable (_ user: String, _ isRegistered: Bool) -> Void
    private let bindings = Mutex<[String: [Binding]]>([:])

    public init(
        authenticator: DigestAuthenticator, secret: @escaping @Sendable (_ user: String) -> DigestAuthenticator.Secret?,
        onChange: @escaping @Sendable (_ user: String, _ isRegistered: Bool) -> Void = { _, _ in }
    ) {
        self.authenticator = authenticator
        self.secret = secret
        self.onChange = onChange
    }

    /// An unknown user and a wrong password get the same answer.
    public func answer(_ request: Registration, now: Date) -> (reply: SIPReply, isRefused: Bool) {
        let user: String
        switch authenticator.verify(request.authorization, method: "REGISTER", now: now, secret: secret) {
        case .malformed: return (SIPReply(400), true)
        case .challenge(let challenges):
            return (SIPReply(401, challenges.map { .init("WWW-Authenticate", $0) }), request.authorization != nil)
        case .accepted(let known): user = known
        }
        // A user may only register the own address of record.
        guard user == request.user else { return (SIPReply(403), true) }
        return (register(request, now: now), false)
    }

    private func register(_ request: Registration, now: Date) -> SIPReply {
        let (reply, change) = bindings.withLock { all -> (SIPReply, Bool?) in
            var list = (all[request.user] ?? []).filter { $0.expiresAt > now }
            let was = !(all[request.user] ?? []).isEmpty
            let reply = Self.apply(request, to: &list, now: now)
            all[request.user] = list.isEmpty ? nil : list
            return (reply, was == list.isEmpty ? !list.isEmpty : nil)
        }
        if let change { onChange(request.user, change) }
        return reply
    }

    /// All of the request's contacts, or none (§10.3 step 7).
    private static func apply(_ request: Registration, to list: inout [Binding], now: Date) -> SIPReply {
        var next = list
        if request.contacts.contains(where: { $0.uri == "*" }) {
            guard request.contacts.count == 1, request.expires == 0 else { return SIPReply(400) }
            guard next.allSatisfy({ $0.callID != request.callID || $0.sequence < request.sequence }) else {
                return SIPReply(400)
            }
            list = []
            return SIPReply(200)
        }
        for contact in request.contacts {
            guard contact.uri.utf8.count <= contactLength, contact.uri.lowercased().hasPrefix("sip") else {
                return SIPReply(400)
            }
            let wanted = contact.expires ?? request.expires ?? expiry.upperBound
            guard wanted == 0 || wanted >= expiry.lowerBound else {
                return SIPReply(423, [.init("Min-Expires", String(expiry.lowerBound))])
            }
            let index = next.firstIndex { $0.contact == contact.uri }
            if let index, next[index].callID == request.callID, next[index].sequence >= request.sequence {
                return SIPReply(500)
            }
            if let index { next.remove(at: index) }
            guard wanted > 0 else { continue }
            guard next.count < contactLimit else { return SIPReply(403) }
            next.append(
                Binding(
                    contact: contact.uri,
                    route: "sip:\(request.source):\(request.port)"
                        + (request.transport == "udp" ? "" : ";transport=\(request.transport)"),
                    expiresAt: now.addingTimeInterval(Double(min(wanted, expiry.upperBound))), callID: request.callID,
                    sequence: request.sequence))
        }
        list = next
        return SIPReply(
            200,
            list.map {
                .init(
                    "Contact", "<\($0.contact)>;expires=\(max(1, Int($0.expiresAt.timeIntervalSince(now).rounded())))")
            })
    }

    /// The phones of a user, the newest last.
    public func phones(of user: String, now: Date) -> [Binding] {
        bindings.withLock { ($0[user] ?? []).filter { $0.expiresAt > now } }
    }

    /// Forgets a user's phones.
    public func forget(_ user: String) { bindings.withLock { $0[user] = nil } }

    /// Reports expired registrations. To be called regularly.
    public func expire(now: Date) {
        let gone = bindings.withLock { all -> [String] in
            let gone = all.filter { $0.value.allSatisfy { $0.expiresAt <= now } }.map(\.key)
            for user in gone { all[user] = nil }
            return gone
        }
        for user in gone { onChange(user, false) }
    }
}
