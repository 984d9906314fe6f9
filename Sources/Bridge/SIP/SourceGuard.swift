public import Net
internal import Synchronization

/// Blocks sources that scan for numbers, guess passwords or flood: by address, here and in the kernel.
public final class SourceGuard: Sendable {
    /// Failures within the window that shut a source out.
    static let failureLimit = 10
    static let failureWindowMs: UInt64 = 60_000
    /// Requests a second, over two seconds, that no phone and no trunk sends.
    static let requestLimit = 50
    static let blockMs: UInt64 = 600_000
    /// How long a phone is believed after it has registered: the longest that a registration is kept.
    static let trustMs: UInt64 = 3_600_000
    /// Sources of which something is known.
    static let sourceLimit = 10_000
    /// Sources blocked at once.
    static let blockLimit = 1_000
    /// Beginnings of User-Agent by which the tools of scanners give themselves away.
    private static let scanners = [
        "friendly-scanner", "sipvicious", "sipcli", "sip-scan", "smap", "pplsip", "sundayddr", "sipsak",
        "vaxsipuseragent", "iwar", "sivus",
    ]

    private struct Source {
        var failures = 0
        var failuresSince: UInt64 = 0
        var requests = 0
        var requestsSince: UInt64 = 0
        var blockedUntil: UInt64 = 0
        /// A phone of ours is there: it is not blocked for what others behind its NAT do.
        var trustedUntil: UInt64 = 0
    }
    private struct State {
        var sources: [String: Source] = [:]
        var onBlock: (@Sendable (_ addresses: [UInt32], _ newest: String?) -> Void)?
        var onTrust: (@Sendable (_ addresses: [UInt32]) -> Void)?
    }

    /// Never blocked: trunks of ours, and this machine.
    private let exempt: Set<String>
    private let now: @Sendable () -> UInt64
    private let state = Mutex(State())

    public init(exempt: Set<String>, now: @escaping @Sendable () -> UInt64 = { EventLoop.nowMs() }) {
        self.exempt = exempt.union(["127.0.0.1"])
        self.now = now
    }

    /// Hears all addresses that are blocked now, and the newest of them.
    public var onBlock: (@Sendable (_ addresses: [UInt32], _ newest: String?) -> Void)? {
        get { state.withLock { $0.onBlock } }
        set { state.withLock { $0.onBlock = newValue } }
    }

    /// Hears all addresses (IPv4, host byte order) of our trunks and of phones that have proved who they are, at once
    /// and whenever they change.
    public var onTrust: (@Sendable (_ addresses: [UInt32]) -> Void)? {
        get { state.withLock { $0.onTrust } }
        set {
            state.withLock { $0.onTrust = newValue }
            newValue?(state.withLock { trusted($0) })
        }
    }

    private func trusted(_ state: State) -> [UInt32] {
        let phones = state.sources.filter { $0.value.trustedUntil > 0 }.keys
        return Self.numbers(exempt.union(phones))
    }

    private static func numbers(_ sources: some Sequence<String>) -> [UInt32] {
        sources.compactMap { SocketAddress($0, port: 0).map { UInt32(bigEndian: $0.address) } }
    }

    /// Whether a request is looked at at all.
    public func admits(_ source: String, agent: String?) -> Bool {
        guard !exempt.contains(source), !source.isEmpty else { return true }
        let now = now()
        let agent = agent?.lowercased() ?? ""
        return change(source, now) { known in
            guard known.blockedUntil <= now else { return (false, false) }
            if Self.scanners.contains(where: agent.hasPrefix) { return (false, true) }
            if now - min(now, known.requestsSince) > 2_000 {
                known.requestsSince = now
                known.requests = 0
            }
            known.requests += 1
            return known.requests > 2 * Self.requestLimit && known.trustedUntil <= now ? (false, true) : (true, false)
        }
    }

    /// A wrong password or an unknown number.
    public func failed(_ source: String) {
        guard !exempt.contains(source), !source.isEmpty else { return }
        let now = now()
        _ = change(source, now) { known in
            if now - min(now, known.failuresSince) > Self.failureWindowMs {
                known.failuresSince = now
                known.failures = 0
            }
            known.failures += 1
            return (true, known.failures >= Self.failureLimit && known.trustedUntil <= now)
        }
    }

    /// A phone has authenticated.
    public func trust(_ source: String) {
        let now = now()
        let wasTrusted = state.withLock { ($0.sources[source]?.trustedUntil ?? 0) > 0 }
        _ = change(source, now) { known in
            known.trustedUntil = now + Self.trustMs
            return (true, false)
        }
        if !wasTrusted { tellTrusted() }
    }

    private func tellTrusted() {
        let (tell, addresses) = state.withLock { ($0.onTrust, trusted($0)) }
        tell?(addresses)
    }

    /// Unblocks sources whose time is over.
    public func expire() {
        let now = now()
        let trustedBefore = state.withLock { $0.sources.count { $0.value.trustedUntil > 0 } }
        let report = state.withLock { state -> (() -> Void)? in
            let before = state.sources.count { $0.value.blockedUntil > 0 }
            state.sources = state.sources.filter { _, known in
                known.blockedUntil > now || known.trustedUntil > now
                    || now - min(now, known.failuresSince) < Self.failureWindowMs
                    || now - min(now, known.requestsSince) < Self.failureWindowMs
            }
            for (source, known) in state.sources where known.blockedUntil > 0 && known.blockedUntil <= now {
                state.sources[source]?.blockedUntil = 0
            }
            for (source, known) in state.sources where known.trustedUntil > 0 && known.trustedUntil <= now {
                state.sources[source]?.trustedUntil = 0
            }
            guard before != state.sources.count(where: { $0.value.blockedUntil > 0 }) else { return nil }
            return Self.report(state, newest: nil)
        }
        report?()
        if trustedBefore != state.withLock({ $0.sources.count { $0.value.trustedUntil > 0 } }) { tellTrusted() }
    }

    private func change(_ source: String, _ now: UInt64, _ body: (inout Source) -> (admitted: Bool, blocks: Bool))
        -> Bool
    {
        let (admitted, report) = state.withLock { state -> (Bool, (() -> Void)?) in
            // A flood of forged addresses finds the table full, and changes nothing for those in it.
            guard state.sources[source] != nil || state.sources.count < Self.sourceLimit else { return (true, nil) }
            var known = state.sources[source] ?? Source()
            let (admitted, blocks) = body(&known)
            if blocks { known.blockedUntil = now + Self.blockMs }
            state.sources[source] = known
            return (admitted, blocks ? Self.report(state, newest: source) : nil)
        }
        report?()
        return admitted
    }

    private static func report(_ state: State, newest: String?) -> (() -> Void)? {
        guard let onBlock = state.onBlock else { return nil }
        let blocked = state.sources.filter { $0.value.blockedUntil > 0 }.sorted {
            $0.value.blockedUntil > $1.value.blockedUntil
        }.prefix(blockLimit)
        let addresses = numbers(blocked.map(\.key))
        return { onBlock(addresses, newest) }
    }

    /// Sources blocked now.
    public var blockedCount: Int {
        let now = now()
        return state.withLock { $0.sources.values.count { $0.blockedUntil > now } }
    }
}
