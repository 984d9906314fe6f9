public import Bridge
public import Foundation
public import Store
internal import Synchronization

/// The operators as the SIP thread and the calls need them: in memory, with where their phones are.
public final class OperatorDirectory: Sendable {
    private struct State {
        var operators: [Operator] = []
        /// Calls that each is in.
        var engaged: [String: Int] = [:]
    }

    public let realm: String
    public let authenticator: DigestAuthenticator
    private let plan: NumberingPlan
    private let state = Mutex(State())
    private let now: @Sendable () -> Date
    /// Hears when an operator's first phone comes or the last one goes.
    private let changes: AsyncStream<(user: String, isRegistered: Bool)>.Continuation
    public let registrations: AsyncStream<(user: String, isRegistered: Bool)>
    private let holder = Mutex<Registrar?>(nil)

    public init(
        realm: String, algorithms: [DigestAuthenticator.Algorithm], plan: NumberingPlan,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.realm = realm
        self.plan = plan
        self.now = now
        authenticator = DigestAuthenticator(realm: realm, algorithms: algorithms)
        (registrations, changes) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1_000))
        let changes = changes
        let registrar = Registrar(
            authenticator: authenticator, secret: { [weak self] in self?.secret(of: $0) },
            onChange: { changes.yield(($0, $1)) })
        holder.withLock { $0 = registrar }
    }

    public var registrar: Registrar {
        guard let registrar = holder.withLock({ $0 }) else { preconditionFailure("it is set in init") }
        return registrar
    }

    /// Takes over what the store has.
    public func replace(_ operators: [Operator]) {
        let gone = state.withLock { state -> [String] in
            let users = Set(operators.filter { $0.secret != nil }.map(\.sipUser))
            let gone = state.operators.map(\.sipUser).filter { !users.contains($0) }
            state.operators = operators.sorted { ($0.order, $0.name, $0.id) < ($1.order, $1.name, $1.id) }
            return gone
        }
        for user in gone { registrar.forget(user) }
    }

    /// Whether phones of any company prove who they are.
    var havePasswords: Bool { state.withLock { $0.operators.contains { $0.secret != nil } } }
    public func all(_ company: CompanyID) -> [Operator] {
        state.withLock { $0.operators.filter { $0.company == company } }
    }
    func secret(of user: String) -> DigestAuthenticator.Secret? {
        state.withLock { $0.operators.first { $0.sipUser == user }?.secret }
    }
    public func with(_ company: CompanyID, id: String) -> Operator? {
        state.withLock { $0.operators.first { $0.id == id && $0.company == company } }
    }
    /// A user name belongs to one operator of the installation, as a dialled number does.
    public func with(user: String) -> Operator? { state.withLock { $0.operators.first { $0.sipUser == user } } }

    /// Whom a dialled number or user belongs to.
    public func with(number: String) -> Operator? {
        let key = plan.key(number)
        return state.withLock { state in
            state.operators.first { $0.sipUser == number || $0.number.map { plan.key($0) == key } == true }
        }
    }

    public func phones(of known: Operator) -> [Registrar.Binding] { registrar.phones(of: known.sipUser, now: now()) }

    /// Whether the operator can be rung now.
    public func canRing(_ known: Operator) -> Bool {
        known.status == .available && !isEngaged(known.id) && (known.address != nil || !phones(of: known).isEmpty)
    }

    /// Those who may take a call now, in the order in which they are tried.
    public func available(_ company: CompanyID) -> [Operator] { all(company).filter(canRing) }

    // MARK: Who is in a call

    public func isEngaged(_ id: String) -> Bool { state.withLock { $0.engaged[id, default: 0] > 0 } }
    func engage(_ id: String) { state.withLock { $0.engaged[id, default: 0] += 1 } }
    func release(_ id: String) {
        state.withLock { state in
            let left = state.engaged[id, default: 1] - 1
            state.engaged[id] = left > 0 ? left : nil
        }
    }
}
