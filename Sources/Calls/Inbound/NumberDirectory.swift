internal import Foundation
internal import Realtime
public import Store
internal import Synchronization

/// Whose each number is, and what the AI does for its callers, in memory for the SIP thread.
public final class NumberDirectory: Sendable {
    private let plan: NumberingPlan
    private let numbers = Mutex<[String: (company: CompanyID, template: CallTemplate?)]>([:])

    public init(plan: NumberingPlan) { self.plan = plan }

    /// Takes over what the store has.
    public func reload(from store: CallStore) async throws(StoreError) {
        var found: [String: (company: CompanyID, template: CallTemplate?)] = [:]
        for company in store.companies.ids {
            for (key, template) in try await store.of(company).assignments() { found[key] = (company, template) }
        }
        let known = found
        numbers.withLock { $0 = known }
    }

    /// nil: it is nobody's of `POST /api/numbers`.
    func owner(of number: String) -> CompanyID? { numbers.withLock { $0[plan.key(number)]?.company } }

    /// nil: the number has no template of its own.
    /// - Parameter base: for what a template does not tell.
    func brief(for number: String, base: Brief) -> Brief? {
        guard let template = numbers.withLock({ $0[plan.key(number)]?.template }) else { return nil }
        var brief = base
        brief.purpose = template.purpose
        brief.questions = template.questions
        brief.language = template.language ?? base.language
        brief.greetingTemplate = template.greeting ?? base.greetingTemplate
        return brief
    }
}
