public import Foundation
public import Logging
public import Net
internal import Store

/// What an operator wants to be woken for.
public struct Alert: Sendable, Equatable {
    /// `trunk_down`, `provider_down`, `disk_low`, `error_rate`.
    public var name: String
    /// Which of several, e.g. `speech-to-text/deepgram`.
    public var subject: String
    public var detail: String
    public init(name: String, subject: String, detail: String) {
        self.name = name
        self.subject = subject
        self.detail = detail
    }
}

/// Looks at trunk, speech services, disk and errors, and posts what begins and what is over to `alerts.url`, signed as
/// webhooks are.
///
/// Not by the outbox: the disk may be what fails.
public actor AlertWatch {
    public struct Settings: Sendable {
        /// Empty: no alerts are sent.
        public var url: String
        /// Seconds between two looks.
        public var interval: TimeInterval = 10
        /// Bytes of disk below which it is low.
        public var wantedDisk = 512 << 20
        /// Errors in the log within a minute that are too many.
        public var errorsPerMinute = 10
        public init(url: String = "") { self.url = url }
    }

    /// What the watch observes.
    public struct Sources: Sendable {
        /// Folder on the disk that is watched.
        public var folder: String
        /// Why the gateway counts as down; nil: it takes calls.
        public var trunkFailure: @Sendable () -> String?
        /// Name and last failure of each speech service that is not used now.
        public var failingProviders: @Sendable () -> [(name: String, failure: String)]
        /// Errors logged since the start, and the last one's message.
        public var errors: @Sendable () -> (count: Int, last: String)
        public init(
            folder: String, trunkFailure: @escaping @Sendable () -> String?,
            failingProviders: @escaping @Sendable () -> [(name: String, failure: String)],
            errors: @escaping @Sendable () -> (count: Int, last: String)
        ) {
            self.folder = folder
            self.trunkFailure = trunkFailure
            self.failingProviders = failingProviders
            self.errors = errors
        }
    }

    /// Seconds after which what goes on is told again.
    private static let repetition: TimeInterval = 3_600
    /// Messages that wait for the receiver; the oldest go.
    private static let backlog = 100
    /// Of one text.
    private static let detailLimit = 300
    private static let timeoutMs = 10_000

    private struct Firing {
        var alert: Alert
        var since: Date
        var toldAt: Date
    }

    private let settings: Settings
    private let webhooks: WebhookSender.Settings
    private let sources: Sources
    private let send: @Sendable (HTTPClientRequest) async throws -> Int
    private let logger: Logger
    private let now: @Sendable () -> Date
    private var firing: [String: Firing] = [:]
    private var waiting: [(id: String, body: String)] = []
    /// Errors by the time of each look, of the last minute.
    private var counts: [(at: Date, count: Int)] = []
    private var task: Task<Void, Never>?

    /// - Parameter send: posts a request and returns the status.
    public init(
        _ settings: Settings, webhooks: WebhookSender.Settings, sources: Sources, logger: Logger,
        now: @escaping @Sendable () -> Date = { Date() },
        send: @escaping @Sendable (HTTPClientRequest) async throws -> Int
    ) {
        self.settings = settings
        self.webhooks = webhooks
        self.sources = sources
        self.logger = logger
        self.now = now
        self.send = send
    }

    public func start() {
        task = Task {
            while !Task.isCancelled {
                await self.look()
                try? await Task.sleep(for: .seconds(self.settings.interval))
            }
        }
    }

    public func stop() { task?.cancel() }

    /// Checks all sources once and posts changes.
    public func look() async {
        let at = now()
        let current = alerts(at: at)
        let known = Set(current.map(\.key))
        for (key, alert) in current {
            if let old = firing[key], at.timeIntervalSince(old.toldAt) < Self.repetition, at >= old.toldAt { continue }
            let since = firing[key]?.since ?? at
            firing[key] = Firing(alert: alert, since: since, toldAt: at)
            tell(alert, isOver: false, since: since, at: at)
        }
        for (key, old) in firing where !known.contains(key) {
            firing[key] = nil
            tell(old.alert, isOver: true, since: old.since, at: at)
        }
        await post()
    }

    private func alerts(at: Date) -> [(key: String, value: Alert)] {
        var found: [Alert] = []
        if let failure = sources.trunkFailure() {
            found.append(Alert(name: "trunk_down", subject: "default_gateway", detail: failure))
        }
        for (name, failure) in sources.failingProviders() {
            found.append(Alert(name: "provider_down", subject: name, detail: failure))
        }
        let free =
            (try? FileManager.default.attributesOfFileSystem(forPath: sources.folder))?[.systemFreeSize] as? NSNumber
        if let free, free.int64Value < Int64(settings.wantedDisk) {
            found.append(Alert(name: "disk_low", subject: "data", detail: "\(free.int64Value >> 20) MiB are free"))
        }
        let errors = sources.errors()
        counts.append((at, errors.count))
        counts.removeAll { at.timeIntervalSince($0.at) > 60 || $0.at > at }
        let recent = errors.count - (counts.first?.count ?? errors.count)
        if recent >= settings.errorsPerMinute {
            found.append(
                Alert(
                    name: "error_rate", subject: "log",
                    detail: "\(recent) errors within a minute; the last: \(errors.last)"))
        }
        return found.map { ("\($0.name) \($0.subject)", $0) }
    }

    private func tell(_ alert: Alert, isOver: Bool, since: Date, at: Date) {
        let body: [String: Any] = [
            "type": "alert", "alert": alert.name, "subject": alert.subject, "state": isOver ? "resolved" : "firing",
            "since": CallEvent.time(since), "at": CallEvent.time(at),
            "detail": String(alert.detail.prefix(Self.detailLimit)),
        ]
        guard
            let data = try? JSONSerialization.data(
                withJSONObject: body, options: [.sortedKeys, .withoutEscapingSlashes])
        else { return }
        waiting.append(("msg_alert_\(ShortID.random())", String(decoding: data, as: UTF8.self)))
        if waiting.count > Self.backlog { waiting.removeFirst() }
        logger.notice("alert \(isOver ? "over" : "begins"): \(alert.name)", metadata: ["subject": "\(alert.subject)"])
    }

    /// In order; what the receiver does not take waits for the next look.
    private func post() async {
        while let (id, body) = waiting.first {
            let request = WebhookSender.request(
                id: id, body: body, to: settings.url, settings: webhooks, at: now(), timeoutMs: Self.timeoutMs)
            do {
                let status = try await send(request)
                guard (200..<300).contains(status) else {
                    logger.warning("an alert was not taken: the receiver answered \(status)")
                    return
                }
            } catch {
                logger.warning("an alert could not be posted: \((error as? NetError)?.message ?? "\(error)")")
                return
            }
            if waiting.first?.id == id { waiting.removeFirst() }
        }
    }
}
