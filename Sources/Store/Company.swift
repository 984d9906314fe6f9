public import Foundation

/// Whom an installation serves, beside its own company `default`, which the configuration describes.
public struct Company: Sendable, Equatable, Codable {
    public enum State: String, Sendable, Codable, CaseIterable {
        case active
        /// Nothing is dialled, taken in or changed; reading works, and calls in progress go on.
        case suspended
    }

    /// What may be used; nil: any amount.
    public struct Quotas: Sendable, Equatable, Codable {
        /// Calls at once, in both directions. A call beyond it waits, and one that comes in is told to try again.
        public var concurrentCalls: Int?
        /// Dials begun in a second; those beyond it wait.
        public var callsPerSecond: Int?
        /// Calls that are placed in a day, UTC.
        public var callsPerDay: Int?
        /// Of conversations, begun minutes of a month, UTC.
        public var minutesPerMonth: Int?
        public init() {}
    }

    public var slug: CompanyID
    public var name: String
    public var state: State
    public var quotas: Quotas
    /// Every event of the company is posted here.
    public var webhookURL: String?
    /// Signs its webhooks.
    public var webhookSecret: String
    /// nil: the installation's.
    public var retentionDays: Int?
    /// Numbers that may be shown beside those of `POST /api/numbers`.
    public var allowedCallers: [String]
    /// IANA name; nil: the installation's.
    public var timeZone: String?
    public var createdAt: Date

    public init(slug: CompanyID, name: String, webhookSecret: String, createdAt: Date) {
        self.slug = slug
        self.name = name
        self.webhookSecret = webhookSecret
        self.createdAt = createdAt
        state = .active
        quotas = Quotas()
        allowedCallers = []
    }
}
