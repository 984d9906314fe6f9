public import Foundation
public import Store

extension CallStore {
    /// Characters of a call's id at the beginning of a recording's name.
    static let idLength = 11

    /// Erases ended calls with all that was kept of them: transcript, events, messages of the outbox, recordings.
    /// Nothing of it stays in the database's files. Returns how many there were.
    func erase(_ ids: [String], recordings folder: String) async throws(StoreError) -> Int {
        let erased = Set(try await storage.erase(ids))
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        where erased.contains(String(name.prefix(Self.idLength))) {
            try? FileManager.default.removeItem(atPath: folder + "/" + name)
        }
        if !erased.isEmpty { try await storage.forgetErased() }
        return erased.count
    }

    /// Ids of calls that ended before, oldest first.
    func ended(_ company: CompanyID, before date: Date, limit: Int) async throws(StoreError) -> [String] {
        try await storage.read { try $0.calls.ended(company, before: date, limit: limit) }
    }
}

/// Erases calls when their time is over. A company may say when that is; else it is the installation's.
public struct Retention: Sendable {
    /// Seconds between two looks, and calls erased at one.
    private static let interval = 600.0
    private static let limit = 5_000

    private let store: CallStore
    private let folder: String
    private let days: Int?

    /// - Parameter days: since the end of a call, where its company says nothing else; nil: never.
    public init(_ store: CallStore, recordings folder: String, days: Int?) {
        self.store = store
        self.folder = folder
        self.days = days
    }

    /// Until it is cancelled.
    public func run(
        now: @Sendable () -> Date = { Date() }, report: @Sendable (_ erased: Result<Int, StoreError>) -> Void
    ) async {
        while !Task.isCancelled {
            for company in store.companies.ids {
                guard let days = store.companies.known(company)?.retentionDays ?? days else { continue }
                do throws(StoreError) {
                    let over = try await store.ended(
                        company, before: now().addingTimeInterval(-Double(days) * 86_400), limit: Self.limit)
                    if !over.isEmpty { report(.success(try await store.erase(over, recordings: folder))) }
                } catch { report(.failure(error)) }
            }
            try? await Task.sleep(for: .seconds(Self.interval))
        }
    }
}
