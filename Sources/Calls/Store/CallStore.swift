internal import Foundation
internal import Realtime
public import Store
internal import Synchronization

/// Calls in the store: what `Storage` keeps as rows and JSON, as values of this room.
///
/// A change of a call, its events and its webhook messages are one unit of work.
/// What is kept for a company is read with its name, by `of`. What the server does for all of them is `installation`.
public final class CallStore: Sendable {
    let feed = EventFeed()
    let storage: Storage
    /// The companies as they are now, in memory.
    public let companies = CompanyDirectory()
    var vault: Vault { storage.vault }
    /// Whether stored data is encrypted.
    public var isEncrypted: Bool { vault.encrypts }
    let plan: NumberingPlan
    /// The webhook endpoints for all events. Messages are stored in the transaction of the event.
    let subscribers = Mutex(WebhookSubscribers())
    /// Of the calls that the statistics looked at last: pages ask again and again, and few records have changed.
    let samples = Mutex<[CompanyID: [String: AnswerSample]]>([:])

    /// Opens or creates the database in a folder and brings its schema up to date.
    public init(folder: String, vault: Vault = Vault(), plan: NumberingPlan = NumberingPlan()) throws(StoreError) {
        self.plan = plan
        storage = try Storage(
            folder: folder, vault: vault,
            reading: Reading(number: { plan.key($0) }, words: { KnowledgeWords.tokens($0) }))
    }

    public func close() { storage.close() }

    /// What is kept for one company. This is how anything that somebody asks for is read.
    public func of(_ company: CompanyID) -> CompanyStore { CompanyStore(company, of: self) }

    /// The work of the server itself on the rows of all companies.
    public var installation: InstallationStore { InstallationStore(store: self) }

    /// What `body` changes is on disk on return, all of it or nothing; then its events are told.
    func write<Value: Sendable>(_ body: @escaping @Sendable (Work) throws -> (Value, [CallEvent]))
        async throws(StoreError) -> Value
    {
        let (value, events) = try await storage.write(body)
        feed.publish(events)
        return value
    }
}
