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

/// The whole API on one screen. Handlers are in one file a resource; they decide nothing themselves.
public struct Routes: Sendable {
    public struct Services: Sendable {
        public var store: CallStore
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
            self.store = store
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

        /// Keeps who did what. The deed stands even where this cannot be written: it is then in the log.
        func audit(_ principal: Principal, _ action: String, target: String = "", detail: String = "") async {
            do {
                try await store.audit.append(
                    AuditEntry(at: now(), actor: principal.name, action: action, target: target, detail: detail))
            } catch {
                logger.error("the audit log cannot be written: \(error)", metadata: ["action": "\(action)"])
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
        add("GET", "/api/outbound/{id}/tools", .viewer, calls.tools)
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
        add("GET", "/api/inbound/{id}/tools", .viewer, inbound.tools)
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

        let knowledge = KnowledgeRoutes(services: services)
        add("POST", "/api/knowledge", .operator, knowledge.create)
        add("GET", "/api/knowledge", .viewer, knowledge.list)
        add("DELETE", "/api/knowledge/{id}", .operator, knowledge.remove)
        add("POST", "/api/knowledge/search", .viewer, knowledge.search)

        add("GET", "/api/providers", .viewer) { _, _ in
            Self.json([
                "items": .array(services.statuses().map(Payloads.status)),
                "trunks": .array(services.trunks().map(Payloads.trunk)),
            ])
        }

        let orchestrator = OrchestratorRoutes(services: services)
        add("POST", "/receive", .operator, orchestrator.receive)
        add("POST", "/send_llm_result", .operator, orchestrator.sendResult)

        add("GET", "/api/forms/{name}", .viewer) { request, _ in
            let path = request.parameters["name"] ?? ""
            guard let form = OpenAPI.forms.first(where: { $0.path == path }) else { throw APIError.notFound(.noForm) }
            return Self.json(form.schema(services.settings))
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
                    guard let known = services.authenticator.principal(of: request) else {
                        try Self.limit(services, request.peer)
                        throw APIError.unauthorized
                    }
                    try Self.limit(services, request.peer + " " + known.name)
                    guard known.role >= role else {
                        throw APIError(403, "forbidden", .roleNeeded, ["role": .text(role.rawValue)])
                    }
                    if known.isSession, method != "GET", !Authenticator.isSameOrigin(request) {
                        throw APIError(403, "cross_origin", .otherOrigin)
                    }
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
    private func isOurs(host: String?) -> Bool {
        guard let hosts = services.hosts, let host else { return true }
        var name = host.lowercased()[...]
        if let colon = name.lastIndex(of: ":"), !name.hasSuffix("]") { name = name[..<colon] }
        return hosts.contains(String(name))
    }

    /// Whether a request has a valid key or login, whatever it asks for.
    public func proves(_ request: HTTPRequest) -> Bool { services.authenticator.principal(of: request) != nil }

    /// Whether a WebSocket may be opened: 0, or the status to refuse with.
    public func refusal(of request: HTTPRequest) -> Int {
        let call = ListenSocket.call(in: request.path)
        guard request.path == EventSocket.path || request.path == LevelSocket.path || call != nil else { return 404 }
        guard isOurs(host: request.headers["host"]) else { return 421 }
        guard let principal = services.authenticator.principal(of: request) else { return 401 }
        if principal.isSession, !Authenticator.isSameOrigin(request) { return 403 }
        guard request.path == EventSocket.path ? EventSocket.accepts(request.query) : request.query.isEmpty else {
            return 422
        }
        return call == nil || principal.role >= .operator ? 0 : 403
    }

    public func open(_ socket: WebSocket) -> Bool {
        let handshake = socket.handshake
        let request = HTTPRequest(
            method: "GET", path: handshake.path, query: handshake.query, headers: handshake.headers,
            peer: handshake.peer)
        guard let principal = services.authenticator.principal(of: request) else { return false }
        let isAllowed: @Sendable () -> Bool = { [authenticator = services.authenticator] in
            authenticator.isCurrent(principal)
        }
        if let call = ListenSocket.call(in: handshake.path) {
            ListenSocket.serve(socket, call: call, services, principal, isAllowed: isAllowed)
            return true
        }
        if handshake.path == LevelSocket.path {
            LevelSocket.serve(socket, levels: services.levels, isAllowed: isAllowed)
            return true
        }
        guard handshake.path == EventSocket.path else { return false }
        EventSocket.serve(socket, store: services.store, isAllowed: isAllowed)
        return true
    }

    static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, contentType: "application/json", value.bytes)
    }
}
