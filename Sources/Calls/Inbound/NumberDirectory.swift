internal import Foundation
internal import Realtime
public import Store
internal import Synchronization

/// What the AI does for the callers of each number, in memory for the SIP thread.
public final class NumberDirectory: Sendable {
    private let plan: NumberingPlan
    private let templates = Mutex<[String: CallTemplate]>([:])

    public init(plan: NumberingPlan) { self.plan = plan }

    /// Takes over what the store has.
    public func reload(from store: CallStore) async throws(StoreError) {
        let found = try await store.assignments()
        templates.withLock { $0 = found }
    }

    /// nil: the number has no template of its own.
    /// - Parameter base: for what a template does not tell.
    func brief(for number: String, base: Brief) -> Brief? {
        guard let template = templates.withLock({ $0[plan.key(number)] }) else { return nil }
        var brief = base
        brief.purpose = template.purpose
        brief.questions = template.questions
        brief.language = template.language ?? base.language
        brief.greetingTemplate = template.greeting ?? base.greetingTemplate
        return brief
    }
}
