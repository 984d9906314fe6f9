public import Foundation
public import Net
public import Settings
public import Store

/// Who is told of events, and how.
public struct WebhookSettings: Sendable {
    /// Every event is posted here.
    public var url: String?
    /// Names of the events it wants; nil: all.
    public var events: Set<String>?
    /// nil: one is made at the first start.
    public var secret: WebhookSecret?
    public var allowsPrivateAddresses = false
    /// Seconds from each failed try to the next.
    public var schedule = WebhookSender.schedule
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting("webhooks.url", \.url, .text, "https: URL that every event is posted to", unset: "none")
        Setting("webhooks.events", \.events, eventsForm, "names of the events it wants", unset: "all")
        Setting(
            "webhooks.secret", \.secret, secretForm, "signs webhooks", unset: "one is made at the first start",
            isSecret: true)
        Setting(
            "webhooks.allow_private", \.allowsPrivateAddresses, .flag, "post to addresses in our own network too")
        Setting(
            "webhooks.retry_schedule", \.schedule, .list(of: .whole(0...86_400, .seconds)),
            "from each failed try to the next")
    }

    public var endpoint: WebhookEndpoint? { url.map { .init(url: $0, events: events) } }

    public func sender(secret: WebhookSecret, isBoundToLoopback: Bool) -> WebhookSender.Settings {
        var settings = WebhookSender.Settings(secret: secret)
        settings.schedule = schedule
        settings.allowsPrivateAddresses = allowsPrivateAddresses
        settings.isBoundToLoopback = isBoundToLoopback
        return settings
    }

    /// What is wrong with an address that is posted to; nil: nothing.
    /// - Parameter key: its setting.
    public func problem(key: String, url: String?, isBoundToLoopback: Bool) -> String? {
        let settings = sender(secret: .random(), isBoundToLoopback: isBoundToLoopback)
        return url.flatMap { WebhookSender.problem(with: $0, settings: settings) }.map { "\(key) \($0)" }
    }

    private static let eventsForm = SettingForm<[String]>.list.mapped({ Set($0) }, back: { $0.sorted() })

    private static let secretForm = SettingForm<WebhookSecret>(
        "whsec_ and Base64", problem: "must be whsec_ and 24 to 64 bytes in Base64", parse: { WebhookSecret($0) })
}

extension AlertWatch.Settings {
    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "alerts.url", \.url, .text,
            "https: URL that alerts about trunks, providers, disk and errors are posted to, signed as webhooks",
            unset: "no alerts")
        Setting("alerts.check_interval", \.interval, .whole(1...3_600, .seconds), "between two looks")
        Setting(
            "alerts.disk_free_mb", \.wantedDisk,
            SettingForm<Int>.whole(1...1 << 30, .mebibytes).mapped({ $0 << 20 }, back: { $0 >> 20 }),
            "free disk below which it is low")
        Setting(
            "alerts.errors_per_minute", \.errorsPerMinute, .whole(1...1_000_000),
            "errors in the log within a minute that are too many")
    }
}
