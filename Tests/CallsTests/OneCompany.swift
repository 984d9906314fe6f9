import Foundation
import Store

@testable import Calls

/// Most tests have one company, the installation's own.
extension CallStore {
    var numbers: NumberLists { of(.default).numbers }
    var deliveries: Deliveries { of(.default).deliveries }
    func page(_ filter: CallFilter) async throws -> CallPage { try await of(.default).page(filter) }
    func active(_ filter: ActiveFilter) async throws -> ActiveCalls { try await of(.default).active(filter) }
    func statistics() async throws -> CallStatistics { try await of(.default).statistics() }
    func events(after id: Int64, of call: String? = nil) async throws -> [CallEvent] {
        try await of(.default).events(after: id, of: call)
    }
}

extension EventFeed {
    func watch() -> AsyncStream<CallEvent> { watch(.default) }
}
