public import Foundation
public import Store

/// When a call could be dialled, as things stand: nothing is stored, and nothing is promised.
public struct DialOutlook: Sendable, Equatable {
    /// nil: a rule forbids it for good.
    public var at: Date?
    /// The rules that stand in the way before, in order.
    public var blocks: [Call.Block] = []
}

extension CompanyStore {
    /// What `admit` would say of a call from now on.
    public func outlook(of call: Call, by policy: DiallingPolicy, at now: Date) async throws(StoreError)
        -> DialOutlook
    {
        try await store.outlook(of: call, by: policy, at: now)
    }
}

extension CallStore {
    /// Rules that hold a call one after the other: a cap until midnight, then the calling hours, and so on.
    private static let holdLimit = 8

    fileprivate func outlook(of call: Call, by policy: DiallingPolicy, at now: Date) async throws(StoreError)
        -> DialOutlook
    {
        let policy = companies.known(call.company).map { policy.of($0) } ?? policy
        return try await storage.read { [self] work in
            var outlook = DialOutlook(), at = max(now, call.scheduledAt ?? now)
            for _ in 0..<Self.holdLimit {
                let history = try Self.history(
                    of: call, localKey: storage.key(call.localNumber), by: policy, at: at, work)
                switch policy.verdict(on: call, history: history, at: at) {
                case .dial:
                    outlook.at = at
                    return outlook
                case .hold(let rule, let until, let detail):
                    outlook.blocks.append(.init(at: at, rule: rule, detail: detail, until: until))
                    at = max(at, until)
                case .block(let rule, let detail):
                    outlook.blocks.append(.init(at: at, rule: rule, detail: detail, until: nil))
                    return outlook
                }
            }
            outlook.at = at
            return outlook
        }
    }

    /// What the rules for dialling ask the store about a call.
    /// - Parameter localKey: by what our number is known.
    static func history(
        of call: Call, localKey: String, by policy: DiallingPolicy, at now: Date, _ work: Work
    ) throws -> DiallingPolicy.History {
        // By the number as it is read now: an older version may have stored another key.
        let number = call.remoteNumber, company = call.company
        return DiallingPolicy.History(
            isOnDoNotCallList: try work.dials.isOnDoNotCallList(company, number),
            calleeDialledAt: try work.dials.last(company, to: number, notBy: call.id, until: now),
            callerDialsToday: try work.dials.count(
                company, from: localKey, since: policy.dayBegins(now), until: now),
            callerCap: try work.dials.dailyCap(company, of: localKey))
    }
}
