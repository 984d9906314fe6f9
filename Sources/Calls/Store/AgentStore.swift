public import Agents
public import Foundation
public import JSON
internal import Problems
public import Store

/// Agents and their versions: a version, the pointer to it, its audit entry and its event are one transaction.
extension CallStore {
    /// Who changes an agent, when and why.
    public struct AgentDeed: Sendable {
        public var company: CompanyID
        public var by: String
        public var at: Date
        /// A line for people.
        public var note: String
        public init(company: CompanyID, by: String, at: Date, note: String) {
            self.company = company
            self.by = by
            self.at = at
            self.note = note
        }
    }

    public enum AgentCreation: Sendable, Equatable {
        case stored(StoredAgent)
        /// Asked before: the first answer.
        case known(answer: String)
        /// Asked before under this key was something else.
        case keyIsTaken
    }

    public enum AgentChange: Sendable, Equatable {
        /// - Parameter isNew: a version was made.
        case stored(StoredAgent, isNew: Bool)
        /// The agent is not as the request's `If-Match` has it.
        case changedMeanwhile(StoredAgent)
    }

    // MARK: Reading

    public func agents(of company: CompanyID) async throws(StoreError) -> (agents: [StoredAgent], queued: [String: Int])
    {
        try await storage.read { work in
            let queued = try work.agents.queuedCalls(company, usual: AgentReference.defaultSlug)
            return (try work.agents.all(company), queued)
        }
    }

    public func agent(_ slug: String, of company: CompanyID) async throws(StoreError) -> StoredAgent? {
        try await storage.read { try $0.agents.agent(company, slug) }
    }

    /// An agent and one version of it, of one moment. nil: there is none.
    /// - Parameter version: nil: the live one.
    public func agent(_ slug: String, version: Int?, of company: CompanyID) async throws(StoreError) -> (
        agent: StoredAgent, version: AgentVersion
    )? {
        try await storage.read { work in
            guard let agent = try work.agents.agent(company, slug),
                let version = try Self.version(slug, version ?? agent.live, of: company, work)
            else { return nil }
            return (agent, version)
        }
    }

    private static func version(_ slug: String, _ version: Int, of company: CompanyID, _ work: Work) throws
        -> AgentVersion?
    {
        try work.agents.version(company, slug, version).map {
            AgentVersion(AgentReference(slug: slug, version: version), try JSONValue(parsing: Array($0.document.utf8)))
        }
    }

    /// Newest first, without documents.
    public func agentVersions(_ slug: String, of company: CompanyID, before: Int, limit: Int) async throws(StoreError)
        -> [StoredAgentVersion]
    {
        try await storage.read { try $0.agents.versions(company, slug, before: before, limit: limit) }
    }

    /// Takes the live versions into memory.
    public func load(_ directory: AgentDirectory) async throws(StoreError) {
        for (company, agent, document) in try await storage.read({ try $0.agents.live() }) {
            guard let document = try? JSONValue(parsing: Array(document.utf8)) else {
                throw StoreError(.unavailable, .rowDamaged)
            }
            let version = AgentVersion(AgentReference(slug: agent.slug, version: agent.live), document)
            directory.take(version, as: agent.slug, revision: agent.revision, of: company)
        }
    }

    /// The versions that these names say, without those that name none.
    func pinned(_ names: [(CompanyID, AgentName)]) async throws(StoreError) -> [(CompanyID, AgentVersion)] {
        let wanted = names.filter { $0.1.version != nil }
        guard !wanted.isEmpty else { return [] }
        return try await storage.read { work in
            try wanted.compactMap { company, name in
                guard let number = name.version else { return nil }
                return try Self.version(name.slug, number, of: company, work).map { (company, $0) }
            }
        }
    }

    // MARK: Changing

    /// - Parameters:
    ///   - document: as `AgentChecker` has passed it.
    ///   - request: nil: the client does not repeat it.
    public func createAgent(
        _ document: JSONValue, _ deed: AgentDeed, request: RepeatableRequest? = nil, in directory: AgentDirectory
    ) async throws(StoreError) -> AgentCreation {
        let agent = StoredAgent(
            slug: document.member("slug") ?? "", name: document.member("name") ?? "", mode: document.member("mode"),
            language: document.member("language"), createdAt: deed.at, publishedBy: deed.by, publishNote: deed.note)
        let created = try await write { [self] work -> (AgentCreation, [CallEvent]) in
            if let request, let known = try work.requests.known(request.key, at: deed.at) {
                return (known.request == request.request ? .known(answer: known.answer) : .keyIsTaken, [])
            }
            try work.agents.insert(deed.company, agent, deed.version(1, document))
            if let request { try work.requests.keep(request, at: deed.at) }
            try work.audit.append(deed.audit("agent.create", agent.slug, version: 1))
            return (.stored(agent), [try append(deed.published(agent), of: nil, work)])
        }
        if case .stored(let agent) = created { tell(directory, agent, document, deed.company) }
        return created
    }

    /// Stores a new version, unless the latest one says the same.
    /// - Parameters:
    ///   - expected: versions of which one must be the latest; nil: any may be.
    ///   - publishes: it becomes the live one.
    public func changeAgent(
        _ slug: String, to document: JSONValue, _ deed: AgentDeed, expected: Set<Int>?, publishes: Bool,
        in directory: AgentDirectory
    ) async throws(StoreError) -> AgentChange {
        let change = try await write { [self] work -> (AgentChange, [CallEvent]) in
            var agent = try Self.open(slug, of: deed.company, work)
            if let expected, !expected.contains(agent.latest) { return (.changedMeanwhile(agent), []) }
            guard let latest = try work.agents.version(deed.company, slug, agent.latest) else {
                throw StoreError(.unavailable, .rowDamaged)
            }
            let isNew = latest.document != document.text
            let isMoved = publishes && (isNew || agent.live != agent.latest)
            guard isNew || isMoved else { return (.stored(agent, isNew: false), []) }
            if isNew { agent.latest += 1 }
            if isMoved { agent.publish(agent.latest, document, deed) }
            agent.updatedAt = deed.at
            agent.revision += 1
            if isNew {
                try work.agents.insert(deed.company, deed.version(agent.latest, document), of: agent)
            } else {
                try work.agents.update(deed.company, agent)
            }
            let action = isNew ? "agent.change" : "agent.publish"
            try work.audit.append(deed.audit(action, slug, version: agent.latest))
            return (.stored(agent, isNew: isNew), isMoved ? [try append(deed.published(agent), of: nil, work)] : [])
        }
        if case .stored(let agent, _) = change, agent.live == agent.latest {
            tell(directory, agent, document, deed.company)
        }
        return change
    }

    /// Makes a version the live one.
    public func publishAgent(_ slug: String, version: Int, _ deed: AgentDeed, in directory: AgentDirectory)
        async throws(StoreError) -> StoredAgent
    {
        let (agent, document) = try await write { [self] work -> ((StoredAgent, JSONValue), [CallEvent]) in
            var agent = try Self.open(slug, of: deed.company, work)
            guard let wanted = try Self.version(slug, version, of: deed.company, work) else {
                throw StoreError(.notFound, .noAgentVersion, ["version": .number(version)])
            }
            agent.publish(version, wanted.document, deed)
            agent.updatedAt = deed.at
            agent.revision += 1
            try work.agents.update(deed.company, agent)
            try work.audit.append(deed.audit("agent.publish", slug, version: version))
            return ((agent, wanted.document), [try append(deed.published(agent), of: nil, work)])
        }
        tell(directory, agent, document, deed.company)
        return agent
    }

    /// Takes an agent out of use; its versions stay.
    public func archiveAgent(_ slug: String, _ deed: AgentDeed, in directory: AgentDirectory) async throws(StoreError) {
        let agent = try await storage.write { work in
            var agent = try Self.open(slug, of: deed.company, work)
            agent.archivedAt = deed.at
            agent.updatedAt = deed.at
            agent.revision += 1
            try work.agents.update(deed.company, agent)
            try work.audit.append(deed.audit("agent.archive", slug, version: agent.live))
            return agent
        }
        directory.take(nil, as: slug, revision: agent.revision, of: deed.company)
    }

    private static func open(_ slug: String, of company: CompanyID, _ work: Work) throws -> StoredAgent {
        guard let agent = try work.agents.agent(company, slug) else {
            throw StoreError(.notFound, .noAgentNamed, ["slug": .text(slug)])
        }
        guard agent.archivedAt == nil else { throw StoreError(.conflict, .agentArchived) }
        return agent
    }

    private func tell(_ directory: AgentDirectory, _ agent: StoredAgent, _ document: JSONValue, _ company: CompanyID) {
        let version = AgentVersion(AgentReference(slug: agent.slug, version: agent.live), document)
        directory.take(version, as: agent.slug, revision: agent.revision, of: company)
    }
}

extension StoredAgent {
    fileprivate mutating func publish(_ version: Int, _ document: JSONValue, _ deed: CallStore.AgentDeed) {
        live = version
        name = document.member("name") ?? name
        mode = document.member("mode")
        language = document.member("language")
        publishedAt = deed.at
        publishedBy = deed.by
        publishNote = deed.note
    }
}

extension CallStore.AgentDeed {
    fileprivate func version(_ number: Int, _ document: JSONValue) -> StoredAgentVersion {
        StoredAgentVersion(version: number, madeAt: at, madeBy: by, note: note, document: document.text)
    }

    fileprivate func audit(_ action: String, _ slug: String, version: Int) -> AuditEntry {
        AuditEntry(at: at, actor: by, action: action, target: slug, detail: "version \(version)")
    }

    /// `agent_published {slug, version, by}`: an event of no call.
    fileprivate func published(_ agent: StoredAgent) -> CallEvent {
        let payload: JSONValue = ["slug": .string(agent.slug), "version": .whole(agent.live), "by": .string(by)]
        return CallEvent(name: "agent_published", at: at, callID: "", direction: .outbound, payload: payload.text)
    }
}

extension JSONValue {
    fileprivate func member(_ name: String) -> String? {
        if case .string(let text)? = self[name] { text } else { nil }
    }
}
