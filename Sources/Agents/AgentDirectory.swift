public import Store
internal import Synchronization

/// The agents' versions that calls may begin with at any moment, in memory: the SIP thread asks and must not wait.
public final class AgentDirectory: Sendable {
    private struct Key: Hashable {
        var company: CompanyID
        var slug: String
    }
    private struct Live {
        /// nil: the agent is archived.
        var version: AgentVersion?
        var revision: Int
    }
    private struct State {
        var live: [Key: Live] = [:]
        /// Versions that numbers name.
        var pinned: [Key: [Int: AgentVersion]] = [:]
    }
    private let state = Mutex(State())
    private let surroundings = Mutex(AgentEnvironment())

    public init() {}

    /// What documents are checked and completed by.
    public var environment: AgentEnvironment {
        get { surroundings.withLock { $0 } }
        set { surroundings.withLock { $0 = newValue } }
    }

    /// A version has become the live one; nil: the agent is archived.
    /// - Parameter revision: of the agent; what is told late changes nothing.
    public func take(_ version: AgentVersion?, as slug: String, revision: Int, of company: CompanyID) {
        let key = Key(company: company, slug: slug)
        state.withLock { state in
            guard revision >= state.live[key]?.revision ?? 0 else { return }
            state.live[key] = Live(version: version, revision: revision)
        }
    }

    /// The versions that numbers name, instead of those before.
    public func pin(_ versions: [(company: CompanyID, version: AgentVersion)]) {
        var pinned: [Key: [Int: AgentVersion]] = [:]
        for (company, version) in versions {
            let key = Key(company: company, slug: version.reference.slug)
            pinned[key, default: [:]][version.reference.version] = version
        }
        state.withLock { $0.pinned = pinned }
    }

    /// nil: there is no such agent, or not this version of it in memory.
    public func version(_ name: AgentName, of company: CompanyID) -> AgentVersion? {
        let key = Key(company: company, slug: name.slug)
        return state.withLock { state in
            guard let live = state.live[key]?.version else { return nil }
            guard let wanted = name.version, wanted != live.reference.version else { return live }
            return state.pinned[key]?[wanted]
        }
    }
}
