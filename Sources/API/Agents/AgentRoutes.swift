internal import Agents
internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Problems
internal import Store

/// `/api/agents`: agents, their versions, and what holds for their calls.
struct AgentRoutes: Sendable {
    let services: Routes.Services

    private var environment: AgentEnvironment { services.agents.environment }

    // MARK: Reading

    func list(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let (agents, queued) = try await services.store(principal).agents()
        let numbers = services.numbers.numbers(of: principal.company)
        let items = agents.map {
            AgentPayloads.agent($0, numbers: numbers[$0.slug]?.count ?? 0, queued: queued[$0.slug] ?? 0)
        }
        let configured = AgentPayloads.configured(
            environment, queued: queued[AgentReference.defaultSlug] ?? 0)
        return Routes.json(["items": .array([configured] + items), "next_cursor": .null])
    }

    func schema(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        Routes.json(AgentForm.schema)
    }

    func one(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let query = QueryReader(request.query, [AgentRequests.version])
        try query.check()
        let version = try await version(request, query.integer("version"), principal, usual: .latest)
        return answer(version, request)
    }

    /// A document, in the form that is asked for.
    private func answer(_ version: AgentVersion, _ request: HTTPRequest) -> HTTPResponse {
        var response: HTTPResponse
        if AgentRequests.wantsYAML(request) {
            let text = YAMLDocument.write(version.document)
            response = HTTPResponse(status: 200, contentType: AgentRequests.yaml, Array(text.utf8))
        } else {
            response = Routes.json(version.document)
        }
        response.headers.append(("etag", AgentRequests.tag(version.reference.version)))
        response.headers.append(("vary", "accept"))
        return response
    }

    enum Usual { case live, latest }

    /// - Parameter usual: which one, where no version is asked for.
    func version(_ request: HTTPRequest, _ wanted: Int?, _ principal: Principal, usual: Usual) async throws
        -> AgentVersion
    {
        let slug = request.parameters["slug"] ?? ""
        if slug == AgentReference.defaultSlug {
            guard wanted ?? 0 == 0 else { throw Self.noVersion(wanted ?? 0) }
            return services.configuredAgent
        }
        let agent = try await agent(slug, principal)
        let number = wanted ?? (usual == .live ? agent.live : agent.latest)
        guard let found = try await services.store(principal).agent(slug, version: number) else {
            throw Self.noVersion(number)
        }
        return found.version
    }

    private static func noVersion(_ version: Int) -> APIError {
        APIError.notFound(.noAgentVersion, ["version": .number(version)])
    }

    private func agent(_ slug: String, _ principal: Principal) async throws -> StoredAgent {
        guard let agent = try await services.store(principal).agent(slug) else {
            throw APIError.notFound(.noAgentNamed, ["slug": .text(String(slug.prefix(AgentName.lengthLimit)))])
        }
        return agent
    }

    func versions(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var query = QueryReader(request.query, AgentRequests.listQuery)
        let before = query.cursor(of: .agentVersions).flatMap { Int(exactly: $0) } ?? .max
        try query.check()
        let slug = request.parameters["slug"] ?? "", limit = query.integer("limit") ?? 50
        if slug == AgentReference.defaultSlug { return Routes.json(["items": [], "next_cursor": .null]) }
        let agent = try await agent(slug, principal)
        let found = try await services.store(principal).agentVersions(
            slug, before: before, limit: limit + 1)
        let page = found.prefix(limit)
        let next = found.count > limit ? page.last.map { Int64($0.version) } : nil
        return Routes.json([
            "items": .array(page.map { AgentPayloads.version($0, of: agent) }),
            "next_cursor": .cursor(next, of: .agentVersions),
        ])
    }

    /// The patch that makes one version of another.
    func difference(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var query = QueryReader(request.query, AgentRequests.diffQuery)
        if query.integer("to") == nil, query.errors.isEmpty { query.fail("to", .required) }
        try query.check()
        guard let from = Int(request.parameters["version"] ?? "") else { throw Self.noVersion(0) }
        let old = try await version(request, from, principal, usual: .live)
        let new = try await version(request, query.integer("to"), principal, usual: .live)
        return Routes.json(JSONPatch(from: old.document, to: new.document).json)
    }

    func effective(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let query = QueryReader(request.query, [AgentRequests.version])
        try query.check()
        let version = try await version(request, query.integer("version"), principal, usual: .live)
        return Routes.json(version.effective(in: environment))
    }

    // MARK: Changing

    /// `POST …/check`: what creating it would say, and the document as it was read, from YAML too; nothing is stored.
    func check(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let checker = try checked(request, principal, slug: nil)
        var members = AgentPayloads.warnings(checker.warnings)
        members["document"] = checker.document
        return Routes.json(.object(members))
    }

    private func checked(_ request: HTTPRequest, _ principal: Principal, slug: String?) throws(APIError) -> AgentChecker
    {
        let checker = AgentChecker(
            try AgentRequests.document(request), slug: slug, company: principal.company, in: environment)
        guard checker.errors.isEmpty else { throw APIError.invalid(checker) }
        return checker
    }

    private func deed(_ principal: Principal, note: String?) -> CallStore.AgentDeed {
        CallStore.AgentDeed(company: principal.company, by: principal.name, at: services.now(), note: note ?? "")
    }

    private func mayPublish(_ principal: Principal) throws(APIError) {
        guard principal.role >= services.publishRole else {
            throw APIError(403, "forbidden", .roleNeeded, ["role": .text(services.publishRole.rawValue)])
        }
    }

    func create(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let query = QueryReader(request.query, [AgentRequests.note])
        try query.check()
        let checker = try checked(request, principal, slug: nil)
        // Its first version is live.
        try mayPublish(principal)
        let slug = checker.document["slug"]?.asText ?? ""
        if slug == AgentReference.defaultSlug {
            throw APIError(
                409, "slug_taken", Problem(.slugTaken), errors: [.init(field: "slug", problem: Problem(.slugTaken))])
        }
        var members = AgentPayloads.warnings(checker.warnings)
        members.merge(["slug": .string(slug), "version": 1, "live": 1, "latest": 1]) { $1 }
        let text = JSONValue.object(members).text
        let created: CallStore.AgentCreation
        do {
            created = try await services.store(principal).createAgent(
                checker.document, deed(principal, note: query.text("note")),
                request: try AgentRequests.repeatable(request, principal, checker.document, answer: text),
                in: services.agents)
        } catch let error as StoreError { throw APIError.agent(error) }
        switch created {
        case .stored: return Self.created(text, slug: slug)
        case .known(let answer): return Self.created(answer, slug: slug)
        case .keyIsTaken:
            throw APIError(
                422, "idempotency_key_reused", Problem(.idempotencyKeyTaken),
                errors: [.init(field: CallRoutes.idempotencyKey.name, problem: Problem(.sentWithAnotherRequest))])
        }
    }

    private static func created(_ text: String, slug: String) -> HTTPResponse {
        var response = HTTPResponse(status: 201, contentType: "application/json", Array(text.utf8))
        response.headers.append(("location", "/api/agents/\(slug)"))
        response.headers.append(("etag", AgentRequests.tag(1)))
        return response
    }

    private static func refuseConfigured(_ slug: String) throws(APIError) {
        if slug == AgentReference.defaultSlug { throw APIError(409, "configured_in_file", .configuredInFile) }
    }

    func replace(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let slug = request.parameters["slug"] ?? ""
        try Self.refuseConfigured(slug)
        let query = QueryReader(request.query, AgentRequests.changeQuery)
        try query.check()
        let publishes = query.text("publish") != "false"
        _ = try await agent(slug, principal)
        let checker = try checked(request, principal, slug: slug)
        if publishes { try mayPublish(principal) }
        let change: CallStore.AgentChange
        do throws(StoreError) {
            change = try await services.store(principal).changeAgent(
                slug, to: checker.document, deed(principal, note: query.text("note")),
                expected: AgentRequests.expected(request), publishes: publishes, in: services.agents)
        } catch { throw APIError.agent(error) }
        switch change {
        case .changedMeanwhile(let agent):
            throw APIError(412, "changed_meanwhile", .changedMeanwhile, ["version": .number(agent.latest)])
        case .stored(let agent, let isNew):
            var warnings = checker.warnings
            if request.headers["if-match"] == nil { warnings.append(Problem(.lastWriterWins)) }
            var members = AgentPayloads.warnings(warnings)
            members.merge(AgentPayloads.state(agent)) { $1 }
            members["unchanged"] = .bool(!isNew)
            var response = Routes.json(.object(members), status: isNew ? 201 : 200)
            response.headers.append(("etag", AgentRequests.tag(agent.latest)))
            return response
        }
    }

    func publish(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let slug = request.parameters["slug"] ?? ""
        try Self.refuseConfigured(slug)
        let fields = try FieldReader(request.body, AgentRequests.publishForm)
        try fields.check()
        try mayPublish(principal)
        let agent: StoredAgent
        do throws(StoreError) {
            agent = try await services.store(principal).publishAgent(
                slug, version: fields.integer("version") ?? 0, deed(principal, note: fields.text("note")),
                in: services.agents)
        } catch { throw APIError.agent(error) }
        return Routes.json(.object(AgentPayloads.state(agent)))
    }

    /// Archives it.
    func remove(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let slug = request.parameters["slug"] ?? ""
        try Self.refuseConfigured(slug)
        try mayPublish(principal)
        var users = services.numbers.numbers(of: principal.company)[slug] ?? []
        if services.settings.inbound.agent.flatMap(AgentName.init)?.slug == slug { users.append("inbound.agent") }
        guard users.isEmpty else {
            throw APIError(409, "in_use", .agentInUse, ["numbers": .words(Array(users.prefix(20)))])
        }
        do throws(StoreError) {
            try await services.store(principal).archiveAgent(slug, deed(principal, note: nil), in: services.agents)
        } catch { throw APIError.agent(error) }
        return HTTPResponse(status: 204)
    }
}
