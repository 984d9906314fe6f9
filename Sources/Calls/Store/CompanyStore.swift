public import Bridge
public import Foundation
public import Net
internal import Problems
public import Realtime
public import Store

/// The store with a company in it: all that somebody who asks can see or change. What is another company's is not
/// there.
public struct CompanyStore: Sendable {
    public let company: CompanyID
    let store: CallStore
    var storage: Storage { store.storage }

    init(_ company: CompanyID, of store: CallStore) {
        self.company = company
        self.store = store
    }

    public var numbers: NumberLists { storage.numbers(company) }
    public var deliveries: Deliveries { storage.deliveries(company) }
    public var audit: AuditLog { storage.audit(company) }
    /// Whether stored data is encrypted.
    public var isEncrypted: Bool { store.isEncrypted }

    // MARK: Calls

    public func call(_ id: String) async throws(StoreError) -> Call? {
        try await storage.read { [company] in try $0.calls.record(company, id).map { try StoredCall.call($0) } }
    }

    /// Changes a call and stores the events that tell of it, in one transaction. Returns the call as stored.
    @discardableResult
    public func update(_ id: String, _ change: @escaping @Sendable (inout Call) throws -> [CallEvent])
        async throws(StoreError) -> Call
    {
        try await check(id)
        return try await store.update(id, change)
    }

    /// A call never changes its company, so that what was its then is so later.
    private func check(_ id: String) async throws(StoreError) {
        let isOwn = try await storage.read { [company] in try $0.calls.audience(of: id)?.company == company }
        guard isOwn else { throw StoreError(.notFound, .noCallNamed, ["id": .text(id)]) }
    }

    public func transcript(of id: String) async throws(StoreError) -> [TranscriptEntry] {
        try await check(id)
        return try await store.transcript(of: id)
    }

    /// What was sent and received for a call that has ended, oldest first.
    public func trace(of id: String) async throws(StoreError) -> [SIPTrace.Message] {
        try await check(id)
        return try await store.trace(of: id)
    }

    /// The source of the bytes of a call's recording; nil if there is none.
    public func recording(of call: Call, in folder: String) -> (any ByteSource)? {
        guard call.company == company, let name = call.recording else { return nil }
        return store.recording(name, in: folder)
    }

    /// Erases a call that has ended with all that was kept of it. False: there is none.
    public func erase(_ id: String, recordings folder: String) async throws(StoreError) -> Bool {
        try await check(id)
        return try await store.erase([id], recordings: folder) > 0
    }

    // MARK: Events

    /// Of the latest event of the installation; 0: there has been none.
    public func latestEventID() async throws(StoreError) -> Int64 {
        try await storage.read { try $0.events.latest() }
    }

    /// Events after an id, oldest first, at most `limit`; of one call where one is named.
    public func events(after id: Int64, of callID: String? = nil, limit: Int = 1_000) async throws(StoreError)
        -> [CallEvent]
    {
        try await storage.read { [company] in
            try $0.events.events(company, after: id, of: callID, limit: limit)
        }
    }

    /// Events from now on.
    public func watch() -> AsyncStream<CallEvent> { store.feed.watch(company) }

    // MARK: Keys

    public func keys() async throws(StoreError) -> [StoredKey] { try await storage.accounts.keys(company) }

    public func insert(_ key: StoredKey) async throws(StoreError) {
        var key = key
        key.company = company
        try await storage.accounts.insert(key)
    }

    public func revokeKey(_ id: String, at now: Date) async throws(StoreError) {
        try await storage.accounts.revokeKey(company, id, at: now)
    }

    /// Makes a user, or gives one a new password and role.
    public func saveUser(_ name: String, password: String, role: String, by who: String, at now: Date)
        async throws(StoreError)
    {
        try await storage.accounts.saveUser(company, name, password: password, role: role, by: who, at: now)
    }

    public func removeUser(_ name: String) async throws(StoreError) {
        try await storage.accounts.removeUser(company, name)
    }

    public func counts() async throws(StoreError) -> StoreCounts { try await storage.counts(company) }
}
