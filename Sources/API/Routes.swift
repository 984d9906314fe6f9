// Over 400 lines: the whole API on one screen, a line for each route.
public import Bridge
public import Calls
public import Delivery
public import Foundation
internal import JSON
public import KnowledgeBase
public import Logging
public import Net
internal import Problems
public import Realtime
internal import Store
public import Tools

/// The whole API on one screen. Handlers are in one file a resource; they decide nothing themselves.
public struct Routes: Sendable {
    public struct Services: Sendable {
        private let calls: CallStore
        public var dialler: Dialler
        public var authenticator: Authenticator
        public var settings: CallSettings
        /// The dashboard's folder, `web/`; nil without one.
        public var webRoot: String?
        public var logger: Logger
        /// We are reached by TLS: the dashboard's cookie must be too.
        public var isSecure: Bool
        public var carriers: Carriers
        public var tickets: StreamTickets
        public var turns: TurnServer
        public var arrivals: ProviderArrivals
        /// nil: this server keeps none.
        public var knowledge: KnowledgeStore?
        /// nil: this server has none.
        public var tools: ToolCatalog?
        /// How the speech engines in use stand, in the order in which they are tried.
        public var statuses: @Sendable () -> [ProviderHealth.Status]
        public var webhooks: WebhookSender.Settings
        /// The outbox has something to do.
        public var wakeWebhooks: @Sendable () -> Void
        /// nil: no results are sent in the older orchestrator's form.
        public var analyst: CallAnalyst?
        /// Names and addresses by which we may be asked, without port; nil: any.
        public var hosts: Set<String>?
        /// Another server of ours stands in front and tells who asks (`X-Forwarded-For`).
        public var isBehindProxy = false
        public var operators: OperatorDirectory
        public var numbers: NumberDirectory
        /// SIP messages of a call that goes on.
        public var liveTrace: @Sendable (_ id: String, _ providerCallID: String) -> [SIPTrace.Message] = { _, _ in [] }
        public var trunks: @Sendable () -> [TrunkKeeper.Status] = { [] }
        public var levels = LiveLevels()
        /// What keeps the server from working, in a line; nil: nothing does.
        public var problem: @Sendable () -> String? = { nil }
        /// How late each event loop was at worst since this was asked last, ms.
        public var loopDelays: @Sendable () -> [(loop: String, milliseconds: UInt64)] = { [] }
        /// Days after which ended calls are erased; nil: never.
        public var retentionDays: Int?
        public var mcp = MCPSettings()
        /// Of this program, as clients of the Model Context Protocol are told.
        public var version = "0"
        /// Who may let calls begin with a version of an agent.
        public var publishRole = Role.operator
        public var now: @Sendable () -> Date
        public init(
            store: CallStore, dialler: Dialler, authenticator: Authenticator, settings: CallSettings, webRoot: String?,
            logger: Logger, tickets: StreamTickets, turns: TurnServer, arrivals: ProviderArrivals,
            isSecure: Bool = false, carriers: Carriers = Carriers(),
            knowledge: KnowledgeStore? = nil, statuses: @escaping @Sendable () -> [ProviderHealth.Status] = { [] },
            webhooks: WebhookSender.Settings = .init(secret: .random()),
            wakeWebhooks: @escaping @Sendable () -> Void = {},
            analyst: CallAnalyst? = nil, hosts: Set<String>? = nil, now: @escaping @Sendable () -> Date = { Date() }
        ) {
            calls = store
            numbers = NumberDirectory(plan: settings.routing.plan)
            operators = OperatorDirectory(realm: "trunkline", algorithms: [.md5], plan: settings.routing.plan)
            self.dialler = dialler
            self.authenticator = authenticator
            self.settings = settings
            self.webRoot = webRoot
            self.logger = logger
            self.tickets = tickets
            self.turns = turns
            self.arrivals = arrivals
            self.isSecure = isSecure
            self.carriers = carriers
            self.knowledge = knowledge
            self.statuses = statuses
            self.webhooks = webhooks
            self.wakeWebhooks = wakeWebhooks
            self.analyst = analyst
            self.hosts = hosts
            self.now = now
        }

        /// What the principal's company has: whatever is asked for by id, list or search is read from it.
        func store(_ principal: Principal) -> CompanyStore { calls.of(principal.company) }
        func store(of company: CompanyID) -> CompanyStore { calls.of(company) }
        /// For the server's own work, not for what somebody asks for.
        var installation: InstallationStore { calls.installation }
        var companies: CompanyDirectory { calls.companies }
        /// The settings as they are for the principal's company.
        func settings(_ principal: Principal) -> CallSettings { settings.of(companies.known(principal.company)) }

        /// After a change of numbers or templates.
        func reloadNumbers() async throws(StoreError) { try await numbers.reload(from: calls) }
        /// After a change of keys.
        func reloadKeys() async throws(StoreError) { try await authenticator.refresh(from: calls) }

        func entry(_ principal: Principal, _ action: String, target: String = "", detail: String = "") -> AuditEntry {
            AuditEntry(at: now(), actor: principal.actor, action: action, target: target, detail: detail)
        }

        /// Keeps who did what. The deed stands even where this cannot be written: it is then in the log.
        func audit(_ principal: Principal, _ action: String, target: String = "", detail: String = "") async {
            await append(entry(principal, action, target: target, detail: detail), to: principal.company)
            await auditHome(principal, action, target: target)
        }

        /// Who acts for another company stands in the log of `default` too.
        func auditHome(_ principal: Principal, _ action: String, target: String) async {
            guard principal.isActing else { return }
            await append(
                AuditEntry(
                    at: now(), actor: principal.name, action: action, target: target,
                    detail: "for the company \(principal.company)"), to: .default)
        }

        private func append(_ entry: AuditEntry, to company: CompanyID) async {
            do { try await calls.of(company).audit.append(entry) } catch {
                logger.error("the audit log cannot be written: \(error)", metadata: ["action": "\(entry.action)"])
            }
        }
    }

    typealias Handler = @Sendable (HTTPRequest, Principal) async throws -> HTTPResponse

    let services: Services
    private var router = Router()

    public init(_ services: Services) {
        self.services = services
        let calls = CallRoutes(services: services)
        let sessions = SessionRoutes(services: services)
        let dashboard = Dashboard(root: services.webRoot)

        // Without a key.
        router.add("GET", "/health") { _ in
            guard let problem = services.problem() else {
                return HTTPResponse(status: 200, contentType: "text/plain", Array("ok\n".utf8))
            }
            return HTTPResponse(status: 503, contentType: "text/plain", Array((problem + "\n").utf8))
        }
        router.add("GET", "/ready") { _ in
            // A server that answers is ready: recovery and warm-up come before the port is opened.
            HTTPResponse(status: 200, contentType: "text/plain", Array("ready\n".utf8))
        }
        add("POST", "/api/session", nil, sessions.logIn)

        // By a carrier's own proof.
        for route in Self.carriers.flatMap({ $0.init(services: services).all }) {
            add(route.method, route.pattern, nil) { request, _ in try await route.handler(request) }
        }

        // With one.
        add("GET", "/api/session", .viewer, sessions.current)
        add("DELETE", "/api/session", .viewer, sessions.logOut)
        add("POST", "/api/outbound", .operator, calls.create)
        add("POST", "/api/outbound/check", .operator, calls.check)
        add("GET", "/api/outbound", .viewer, calls.list)
        add("GET", "/api/outbound/active", .viewer, calls.active)
        add("GET", "/api/outbound/stats", .viewer, calls.statistics)
        add("GET", "/api/outbound/{id}", .viewer, calls.one)
        add("DELETE", "/api/outbound/{id}", .admin, calls.erase)
        add("GET", "/api/outbound/{id}/result", .viewer, calls.result)
        add("GET", "/api/outbound/{id}/transcript", .viewer, calls.transcript)
        add("GET", "/api/outbound/{id}/graph", .viewer, calls.graph)
        add("GET", "/api/outbound/{id}/recording", .viewer, calls.recording)
        add("GET", "/api/outbound/{id}/events", .viewer, calls.events)
        add("GET", "/api/outbound/{id}/sip", .operator, calls.sip)
        add("POST", "/api/outbound/{id}/cancel", .operator, calls.cancel)
        add("POST", "/api/outbound/{id}/retry", .operator, calls.retry)
        add("POST", "/api/outbound/{id}/hangup", .operator, calls.hangUp)
        add("POST", "/api/outbound/{id}/say", .operator, calls.say)
        add("POST", "/api/outbound/{id}/transfer", .operator, calls.transfer)
        add("POST", "/api/outbound/{id}/browser", .operator, calls.browser)
        add("POST", "/api/outbound/{id}/answers/{qid}", .operator, calls.correct)

        let inbound = CallRoutes(services: services, direction: .inbound)
        add("GET", "/api/inbound", .viewer, inbound.list)
        add("GET", "/api/inbound/active", .viewer, inbound.active)
        add("GET", "/api/inbound/{id}", .viewer, inbound.one)
        add("DELETE", "/api/inbound/{id}", .admin, inbound.erase)
        add("GET", "/api/inbound/{id}/result", .viewer, inbound.result)
        add("GET", "/api/inbound/{id}/transcript", .viewer, inbound.transcript)
        add("GET", "/api/inbound/{id}/graph", .viewer, inbound.graph)
        add("GET", "/api/inbound/{id}/recording", .viewer, inbound.recording)
        add("GET", "/api/inbound/{id}/events", .viewer, inbound.events)
        add("GET", "/api/inbound/{id}/sip", .operator, inbound.sip)
        add("POST", "/api/inbound/{id}/hangup", .operator, inbound.hangUp)
        add("POST", "/api/inbound/{id}/say", .operator, inbound.say)
        add("POST", "/api/inbound/{id}/transfer", .operator, inbound.transfer)
        add("POST", "/api/inbound/{id}/browser", .operator, inbound.browser)
        add("POST", "/api/inbound/{id}/answers/{qid}", .operator, inbound.correct)

        let operators = OperatorRoutes(services: services)
        add("GET", "/api/operators", .viewer, operators.list)
        add("POST", "/api/operators", .admin, operators.create)
        add("GET", "/api/operators/{id}", .viewer, operators.one)
        add("PUT", "/api/operators/{id}", .admin, operators.replace)
        add("DELETE", "/api/operators/{id}", .admin, operators.remove)
        add("PUT", "/api/operators/{id}/status", .operator, operators.setStatus)

        let templates = TemplateRoutes(services: services)
        add("GET", "/api/templates", .viewer, templates.list)
        add("POST", "/api/templates", .operator, templates.create)
        add("GET", "/api/templates/{id}", .viewer, templates.one)
        add("PUT", "/api/templates/{id}", .operator, templates.replace)
        add("DELETE", "/api/templates/{id}", .operator, templates.remove)

        let agents = AgentRoutes(services: services)
        add("GET", "/api/agents", .viewer, agents.list)
        add("POST", "/api/agents", .operator, agents.create)
        add("POST", "/api/agents/check", .operator, agents.check)
        add("GET", "/api/agents/{slug}", .viewer, agents.one)
        add("PUT", "/api/agents/{slug}", .operator, agents.replace)
        add("DELETE", "/api/agents/{slug}", .operator, agents.remove)
        add("POST", "/api/agents/{slug}/publish", .operator, agents.publish)
        add("GET", "/api/agents/{slug}/versions", .viewer, agents.versions)
        add("GET", "/api/agents/{slug}/versions/{version}/diff", .viewer, agents.difference)
        add("GET", "/api/agents/{slug}/effective", .viewer, agents.effective)
        add("POST", "/api/agents/{slug}/simulate", .viewer, agents.simulate)
        add("GET", "/api/schemas/agent.json", .viewer, agents.schema)

        let tools = ToolRoutes(services: services)
        add("GET", "/api/tools", .admin, tools.list)
        add("POST", "/api/tools", .admin, tools.create)
        add("GET", "/api/tools/{name}", .admin, tools.one)
        add("PUT", "/api/tools/{name}", .admin, tools.replace)
        add("DELETE", "/api/tools/{name}", .admin, tools.remove)
        add("POST", "/api/tools/{name}/try", .admin, tools.tryOut)

        let secrets = SecretRoutes(services: services)
        add("GET", "/api/secrets", .admin, secrets.list)
        add("POST", "/api/secrets", .admin, secrets.set)
        add("DELETE", "/api/secrets/{name}", .admin, secrets.remove)

        let servers = MCPServerRoutes(services: services)
        add("GET", "/api/mcp-servers", .admin, servers.list)
        add("POST", "/api/mcp-servers", .admin, servers.create)
        add("GET", "/api/mcp-servers/{name}", .admin, servers.one)
        add("DELETE", "/api/mcp-servers/{name}", .admin, servers.remove)
        add("POST", "/api/mcp-servers/{name}/refresh", .admin, servers.refresh)
        add("POST", "/api/mcp-servers/{name}/accept", .admin, servers.accept)

        let numbers = NumberRoutes(services: services)
        add("GET", "/api/do-not-call", .viewer, numbers.doNotCall)
        add("POST", "/api/do-not-call", .operator, numbers.addDoNotCall)
        add("DELETE", "/api/do-not-call/{number}", .operator, numbers.removeDoNotCall)
        add("GET", "/api/numbers", .viewer, numbers.numbers)
        add("POST", "/api/numbers", .admin, numbers.addNumber)
        add("DELETE", "/api/numbers/{number}", .admin, numbers.removeNumber)

        let webhooks = WebhookRoutes(services: services)
        add("GET", "/api/webhooks/deliveries", .operator, webhooks.deliveries)
        add("POST", "/api/webhooks/deliveries/replay", .operator, webhooks.replayDead)
        add("POST", "/api/webhooks/deliveries/{id}/replay", .operator, webhooks.replay)

        let admin = AdminRoutes(services: services)
        add("GET", "/api/keys", .admin, admin.keys)
        add("POST", "/api/keys", .admin, admin.createKey)
        add("DELETE", "/api/keys/{id}", .admin, admin.revokeKey)
        add("GET", "/api/audit", .admin, admin.audit)
        add("GET", "/api/retention", .admin, admin.retention)
        add("GET", "/metrics", .viewer, Metrics(services: services).answer)

        let companies = CompanyRoutes(services: services)
        add("GET", "/api/companies", .viewer, companies.list)
        add("POST", "/api/companies", .viewer, companies.create)
        add("GET", "/api/companies/{slug}", .viewer, companies.one)
        add("PATCH", "/api/companies/{slug}", .viewer, companies.change)
        add("DELETE", "/api/companies/{slug}", .viewer, companies.remove)
        add("GET", "/api/companies/{slug}/usage", .viewer, companies.usage)

        let knowledge = KnowledgeRoutes(services: services)
        add("POST", "/api/knowledge", .operator, knowledge.create)
        add("GET", "/api/knowledge", .viewer, knowledge.list)
        add("GET", "/api/knowledge/sets", .viewer, knowledge.sets)
        add("DELETE", "/api/knowledge/{id}", .operator, knowledge.remove)
        add("POST", "/api/knowledge/search", .viewer, knowledge.search)

        add("GET", "/api/providers", .viewer) { _, principal in
            // The trunks are the installation's: another company need not know whose they are.
            let trunks = principal.company == .default ? services.trunks() : []
            return Self.json([
                "items": .array(services.statuses().map(Payloads.status)),
                "trunks": .array(trunks.map(Payloads.trunk)),
            ])
        }

        let orchestrator = OrchestratorRoutes(services: services)
        add("POST", "/receive", .operator, orchestrator.receive)
        add("POST", "/send_llm_result", .operator, orchestrator.sendResult)

        if services.mcp.isEnabled { add("POST", "/mcp", .viewer, MCPRoutes(services: services).answer) }

        add("GET", "/api/forms/{name}", .viewer) { request, principal in
            let path = request.parameters["name"] ?? ""
            guard let form = OpenAPI.forms.first(where: { $0.path == path }) else { throw APIError.notFound(.noForm) }
            return Self.json(form.schema(services.settings(principal)))
        }
        add("GET", "/openapi.json", .viewer) { _, _ in Self.json(OpenAPI.document) }
        add("GET", "/docs", .viewer) { _, _ in
            HTTPResponse(status: 200, contentType: "text/html; charset=utf-8", Array(OpenAPI.page.utf8))
        }

        // The dashboard's pages and files.
        for page in OpenAPI.pages {
            router.add("GET", page) { _ in dashboard.page() }
        }
        router.add("GET", "/web/{path...}") { request in dashboard.file(request) }
        router.add("GET", "/favicon.ico") { request in dashboard.file(request, named: "favicon.svg") }
    }

    /// Adds a handler behind the checks every request passes: rate, key or login, role, same origin.
    private mutating func add(_ method: String, _ pattern: String, _ role: Role?, _ handler: @escaping Handler) {
        let services = services
        // A list reads its own; a provider's requests have their own checks.
        let operation = OpenAPI.operations["\(method) \(pattern)"]
        let takesNoQuery = operation.map(\.query.isEmpty) ?? false
        router.add(method, pattern) { request in
            do {
                var principal = Principal(name: "", key: "", role: .viewer, isSession: false)
                if let role {
                    guard var known = services.authenticator.principal(of: request) else {
                        try Self.limit(services, request.peer)
                        throw APIError.unauthorized
                    }
                    let owner = known.company == .default ? "" : " of \(known.company)"
                    try Self.limit(services, request.peer + " " + known.name + owner)
                    known = try CompanyChoice.acting(known, request.headers, services.companies)
                    guard known.role >= role else {
                        throw APIError(403, "forbidden", .roleNeeded, ["role": .text(role.rawValue)])
                    }
                    if known.isSession, method != "GET", !Authenticator.isSameOrigin(request) {
                        throw APIError(403, "cross_origin", .otherOrigin)
                    }
                    try CompanyChoice.checkState(known, "\(method) \(pattern)", services.companies)
                    principal = known
                } else {
                    try Self.limit(services, request.peer)
                }
                if takesNoQuery { try QueryReader(request.query, []).check() }
                return try await handler(request, principal)
            } catch let error as APIError {
                return error.response
            } catch let error as StoreError {
                return APIError(error).response
            } catch {
                services.logger.error("request failed: \(error)")
                return APIError(500, "internal", .internalError).response
            }
        }
    }

    private static func limit(_ services: Services, _ source: String) throws(APIError) {
        if let seconds = services.authenticator.secondsToWait(for: source) {
            throw APIError(429, "rate_limited", .tooManyRequests, headers: [("retry-after", String(seconds))])
        }
    }

    /// Every route, as `METHOD /path/{parameter}`.
    var patterns: [String] { router.patterns }

    /// Answers any request; the entry for `HTTPServer`.
    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        var response: HTTPResponse
        var request = request
        // Only what that server added itself, the last one, can be believed.
        if services.isBehindProxy, let told = request.headers["x-forwarded-for"]?.split(separator: ",").last {
            request.peer = String(told.trimmingCharacters(in: .whitespaces).prefix(64))
        }
        guard isOurs(host: request.headers["host"]) else {
            return APIError(421, "wrong_host", .otherHost).response
        }
        switch router.match(method: request.method, path: request.path) {
        case .found(let handler, let parameters):
            request.parameters = parameters
            response = await handler(request)
        case .wrongMethod(let allowed):
            response =
                APIError(
                    405, "method_not_allowed", .methodNotPossible, ["method": .text(request.method)],
                    headers: [("allow", allowed.joined(separator: ", "))]
                ).response
        case .none: response = APIError.notFound(.noPath).response
        }
        response.headers += [
            ("x-content-type-options", "nosniff"), ("referrer-policy", "same-origin"), ("x-frame-options", "DENY"),
            ("content-security-policy", Dashboard.contentSecurityPolicy),
        ]
        if !response.headers.contains(where: { $0.name == "cache-control" }) {
            response.headers.append(("cache-control", "no-store"))
        }
        return response
    }

    /// Against DNS rebinding: a page elsewhere may point its own name at us, but not ask us by one of ours.
    func isOurs(host: String?) -> Bool {
        guard let hosts = services.hosts, let host else { return true }
        var name = host.lowercased()[...]
        if let colon = name.lastIndex(of: ":"), !name.hasSuffix("]") { name = name[..<colon] }
        return hosts.contains(String(name))
    }

    /// Whether a request has a valid key or login, whatever it asks for.
    public func proves(_ request: HTTPRequest) -> Bool { services.authenticator.principal(of: request) != nil }

    static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, contentType: "application/json", value.bytes)
    }
}
