public import Foundation
public import Logging
public import Net
public import Problems
public import Store

/// Sends the messages of the outbox as signed webhooks, in the order of each call's events, with retries for a
/// day.
public actor WebhookSender {
    public struct Settings: Sendable {
        public var secret: WebhookSecret
        /// Seconds from each failed try to the next; after the last one a message is given up.
        public var schedule: [TimeInterval] = WebhookSender.schedule
        /// Addresses in our own network may be posted to.
        public var allowsPrivateAddresses = false
        /// `http:` to loopback is allowed while we are bound to loopback.
        public var isBoundToLoopback = true
        /// The secret of a company of its own; nil: `secret`, which is `default`'s, signs.
        public var companySecret: @Sendable (CompanyID) -> WebhookSecret? = { _ in nil }
        public init(secret: WebhookSecret) { self.secret = secret }
    }

    /// 23.7 hours.
    public static let schedule: [TimeInterval] = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800]
    /// Posts under way at once, and at once to one host.
    private static let concurrency = 32
    private static let concurrencyPerHost = 8
    /// Milliseconds for an answer.
    private static let timeoutMs = 15_000
    /// Seconds between two looks without a wake-up.
    private static let longestNap: TimeInterval = 5
    /// Seconds that a receiver may ask for with `Retry-After`.
    private static let retryAfterLimit: TimeInterval = 3_600
    /// Of what the receiver said.
    private static let errorLimit = 200

    private let outbox: Outbox
    private let feed: EventFeed
    private let client: HTTPClient
    private let settings: Settings
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let alarm = Alarm()
    private var underWay: [Int64: String] = [:]
    /// Tried since the last look began: what that look saw of them is old.
    private var tried: Set<Int64> = []
    private var tasks: [Task<Void, Never>] = []

    public init(
        _ settings: Settings, outbox: Outbox, feed: EventFeed, client: HTTPClient, logger: Logger,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.settings = settings
        self.outbox = outbox
        self.feed = feed
        self.client = client
        self.logger = logger
        self.now = now
    }

    public func start() {
        tasks.append(Task { await self.run() })
        tasks.append(
            Task { [feed, alarm] in
                while !Task.isCancelled {
                    for await _ in feed.watchInstallation() { alarm.ring() }
                    // Cut off while it was busy: nothing is lost, the outbox is on disk.
                    alarm.ring()
                }
            })
    }

    public func stop() {
        for task in tasks { task.cancel() }
        alarm.ring()
    }

    /// Looks at the outbox now, e.g. after a replay.
    public nonisolated func wake() { alarm.ring() }

    /// Characters of an address.
    public static let urlLimit = 2_048

    /// What is wrong with an address that a user gives; nil if it may be posted to.
    public static func problem(with url: String, settings: Settings) -> Problem? {
        guard URIText.isValid(url) else { return Problem(.characterNotInUrl) }
        guard url.count <= urlLimit, let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty,
            parts.port.map((1...65_535).contains) ?? true
        else { return Problem(.notHttps) }
        guard parts.user == nil, parts.password == nil else { return Problem(.credentialsInUrl) }
        switch parts.scheme?.lowercased() {
        case "https": return nil
        case "http" where settings.isBoundToLoopback && SocketAddress.isLoopback(host): return nil
        case "http": return Problem(.httpOnlyOnLoopback)
        default: return Problem(.notHttps)
        }
    }

    private func run() async {
        while !Task.isCancelled {
            var pause = Self.longestNap
            do {
                tried.removeAll(keepingCapacity: true)
                let due = try await outbox.due(at: now(), limit: 4 * Self.concurrency)
                for delivery in due
                where underWay[delivery.id] == nil && !tried.contains(delivery.id) && underWay.count < Self.concurrency
                {
                    let host = URLComponents(string: delivery.url)?.host ?? ""
                    guard underWay.values.count(where: { $0 == host }) < Self.concurrencyPerHost else { continue }
                    underWay[delivery.id] = host
                    Task { await self.post(delivery) }
                }
                if underWay.isEmpty, let next = try await outbox.next() {
                    pause = min(pause, max(0.02, next.timeIntervalSince(now())))
                }
            } catch {
                // A read that `stop` has cut short.
                if Task.isCancelled { return }
                logger.error("cannot read the outbox: \(error)")
            }
            await alarm.wait(seconds: pause)
        }
    }

    private func post(_ delivery: Delivery) async {
        let id = "msg_\(delivery.id)"
        var signing = settings
        signing.secret = settings.companySecret(delivery.company) ?? settings.secret
        let request = Self.request(
            id: id, body: delivery.body, to: delivery.url, settings: signing, at: now(), timeoutMs: Self.timeoutMs)
        var status: Int?
        var failure: String?
        var wanted: TimeInterval?
        if let problem = Self.problem(with: delivery.url, settings: settings) {
            failure = "the address \(problem)"
        } else {
            do {
                let response = try await client.send(request)
                status = response.status
                if !(200..<300).contains(response.status) {
                    failure = "the receiver answered \(response.status)"
                    wanted = response.headers["retry-after"].flatMap { TimeInterval($0) }.map {
                        min(max($0, 0), Self.retryAfterLimit)
                    }
                }
            } catch { failure = (error as? NetError)?.message ?? "\(error)" }
        }
        await tried(
            delivery, status: status, failure: failure.map { String($0.prefix(Self.errorLimit)) }, wanted: wanted)
    }

    /// A signed post (Standard Webhooks, "Webhook metadata").
    static func request(id: String, body: String, to url: String, settings: Settings, at: Date, timeoutMs: Int)
        -> HTTPClientRequest
    {
        let bytes = Array(body.utf8)
        var request = HTTPClientRequest(
            "POST", url,
            headers: [
                ("content-type", "application/json"), ("user-agent", "Trunkline-Webhooks"),
            ] + settings.secret.headers(id: id, at: at, body: bytes), body: bytes)
        request.responseTimeoutMs = timeoutMs
        request.stallTimeoutMs = timeoutMs
        let host = URLComponents(string: url)?.host ?? ""
        request.allowsPrivateAddresses =
            settings.allowsPrivateAddresses || settings.isBoundToLoopback && SocketAddress.isLoopback(host)
        return request
    }

    private func tried(_ delivery: Delivery, status: Int?, failure: String?, wanted: TimeInterval?) async {
        let at = now()
        var state = Delivery.State.delivered
        var next = at
        if failure != nil {
            // 410: the receiver wants no more of it (Standard Webhooks, "Response codes").
            if delivery.attempts < settings.schedule.count, status != 410 {
                state = .pending
                let planned = settings.schedule[delivery.attempts] * Double.random(in: 0.9...1.1)
                next = at.addingTimeInterval(max(planned, wanted ?? 0))
            } else {
                state = .dead
            }
        }
        do {
            try await outbox.tried(delivery.id, state: state, status: status, error: failure, nextAt: next, at: at)
        } catch {
            // It will be sent again: receivers know it by its id.
            logger.error("cannot store what came of a webhook: \(error)")
            try? await Task.sleep(for: .seconds(1))
        }
        if state == .dead {
            logger.warning(
                "a webhook was given up",
                metadata: ["call": "\(delivery.callID)", "delivery": "\(delivery.id)", "error": "\(failure ?? "")"])
        }
        underWay[delivery.id] = nil
        tried.insert(delivery.id)
        alarm.ring()
    }
}
