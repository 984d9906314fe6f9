public import Agents
internal import Foundation
internal import Realtime
public import Store
internal import Synchronization

/// What numbers are assigned to, by their keys (`NumberingPlan`).
struct NumberAssignments: Sendable {
    var templates: [String: CallTemplate] = [:]
    var agents: [String: (company: CompanyID, name: AgentName, number: String)] = [:]
}

/// What the AI does for the callers of each number, in memory for the SIP thread.
public final class NumberDirectory: Sendable {
    private let plan: NumberingPlan
    public let agents: AgentDirectory
    private let assigned = Mutex(NumberAssignments())

    public init(plan: NumberingPlan, agents: AgentDirectory = AgentDirectory()) {
        self.plan = plan
        self.agents = agents
    }

    /// Takes over what the store has.
    public func reload(from store: CallStore) async throws(StoreError) {
        let found = try await store.assignments()
        agents.pin(try await store.pinned(found.agents.values.map { ($0.company, $0.name) }))
        assigned.withLock { $0 = found }
    }

    /// nil: the number has no template of its own.
    /// - Parameter base: for what a template does not tell.
    func brief(for number: String, base: Brief) -> Brief? {
        guard let template = assigned.withLock({ $0.templates[plan.key(number)] }) else { return nil }
        var brief = base
        brief.purpose = template.purpose
        brief.questions = template.questions
        brief.language = template.language ?? base.language
        brief.greetingTemplate = template.greeting ?? base.greetingTemplate
        return brief
    }

    /// The agent that answers the number's callers; nil: it has none of its own.
    func agent(for number: String) -> AgentVersion? {
        guard let (company, name, _) = assigned.withLock({ $0.agents[plan.key(number)] }) else { return nil }
        return agents.version(name, of: company)
    }

    /// The numbers that name an agent, by its slug.
    public func numbers(of company: CompanyID) -> [String: [String]] {
        let entries = assigned.withLock { $0.agents.values.filter { $0.company == company } }
        return Dictionary(grouping: entries, by: \.name.slug).mapValues { $0.map(\.number).sorted() }
    }
}
