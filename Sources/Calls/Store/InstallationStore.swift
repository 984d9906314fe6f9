internal import Foundation
internal import Problems
public import Store
internal import Synchronization

/// The server's own work on the rows of all companies: to keep the files, to admit who comes, to post what waits, to
/// make and remove companies. Nothing of it may be shown to somebody who asks.
public struct InstallationStore: Sendable {
    let store: CallStore
    public var storage: Storage { store.storage }
    public var accounts: Accounts { store.storage.accounts }
    public var outbox: Outbox { store.storage.outbox }
    public var feed: EventFeed { store.feed }

    /// The webhook endpoints of the configuration.
    public func subscribe(_ endpoints: [WebhookEndpoint]) {
        store.subscribers.withLock { $0.endpoints = endpoints }
    }

    /// The operators of all companies.
    public func operators() async throws(StoreError) -> [Operator] {
        var all: [Operator] = []
        for company in store.companies.ids { all += try await store.of(company).operators() }
        return all
    }

    /// Whose a call is; nil: there is none. For commands at the server's own console.
    public func company(ofCall id: String) async throws(StoreError) -> CompanyID? {
        try await storage.read { try $0.calls.audience(of: id)?.company }
    }

    /// Encrypts recordings with today's key. A call in progress keeps the one it is writing.
    public func reencryptRecordings(in folder: String) async throws(StoreError) -> (encrypted: Int, failed: Int) {
        try await store.reencryptRecordings(in: folder)
    }

    // MARK: Companies

    /// Takes over the companies as they are stored, whoever has changed them.
    public func reloadCompanies() async throws(StoreError) {
        store.companies.replace(try await storage.read { try $0.companies.all() })
    }

    /// By slug, without `default`.
    public func companies() async throws(StoreError) -> [Company] { try await storage.read { try $0.companies.all() } }

    /// - Throws: `StoreError.conflict`: the slug is taken.
    public func insert(_ company: Company) async throws(StoreError) {
        try await storage.write { try $0.companies.insert(company) }
        try await reloadCompanies()
    }

    public func update(_ slug: CompanyID, _ change: @escaping @Sendable (inout Company) -> Void)
        async throws(StoreError) -> Company
    {
        let changed = try await storage.write { work in
            guard var company = try work.companies.company(slug) else {
                throw StoreError(.notFound, .noCompanyNamed, ["slug": .text(slug.rawValue)])
            }
            change(&company)
            try work.companies.update(company)
            return company
        }
        try await reloadCompanies()
        return changed
    }

    /// Calls of one look at those that are to be erased.
    private static let erasureGroup = 1_000

    /// Erases a company with all that is its. Its queue is empty and it is suspended.
    /// - Throws: `StoreError.conflict`: calls of it are live.
    public func erase(_ slug: CompanyID, recordings folder: String) async throws(StoreError) {
        while true {
            let ids = try await storage.read { try $0.calls.ids(slug, limit: Self.erasureGroup) }
            guard !ids.isEmpty else { break }
            let erased = try await store.erase(ids, recordings: folder)
            guard erased > 0 else {
                throw StoreError(.conflict, .companyHasLiveCalls, ["count": .number(ids.count)])
            }
        }
        try await storage.write { try $0.companies.remove(slug) }
        try await storage.forgetErased()
        try await reloadCompanies()
    }

    /// Bytes of a company's recordings, as they lie there now.
    public func recordedBytes(_ slug: CompanyID, recordings folder: String) async throws(StoreError) -> Int64 {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let own = try await storage.read { work in
            try names.filter { try work.calls.audience(of: String($0.prefix(CallStore.idLength)))?.company == slug }
        }
        return own.reduce(0) { sum, name in
            let size = try? FileManager.default.attributesOfItem(atPath: folder + "/" + name)[.size] as? NSNumber
            return sum + (size?.int64Value ?? 0)
        }
    }

    /// - Parameter month: `2026-11`.
    public func usage(_ slug: CompanyID, month: String) async throws(StoreError) -> [UsageRows.Line] {
        try await storage.read { try $0.usage.lines(slug, month: month) }
    }
}
