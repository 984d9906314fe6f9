public import Bridge
internal import Foundation
public import Logging
internal import Net
internal import Synchronization

/// Keeps in touch with our trunks: registers with them, asks whether they are there, and says which to try first.
public final class TrunkKeeper: Sendable {
    public struct Settings: Sendable, Equatable {
        /// Seconds between two OPTIONS; 0: none are sent.
        public var keepaliveSeconds = 60.0
        /// We register with each trunk.
        public var registers = false
        /// Seconds asked for.
        public var registrationSeconds = 3_600
        public init() {}
    }

    public struct Status: Sendable, Equatable {
        public var address: String
        /// nil: nothing is known yet.
        public var isReachable: Bool?
        /// nil: we do not register, or no answer has come.
        public var isRegistered: Bool?
        /// Of what failed last: a SIP status.
        public var lastStatus: Int?
    }

    /// Seconds until a registration that failed is tried again: at first, and at most (RFC 5626 §4.5).
    static let backOff = 30.0...1_800.0
    /// Seconds for which a trunk that did not take a call is tried last.
    private static let coolDownMs: UInt64 = 60_000

    private struct State {
        var statuses: [String: Status] = [:]
        var failedAt: [String: UInt64] = [:]
        var failures: [String: Int] = [:]
        var registrations: [String: UserAgent.TrunkRegistration] = [:]
        var isStopped = false
    }
    private let trunks: [Routing.Trunk]
    private let settings: Settings
    private let userAgent: UserAgent
    private let caller: String
    private let logger: Logger
    private let state = Mutex(State())
    private let tasks = Mutex<[Task<Void, Never>]>([])

    /// - Parameter caller: user part of the address that we register.
    public init(_ trunks: [Routing.Trunk], settings: Settings, userAgent: UserAgent, caller: String, logger: Logger) {
        self.trunks = trunks
        self.settings = settings
        self.userAgent = userAgent
        self.caller = caller
        self.logger = logger
        state.withLock { state in
            for trunk in trunks { state.statuses[trunk.address] = Status(address: trunk.address) }
        }
    }

    public func start() {
        if settings.registers { for trunk in trunks { register(trunk) } }
        guard settings.keepaliveSeconds > 0, !trunks.isEmpty else { return }
        let task = Task {
            while !Task.isCancelled {
                for trunk in trunks { ask(trunk) }
                try? await Task.sleep(for: .seconds(settings.keepaliveSeconds))
            }
        }
        tasks.withLock { $0.append(task) }
    }

    /// Takes our registrations back.
    public func stop() {
        let registrations = state.withLock { state in
            state.isStopped = true
            return Array(state.registrations.values)
        }
        for task in tasks.withLock({ $0 }) { task.cancel() }
        for registration in registrations { registration.end() }
    }

    /// Of every trunk, in their order.
    public var statuses: [Status] { state.withLock { state in trunks.compactMap { state.statuses[$0.address] } } }

    // MARK: Is it there?

    private func ask(_ trunk: Routing.Trunk) {
        userAgent.options(to: "sip:\(trunk.address)", proxy: trunk.outboundProxy) { [weak self] status in
            // Whatever it says, it is there (RFC 3261 §11): but not where our own stack gave up.
            let isThere = status != 408 && status != 503 && status < 700
            self?.note(trunk.address, status) { $0.isReachable = isThere }
        }
    }

    private func note(_ address: String, _ status: Int, _ change: (inout Status) -> Void) {
        let turned = state.withLock { state -> Status? in
            guard var known = state.statuses[address] else { return nil }
            let before = known
            change(&known)
            known.lastStatus = status
            state.statuses[address] = known
            return before.isReachable != known.isReachable || before.isRegistered != known.isRegistered
                ? known : nil
        }
        guard let turned, let place = trunks.firstIndex(where: { $0.address == address }) else { return }
        let isBad = turned.isReachable == false || turned.isRegistered == false
        logger.log(
            level: isBad ? .warning : .notice, "trunk \(place + 1) is \(isBad ? "not usable" : "there")",
            metadata: ["status": "\(status)"])
    }

    // MARK: Registering

    private func register(_ trunk: Routing.Trunk) {
        guard !state.withLock({ $0.isStopped }) else { return }
        let host = trunk.address.split(separator: ";").first.map(String.init) ?? trunk.address
        let address = trunk.address
        let registration = userAgent.register(
            "sip:\(trunk.credentials?.user ?? caller)@\(host)", at: "sip:\(address)", proxy: trunk.outboundProxy,
            credentials: trunk.credentials,
            seconds: settings.registrationSeconds
        ) { [weak self] status in self?.registered(trunk, status) }
        state.withLock { $0.registrations[address] = registration }
    }

    private func registered(_ trunk: Routing.Trunk, _ status: Int) {
        let isGood = (200..<300).contains(status)
        note(trunk.address, status) { $0.isRegistered = isGood }
        let wait = state.withLock { state -> Double? in
            guard !state.isStopped else { return nil }
            guard !isGood else {
                state.failures[trunk.address] = 0
                return nil
            }
            let count = state.failures[trunk.address, default: 0]
            state.failures[trunk.address] = min(count + 1, 10)
            state.registrations.removeValue(forKey: trunk.address)?.abandon()
            return min(Self.backOff.upperBound, Self.backOff.lowerBound * Double(1 << count))
        }
        guard let wait else { return }
        let task = Task { [weak self] in
            try? await Task.sleep(for: .seconds(wait * Double.random(in: 0.5...1)))
            if !Task.isCancelled { self?.register(trunk) }
        }
        tasks.withLock { tasks in
            tasks.removeAll(where: \.isCancelled)
            tasks.append(task)
            if tasks.count > 100 { tasks.removeFirst() }
        }
    }

    // MARK: Which first?

    /// The routes to try, those through trunks that seem well first; each kind in the order of the configuration.
    func ordered(_ route: Routing.SIPRoute) -> [Routing.SIPRoute] {
        let all = [route] + route.alternatives
        let now = EventLoop.nowMs()
        let isWell = state.withLock { state in
            all.map { route -> Bool in
                guard let trunk = route.trunk else { return true }
                if state.statuses[trunk]?.isReachable == false { return false }
                return state.failedAt[trunk].map { now - min(now, $0) > Self.coolDownMs } ?? true
            }
        }
        return zip(all, isWell).filter(\.1).map(\.0) + zip(all, isWell).filter { !$0.1 }.map(\.0)
    }

    /// A trunk has not taken a call, or has.
    func note(_ route: Routing.SIPRoute, hasFailed: Bool) {
        guard let trunk = route.trunk else { return }
        state.withLock { $0.failedAt[trunk] = hasFailed ? EventLoop.nowMs() : nil }
    }

    /// Whether another trunk may do better (RFC 3263 §4.3, RFC 3261 §21.5).
    static func isWorthAnother(_ status: Int) -> Bool { [408, 500, 502, 503, 504].contains(status) }
}
