internal import Foundation
public import Store
internal import Synchronization

/// The companies as calls and requests need them: in memory, with the places that each has taken.
public final class CompanyDirectory: Sendable {
    private struct State {
        var companies: [CompanyID: Company] = [:]
        /// Calls in progress, in both directions.
        var places: [CompanyID: Int] = [:]
        var onChange: (@Sendable () -> Void)?
    }
    private let state = Mutex(State())

    /// Takes over what the store has.
    func replace(_ companies: [Company]) {
        let onChange = state.withLock { state in
            let known = Dictionary(companies.map { ($0.slug, $0) }) { first, _ in first }
            guard known != state.companies else { return nil as (@Sendable () -> Void)? }
            state.companies = known
            return state.onChange
        }
        onChange?()
    }

    /// There is another company than `default`. Until then nothing shows that there can be one.
    public var areSeveral: Bool { state.withLock { !$0.companies.isEmpty } }
    /// nil: it is `default`, or there is none of this name.
    public func known(_ company: CompanyID) -> Company? { state.withLock { $0.companies[company] } }
    public func exists(_ company: CompanyID) -> Bool { company == .default || known(company) != nil }
    /// All, `default` first.
    public var ids: [CompanyID] {
        [.default] + state.withLock { $0.companies.keys.sorted { $0.rawValue < $1.rawValue } }
    }
    public func isSuspended(_ company: CompanyID) -> Bool { known(company)?.state == .suspended }

    // MARK: Places

    /// Hears when a place has become free or a company has changed: somebody may dial now.
    func onChange(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onChange = body } }

    public func places(_ company: CompanyID) -> Int { state.withLock { $0.places[company] ?? 0 } }

    func hasPlace(_ company: CompanyID) -> Bool { state.withLock { Self.hasPlace(company, $0) } }

    private static func hasPlace(_ company: CompanyID, _ state: State) -> Bool {
        guard let limit = state.companies[company]?.quotas.concurrentCalls else { return true }
        return state.places[company, default: 0] < limit
    }

    /// For one call, until `freePlace`. False: the company has as many calls as it may have.
    func takePlace(_ company: CompanyID) -> Bool {
        state.withLock { state in
            guard Self.hasPlace(company, state) else { return false }
            state.places[company, default: 0] += 1
            return true
        }
    }

    func freePlace(_ company: CompanyID) {
        let onChange = state.withLock { state in
            let left = state.places[company, default: 1] - 1
            state.places[company] = left > 0 ? left : nil
            return state.onChange
        }
        onChange?()
    }
}
