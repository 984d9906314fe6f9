// Over 400 lines: the one place that builds all parts of the server and connects them.
internal import Agents
import API
import Bridge
import Calls
import Delivery
import Foundation
import KnowledgeBase
import Logging
import Net
import Pipeline
internal import Problems
import Realtime
import Settings
import Store

/// The wiring of one running server.
final class Server: Sendable {
    let configuration: HTTPServer.Configuration
    let http: HTTPServer
    let userAgent: UserAgent
    let dialler: Dialler
    let store: CallStore
    let loops: [EventLoop]
    let workers: WorkerPool
    let client: HTTPClient
    let catalog: SpeechCatalog
    let webhooks: WebhookSender
    private let inbound: InboundRouter
    private let line: CallLine
    private let keeper: TrunkKeeper
    private let analyst: CallAnalyst
    private let alerts: AlertWatch?
    /// Made at the first start, to be shown once.
    let newKey: String?
    let newWebhookSecret: String?
    private let keyWatch: Task<Void, Never>
    private let retention: Task<Void, Never>?
    private let watchdog: LoopWatchdog
    private let erasure: Task<Void, Never>
    private let housekeeping: Task<Void, Never>
    /// Seconds between two looks for an erasure that was not finished.
    private static let erasureSeconds = 60.0
    private let registrations: Task<Void, Never>
    /// Seconds until a key that was made or revoked by another process is known.
    private static let keyWatchSeconds = 2.0
    let logger: Logger

    /// Starts everything. Each failure says what the operator should do.
    static func start(_ settings: Configuration, logger: Logger) async throws -> Server {
        let kept = try await Kept(settings)
        let speech = try await Speech(settings, logger: logger)
        let server = try Server(settings, kept, speech, logger: logger)
        try await server.begin()
        return server
    }

    /// What outlives a run, as it was found: the store, who may come in, whom calls are for.
    private struct Kept: Sendable {
        let store: CallStore
        let authenticator: Authenticator
        let operators: OperatorDirectory
        let numbers: NumberDirectory
        let webhooks: WebhookSender.Settings
        let newKey: String?
        let newWebhookSecret: String?

        init(_ settings: Configuration) async throws {
            store = try settings.openStore()
            try FileManager.default.createDirectory(
                atPath: settings.calls.recordingsFolder, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            PrivateFiles.restrict(folder: settings.calls.recordingsFolder)
            authenticator = Authenticator(rate: settings.access.rate)
            operators = OperatorDirectory(
                realm: settings.digest.realm, algorithms: settings.digest.algorithms, plan: settings.calls.routing.plan)
            numbers = NumberDirectory(plan: settings.calls.routing.plan)
            let found = try await store.storage.secret(named: "webhooks") { WebhookSecret.random().text }
            guard let secret = settings.webhooks.secret ?? WebhookSecret(found.text) else {
                throw StoreError(.cannotOpen, .webhookSecretDamaged)
            }
            newWebhookSecret = found.isNew && settings.webhooks.secret == nil ? found.text : nil
            webhooks = settings.webhooks.sender(
                secret: secret, isBoundToLoopback: settings.http.isBoundToLoopback)
            newKey = try await Self.key(settings, store)
            authenticator.adopt(try await store.accounts.sessions(at: Date()))
            try await authenticator.refresh(from: store)
            operators.replace(try await store.operators())
            try await store.load(numbers.agents)
            try await numbers.reload(from: store)
        }

        /// The configured key is one from now on; where there is none at all one is made.
        private static func key(_ settings: Configuration, _ store: CallStore) async throws -> String? {
            if let key = settings.access.adminKey {
                guard key.count >= 16 else {
                    throw ConfigurationError("TRUNKLINE_API_KEY must have at least 16 characters")
                }
                try await store.accounts.insert(
                    .init(
                        hash: Authenticator.hash(key), name: "admin", role: "admin", createdAt: Date(),
                        createdBy: "TRUNKLINE_API_KEY"))
                return nil
            }
            guard try await store.accounts.keys().isEmpty else { return nil }
            let (key, stored) = Authenticator.makeKey(name: "admin", role: .admin, by: "first start", at: Date())
            try await store.accounts.insert(stored)
            return key
        }
    }

    /// The embedded engines, warm.
    private struct Speech: Sendable {
        let workers: WorkerPool
        let engines: SpeechEngines

        init(_ settings: Configuration, logger: Logger) async throws {
            workers = WorkerPool(name: "speech", threads: settings.local.workers)
            engines = SpeechEngines(
                speechToText: try await settings.local.recognizer(workers) { logger.notice("\($0)") },
                languageModel: EmbeddedPolicy(),
                textToSpeech: EmbeddedSpeech(workers: workers))
        }
    }

    /// The wiring; nothing waits here.
    private init(_ given: Configuration, _ kept: Kept, _ speech: Speech, logger: Logger) throws {
        var settings = given
        settings.calls.conversation.trainedDetector = try Self.trainedDetector(settings, logger: logger)
        self.logger = logger
        store = kept.store
        newKey = kept.newKey
        newWebhookSecret = kept.newWebhookSecret
        workers = speech.workers
        let operators = kept.operators, numbers = kept.numbers, webhookSettings = kept.webhooks
        keyWatch = Self.watchKeys(kept.authenticator, store)
        store.subscribe(settings.webhooks.endpoint.map { [$0] } ?? [])
        retention = Self.keepRetention(settings, store, logger: logger)
        erasure = Self.finishErasures(store, logger: logger)

        // Network.
        try settings.sip.prepareTLS(settings.http, in: settings.store.folder + "/sip-tls")
        loops = try (0..<settings.process.loops).map { try EventLoop(name: "loop-\($0)", caFile: settings.http.caFile) }
        for loop in loops { loop.start() }
        let inbound = InboundRouter(loops: loops, settings: settings.calls, operators: operators, numbers: numbers)
        self.inbound = inbound
        let guardian = SourceGuard(exempt: settings.calls.inbound.trustedSources ?? [])
        userAgent = try UserAgent(settings.sip, handlers: Self.handlers(SIPArrivals(inbound), operators, guardian))
        var web = HTTPClient.Configuration()
        web.caFile = settings.http.caFile
        let client = HTTPClient(web)
        self.client = client
        let threads: [any WatchedThread] = [SIPHeartbeat(userAgent), client.watched, store.storage.watched]
        watchdog = Self.watch((loops as [any WatchedThread]) + threads, logger: logger)
        guardian.onBlock = { [userAgent, logger] addresses, newest in
            if let newest { logger.warning("a source of SIP is blocked", metadata: ["source": "\(newest)"]) }
            userAgent.shutOut(addresses)
        }
        guardian.onTrust = { [userAgent] in userAgent.favour($0) }
        registrations = Task { [logger] in await Self.watch(operators, guardian, logger: logger) }
        let sender = WebhookSender(
            webhookSettings, outbox: store.deliveries, feed: store.feed, client: client, logger: logger)
        webhooks = sender
        let network = SpeechNetwork(client: client, loops: loops)
        let report: EngineReport = { logger.warning("a speech engine failed: \($0)") }
        let knowledge = KnowledgeStore(
            store.storage.knowledge, embeddings: Embeddings(settings.speech.embeddings, network: network),
            report: report)
        let local = try LocalEngines(settings.speech, folder: settings.local.packFolder, workers: speech.workers)
        let catalog = SpeechCatalog(
            settings.speech, network: network, embedded: speech.engines, local: local, knowledge: knowledge,
            report: report)
        self.catalog = catalog
        numbers.agents.environment = settings.agentEnvironment(
            support: settings.agentSupport(catalog) { own in
                SpeechCatalog(own, network: network, embedded: speech.engines, local: local) { _ in }
            })
        let modes = Self.modes(settings, catalog: catalog)
        let carriers = settings.carriers.ready(client, publicURL: settings.http.publicURL)
        var analysis = CallAnalyst.Settings()
        analysis.reviewer = try settings.summaryChat().map { CallReviewer($0, network: network) }
        analysis.callbackURL = settings.results.callbackURL
        analysis.prices = settings.calls.prices
        let analyst = CallAnalyst(analysis, store: store, logger: logger)
        self.analyst = analyst
        var trunks: [Routing.Trunk] = []
        if case .sip(let known)? = settings.calls.routing.gateway { trunks = known }
        let keeper = TrunkKeeper(
            trunks, settings: settings.gateway.keeper, userAgent: userAgent,
            caller: settings.calls.callerNumber ?? "trunkline",
            logger: logger)
        self.keeper = keeper
        var line = CallLine(
            userAgent: userAgent, carriers: carriers, modes: modes, voice: { catalog.voice(language: $0, usage: $1) },
            operators: operators,
            store: store,
            logger: logger)
        line.trunks = keeper
        self.line = line
        if settings.alerts.url.isEmpty {
            alerts = nil
        } else {
            alerts = AlertWatch(
                settings.alerts, webhooks: webhookSettings,
                sources: .init(
                    folder: settings.store.folder, trunkFailure: { [trunk = line.trunk] in trunk.status.problem },
                    failingProviders: {
                        catalog.statuses.filter { $0.coolDownSeconds > 0 }.map { ($0.name, $0.lastFailure ?? "") }
                    }, errors: { ErrorCount.shared.current }), logger: logger
            ) { try await client.send($0).status }
        }
        dialler = Dialler(line: line, loops: loops, settings: settings.calls)
        housekeeping = Self.giveBackMemory(dialler, inbound)
        let arrivals = ProviderArrivals(inbound)
        let tickets = StreamTickets(nowMs: { EventLoop.nowMs() })
        var calls = settings.calls
        calls.support = settings.languageSupport(catalog)
        var services = Routes.Services(
            store: store, dialler: dialler, authenticator: kept.authenticator, settings: calls,
            webRoot: settings.http.webRoot ?? Self.webRoot(), logger: logger, tickets: tickets,
            turns: TurnServer(line: line), arrivals: arrivals,
            isSecure: settings.http.certificate != nil || settings.http.isBehindProxy,
            carriers: carriers, knowledge: knowledge, statuses: { catalog.statuses }, webhooks: webhookSettings,
            wakeWebhooks: { sender.wake() },
            analyst: analyst,
            hosts: settings.http.knownHosts)
        services.isBehindProxy = settings.http.isBehindProxy
        services.operators = operators
        services.numbers = numbers
        services.liveTrace = { [userAgent] id, callID in userAgent.trace.messages(of: [callID], holding: id) }
        services.trunks = { keeper.statuses }
        services.levels = line.levels
        services.problem = { [watchdog] in watchdog.problem }
        services.loopDelays = { [loops] in loops.map { ($0.name, $0.takeWorstDelayMs()) } }
        services.retentionDays = settings.store.retentionDays
        services.publishRole = settings.access.publishRole
        let routes = Routes(services)
        let streams = StreamServer(
            line: line, calls: settings.calls, settings: settings.streams, tickets: tickets, arrivals: arrivals
        ) {
            [dialler] in await dialler.takeOver($0, by: $1, $2, on: $3)
        }
        var http = settings.http.server
        http.largerBodies = ["/api/knowledge": KnowledgeStore.bodyLimit]
        http.subprotocols = Dialects.subprotocols
        if let certificate = settings.http.certificate, let key = settings.http.key {
            http.tls = HTTPServer.TLS(certificate: certificate, key: key)
        }
        configuration = http
        self.http = HTTPServer(
            http, loops: loops, handler: { await routes.respond(to: $0) }, proves: { routes.proves($0) },
            upgradeCheck: { StreamServer.paths.contains($0.path) ? streams.refusal(of: $0) : routes.refusal(of: $0) },
            socketHandler: { StreamServer.paths.contains($0.handshake.path) ? streams.open($0) : routes.open($0) })
    }

    /// Recovers interrupted calls, then opens the ports.
    private func begin() async throws {
        try await dialler.recover()
        // Before the port is open: /ready means that calls are taken. Who called before was told to try again.
        inbound.open(line)
        do { try http.start() } catch {
            inbound.close()
            userAgent.stop()
            throw error
        }
        await dialler.start()
        await webhooks.start()
        keeper.start()
        await analyst.start()
        await alerts?.start()
    }

    private static func watch(_ loops: [any WatchedThread], logger: Logger) -> LoopWatchdog {
        LoopWatchdog(loops) { finding in
            switch finding {
            case .stuck(let loop, let milliseconds, let doing):
                logger.critical(
                    "an event loop does not turn: its calls stand still",
                    metadata: ["loop": "\(loop)", "milliseconds": "\(milliseconds)", "doing": "\(doing)"])
            case .turning(let loop): logger.warning("an event loop turns again", metadata: ["loop": "\(loop)"])
            case .lost(let loop, let milliseconds, let doing):
                logger.critical(
                    "an event loop does not come back: the process ends, to be started again",
                    metadata: ["loop": "\(loop)", "milliseconds": "\(milliseconds)", "doing": "\(doing)"])
            case .held(let thread, let milliseconds, let doing):
                logger.critical(
                    "a thread does not turn: what is asked of it waits",
                    metadata: ["thread": "\(thread)", "milliseconds": "\(milliseconds)", "doing": "\(doing)"])
            case .freed(let thread): logger.warning("a thread turns again", metadata: ["thread": "\(thread)"])
            }
        }
    }

    /// Seconds between two quiet moments in which free memory goes back to the system.
    private static let memorySeconds = 120.0
    /// Seconds between two looks for a quiet moment.
    private static let quietLookSeconds = 5.0

    /// What malloc keeps free goes back to the system now and then, while no call is held.
    private static func giveBackMemory(_ dialler: Dialler, _ inbound: InboundRouter) -> Task<Void, Never> {
        Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(memorySeconds))
                while !Task.isCancelled, await dialler.liveCount + inbound.liveCount > 0 {
                    try? await Task.sleep(for: .seconds(quietLookSeconds))
                }
                if !Task.isCancelled { Memory.giveBackFree() }
            }
        }
    }

    private static func watchKeys(_ authenticator: Authenticator, _ store: CallStore) -> Task<Void, Never> {
        Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(keyWatchSeconds))
                try? await authenticator.refresh(from: store)
            }
        }
    }

    private static func finishErasures(_ store: CallStore, logger: Logger) -> Task<Void, Never> {
        Task {
            while !Task.isCancelled {
                do throws(StoreError) { try await store.storage.finishErasure() } catch {
                    logger.error("an erasure cannot be finished yet: \(error)")
                }
                try? await Task.sleep(for: .seconds(erasureSeconds))
            }
        }
    }

    private static func keepRetention(_ settings: Configuration, _ store: CallStore, logger: Logger) -> Task<
        Void, Never
    >? {
        settings.store.retentionDays.map { days in
            let retention = Retention(store, recordings: settings.calls.recordingsFolder, days: days)
            return Task {
                await retention.run { result in
                    switch result {
                    case .success(let count):
                        logger.notice("calls are erased, for their time is over", metadata: ["count": "\(count)"])
                    case .failure(let error): logger.error("calls whose time is over cannot be erased: \(error)")
                    }
                }
            }
        }
    }

    /// What comes in by SIP, past the guard.
    private static func handlers(_ arrivals: SIPArrivals, _ operators: OperatorDirectory, _ guardian: SourceGuard)
        -> UserAgent.Handlers
    {
        var handlers = UserAgent.Handlers()
        handlers.incoming = { call in
            guard guardian.admits(call.source, agent: call.agent) else {
                call.dialog.reject(403)
                return { _ in }
            }
            return arrivals.take(call) { guardian.failed(call.source) }
        }
        handlers.register = { request in
            guard guardian.admits(request.source, agent: request.agent) else { return SIPReply(403) }
            let (reply, isRefused) = operators.registrar.answer(request, now: Date())
            if isRefused {
                guardian.failed(request.source)
            } else if reply.status == 200 {
                guardian.trust(request.source)
            }
            return reply
        }
        handlers.options = { SIPReply(guardian.admits($0.source, agent: $0.agent) ? 200 : 403) }
        return handlers
    }

    /// Phones that come and go, and sources that are let in again.
    private static func watch(_ operators: OperatorDirectory, _ guardian: SourceGuard, logger: Logger) async {
        async let expiry: Void = {
            var dropped = UserAgent.droppedRequests
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(5))
                let total = UserAgent.droppedRequests
                if total > dropped {
                    logger.warning(
                        "SIP requests were dropped: more came than are taken in",
                        metadata: ["count": "\(total - dropped)"])
                }
                dropped = total
                operators.registrar.expire(now: Date())
                guardian.expire()
            }
        }()
        for await change in operators.registrations {
            guard let known = operators.with(user: change.user) else { continue }
            logger.info(
                "an operator's phone has \(change.isRegistered ? "come" : "gone")",
                metadata: ["operator": "\(known.id)"])
        }
        await expiry
    }

    /// Silero's detector, where it is wanted and there.
    private static func trainedDetector(_ settings: Configuration, logger: Logger) throws -> (
        @Sendable () -> (any TrainedDetector)?
    )? {
        guard settings.local.wantsTrainedDetector else { return nil }
        let threshold = settings.calls.conversation.voiceActivity.threshold
        do {
            let model = try SileroModel(pack: settings.local.packFolder)
            _ = try model.detector(threshold: threshold)
            logger.notice("voice activity: Silero")
            return { try? model.detector(threshold: threshold) }
        } catch {
            guard settings.local.detector == .auto else {
                throw ConfigurationError("agent.vad.provider is silero: \(error)")
            }
            logger.warning("voice activity: the built-in detector is used: \(error)")
            return nil
        }
    }

    /// Ways to hold a conversation, in the order in which they are tried.
    private static func modes(
        _ settings: Configuration, catalog: SpeechCatalog
    ) -> @Sendable (_ language: String, UsageMeter) -> [ConversationMode] {
        guard settings.realtime.mode == .realtime else {
            return { [.cascade(catalog.engines(language: $0, usage: $1))] }
        }
        let resolver = HostResolver()
        let models = settings.realtime.providers.map { name in
            name == "gemini"
                ? ConversationMode.realtime(GeminiLive(settings.realtime.gemini, resolver: resolver))
                : ConversationMode.realtime(OpenAIRealtime(settings.realtime.openAI, resolver: resolver))
        }
        let fallsBack = settings.realtime.fallsBack
        return { language, usage in
            models + (fallsBack ? [.cascade(catalog.engines(language: language, usage: usage))] : [])
        }
    }

    var address: String { "http\(configuration.tls == nil ? "" : "s")://\(configuration.host):\(http.port)" }

    /// Calls in progress are brought to their end, then everything is closed.
    func stop() async {
        http.stop()
        inbound.close()
        await dialler.stop()
        await analyst.stop()
        await alerts?.stop()
        await webhooks.stop()
        keeper.stop()
        keyWatch.cancel()
        registrations.cancel()
        retention?.cancel()
        erasure.cancel()
        housekeeping.cancel()
        watchdog.stop()
        userAgent.stop()
        for loop in loops { loop.stop() }
        client.stop()
        workers.stop()
        store.close()
    }

    /// `web/` beside the working folder, the build folder or the installed executable.
    private static func webRoot() -> String? {
        let executable = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let candidates = [
            "web", executable.appendingPathComponent("../../../web").path,
            executable.appendingPathComponent("../share/trunkline/web").path,
        ]
        return candidates.first { FileManager.default.fileExists(atPath: $0 + "/index.html") }
    }
}
