public import Calls
internal import Crypto
public import Foundation
internal import Net
public import Store
internal import Synchronization

/// The role of a key or user, which decides what it may do.
public enum Role: String, Sendable, Comparable, CaseIterable {
    case viewer, `operator`, admin
    private var rank: Int {
        switch self {
        case .viewer: 0
        case .operator: 1
        case .admin: 2
        }
    }
    public static func < (a: Role, b: Role) -> Bool { a.rank < b.rank }
}

/// Who asks.
struct Principal: Sendable, Equatable {
    var name: String
    /// The id of the key behind it; empty for who came by a password.
    var key: String
    var role: Role
    /// Whose calls, numbers and people this is about.
    var company = CompanyID.default
    /// By cookie: then a changing request must come from our own pages.
    var isSession: Bool
    /// An admin of the company `default` acts as one of another company (`X-Company`).
    var isActing = false
    /// Another door than the API's, for the audit log: `mcp`.
    var via: String?

    /// As the audit log of the company that it is about names it.
    var actor: String {
        let who = isActing ? "\(name) (\(CompanyID.default))" : name
        return via.map { "\(who) via \($0)" } ?? who
    }
}

/// API keys, hashed at rest, and dashboard sessions.
public final class Authenticator: Sendable {
    public static let cookie = "trunkline_session"
    /// Hours a login lasts.
    static let sessionHours = 12.0
    static let sessionLimit = 10_000

    private struct Session {
        var principal: Principal
        var expires: Date
    }
    private struct State {
        /// By hash.
        var keys: [String: (principal: Principal, expires: Date?)] = [:]
        var sessions: [String: Session] = [:]
        /// Names of those who log in by password.
        var users: [String: Member] = [:]
        var buckets: [String: Bucket] = [:]
    }
    private struct Member: Equatable {
        var role: Role
        var company: CompanyID
        init(role: Role, company: CompanyID) {
            self.role = role
            self.company = company
        }
        init(_ user: User) { self.init(role: Role(rawValue: user.role) ?? .viewer, company: user.company) }
        /// Whoever acts for another company is still a member of `default`.
        init(_ principal: Principal) {
            self.init(role: principal.role, company: principal.isActing ? .default : principal.company)
        }
    }
    private struct Bucket {
        var tokens: Double
        var at: Date
    }
    private let state = Mutex(State())
    private let now: @Sendable () -> Date
    /// Requests a second and in a burst, for each key and each source.
    private let rate: (perSecond: Double, burst: Double)
    private static let bucketLimit = 10_000

    public init(
        rate: (perSecond: Double, burst: Double) = AccessSettings().rate,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.rate = rate
        self.now = now
    }

    public static func hash(_ key: String) -> String {
        DigestText.hex(SHA256.hash(data: Data(key.utf8)))
    }

    /// `tk_` and 40 random hex digits.
    public static func newKey() -> String {
        "tk_" + (0..<5).map { _ in ShortID.random() }.joined()
    }

    /// A new key, and what is stored of it.
    public static func makeKey(
        name: String, role: Role, by who: String, at now: Date, expires: Date? = nil
    ) -> (key: String, stored: StoredKey) {
        let key = newKey()
        return (
            key,
            .init(hash: hash(key), name: name, role: role.rawValue, createdAt: now, createdBy: who, expiresAt: expires)
        )
    }

    /// The keys and users there are now, by whatever process they were made or taken away.
    public func refresh(from store: CallStore) async throws(StoreError) {
        let accounts = store.installation.accounts
        take(try await accounts.keysOfAll(), users: try await accounts.usersOfAll())
    }

    /// Replaces the known keys and users. Logins of removed keys and of users whose role has changed end.
    public func take(_ keys: [StoredKey], users: [User] = []) {
        state.withLock { state in
            state.keys = [:]
            state.users = Dictionary(users.map { ($0.name, Member($0)) }) { first, _ in first }
            for key in keys where key.revokedAt == nil {
                let principal = Principal(
                    name: key.name, key: key.id, role: Role(rawValue: key.role) ?? .viewer, company: key.company,
                    isSession: false)
                state.keys[key.hash] = (principal, key.expiresAt)
            }
            let valid = Set(state.keys.values.map(\.principal.key))
            state.sessions = state.sessions.filter { session in
                let principal = session.value.principal
                return principal.key.isEmpty
                    ? state.users[principal.name] == Member(principal) : valid.contains(principal.key)
            }
        }
    }

    /// Whether a principal that was admitted earlier still would be.
    func isCurrent(_ principal: Principal) -> Bool {
        let moment = now()
        return state.withLock { state in
            if principal.key.isEmpty { return state.users[principal.name] == Member(principal) }
            return state.keys.values.contains {
                $0.principal.key == principal.key && ($0.expires.map { $0 > moment } ?? true)
            }
        }
    }

    /// A session for a right key: its token for the cookie.
    func logIn(key: String) -> (token: String, principal: Principal)? {
        // Compared by hash, so that timing tells nothing of the key.
        let hash = Self.hash(key)
        return state.withLock { state in
            guard let known = state.keys[hash], known.expires.map({ $0 > now() }) ?? true else { return nil }
            var principal = known.principal
            principal.isSession = true
            return begin(principal, &state)
        }
    }

    /// A session for a user whose password was right.
    func logIn(_ user: User) -> (token: String, principal: Principal)? {
        state.withLock { state in
            let member = Member(user)
            state.users[user.name] = member
            return begin(
                Principal(name: user.name, key: "", role: member.role, company: member.company, isSession: true), &state
            )
        }
    }

    private func begin(_ principal: Principal, _ state: inout State) -> (token: String, principal: Principal)? {
        let token = Self.newKey()
        let moment = now()
        if state.sessions.count >= Self.sessionLimit {
            state.sessions = state.sessions.filter { $0.value.expires > moment }
        }
        guard state.sessions.count < Self.sessionLimit else { return nil }
        state.sessions[Self.hash(token)] = Session(
            principal: principal, expires: moment.addingTimeInterval(Self.sessionHours * 3_600))
        return (token, principal)
    }

    /// - Returns: the hash of the session that is over.
    func logOut(_ request: HTTPRequest) -> String? {
        guard let hash = request.cookie(Self.cookie).map(Self.hash) else { return nil }
        return state.withLock { $0.sessions.removeValue(forKey: hash) == nil ? nil : hash }
    }

    /// A login as it is kept.
    func stored(_ token: String) -> StoredSession? {
        let hash = Self.hash(token)
        return state.withLock { state in
            state.sessions[hash].map {
                .init(
                    hash: hash, name: $0.principal.name, keyID: $0.principal.key, role: $0.principal.role.rawValue,
                    expiresAt: $0.expires, company: $0.principal.company)
            }
        }
    }

    /// Logins from before a restart; `refresh` then ends those whose key or user is gone.
    public func adopt(_ sessions: [StoredSession]) {
        state.withLock { state in
            for session in sessions.prefix(Self.sessionLimit) {
                guard let role = Role(rawValue: session.role) else { continue }
                let principal = Principal(
                    name: session.name, key: session.keyID, role: role, company: session.company, isSession: true)
                state.sessions[session.hash] = Session(principal: principal, expires: session.expiresAt)
            }
        }
    }

    func principal(of request: HTTPRequest) -> Principal? {
        if let header = request.headers["authorization"] {
            guard header.lowercased().hasPrefix("bearer ") else { return nil }
            let hash = Self.hash(String(header.dropFirst(7)).trimmingCharacters(in: .whitespaces))
            return state.withLock { state in
                guard let known = state.keys[hash], known.expires.map({ $0 > now() }) ?? true else { return nil }
                return known.principal
            }
        }
        guard let token = request.cookie(Self.cookie) else { return nil }
        let hash = Self.hash(token)
        return state.withLock { state in
            guard let session = state.sessions[hash], session.expires > now() else { return nil }
            return session.principal
        }
    }

    /// Whether a cookie's request comes from our own pages: browsers say so, and cannot be made to lie.
    static func isSameOrigin(_ request: HTTPRequest) -> Bool {
        if let site = request.headers["sec-fetch-site"] { return site == "same-origin" || site == "none" }
        guard let origin = request.headers["origin"], let host = request.headers["host"] else { return false }
        return origin == "http://" + host || origin == "https://" + host
    }

    /// Logins that are refused in a minute, for each name and each source.
    private static let refusalsPerMinute = 10.0
    private static let refusalRate = (perSecond: refusalsPerMinute / 60, burst: refusalsPerMinute)

    /// Nil while a login may be tried; else the seconds to wait.
    func secondsToWait(forLoginOf source: String) -> Int? {
        secondsToWait(for: "login " + source, rate: Self.refusalRate, cost: 0).map { _ in
            Int(60 / Self.refusalsPerMinute)
        }
    }
    func loginRefused(of source: String) { _ = secondsToWait(for: "login " + source, rate: Self.refusalRate, cost: 1) }

    /// Nil while within the rate; else the seconds to wait.
    func secondsToWait(for source: String) -> Int? { secondsToWait(for: source, rate: rate, cost: 1) }

    private func secondsToWait(for source: String, rate: (perSecond: Double, burst: Double), cost: Double) -> Int? {
        let moment = now()
        return state.withLock { state in
            if state.buckets.count > Self.bucketLimit {
                state.buckets = state.buckets.filter { moment.timeIntervalSince($0.value.at) < 60 }
            }
            var bucket = state.buckets[source] ?? Bucket(tokens: rate.burst, at: moment)
            bucket.tokens = min(
                rate.burst, bucket.tokens + max(0, moment.timeIntervalSince(bucket.at)) * rate.perSecond)
            bucket.at = moment
            defer { state.buckets[source] = bucket }
            guard bucket.tokens >= 1 else { return 1 }
            bucket.tokens -= cost
            return nil
        }
    }
}
