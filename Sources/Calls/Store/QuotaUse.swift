public import Foundation
internal import Realtime
internal import Store

/// How much of a quota of a company is used, when a call is asked for.
public struct QuotaUse: Sendable, Equatable {
    /// The share from which on it is nearly used up.
    private static let near = 0.8

    /// `calls_per_day` or `minutes_per_month`.
    public var quota: String
    public var limit: Int
    public var used: Int
    /// When what was used counts no more.
    public var resetsAt: Date

    public var isUsedUp: Bool { used >= limit }

    /// One more takes it past 80 %, where it was not before.
    var isNearWithOneMore: Bool { isNear(from: used, to: used + 1) }

    func isNear(from before: Int, to after: Int) -> Bool {
        let bound = Double(limit) * Self.near
        return Double(before) < bound && Double(after) >= bound
    }

    private struct Payload: Encodable {
        var quota: String
        var limit: Int
        var used: Int
        var resetsAt: String
    }

    /// Told once, as an event of the call that took the company there.
    func event(of call: Call, at date: Date, used: Int? = nil) -> CallEvent {
        CallEvent(
            name: "quota_near", at: date, callID: call.id, direction: call.direction,
            payload: CallEvent.payload(
                Payload(quota: quota, limit: limit, used: used ?? self.used + 1, resetsAt: CallEvent.time(resetsAt))))
    }
}

extension CallStore {
    private static let callComponent = "call"
    private static let millisecondsOfMinute: Int64 = 60_000
    /// Parts of an amount of money that are counted: millionths, as exact as costs are.
    private static let moneyParts = Decimal(1_000_000)

    /// The quotas that creating a call counts on.
    func quotaUses(of call: Call, at now: Date, _ work: Work) throws -> [QuotaUse] {
        guard call.direction == .outbound, let quotas = companies.known(call.company)?.quotas else { return [] }
        var uses: [QuotaUse] = []
        if let limit = quotas.callsPerDay {
            let day = now.formatted(Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day().dateSeparator(.dash))
            uses.append(
                QuotaUse(
                    quota: "calls_per_day", limit: limit, used: try work.calls.placed(call.company, on: day),
                    resetsAt: Self.next(.day, after: now)))
        }
        if let use = try minutes(of: call.company, quotas, at: now, work) { uses.append(use) }
        return uses
    }

    private func minutes(of company: CompanyID, _ quotas: Company.Quotas, at now: Date, _ work: Work) throws
        -> QuotaUse?
    {
        guard let limit = quotas.minutesPerMonth else { return nil }
        let used = try work.usage.quantity(
            company, month: UsageRows.month(now), component: Self.callComponent, unit: "milliseconds")
        return QuotaUse(
            quota: "minutes_per_month", limit: limit, used: Int(clamping: used / Self.millisecondsOfMinute),
            resetsAt: Self.next(.month, after: now))
    }

    /// The beginning of the next day or month, UTC.
    private static func next(_ part: Calendar.Component, after now: Date) -> Date {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar.dateInterval(of: part, for: now)?.end ?? now.addingTimeInterval(86_400)
    }

    /// In the transaction that ends a call, or adds to what it has used: what is new counts for the company's month.
    /// - Parameter before: nil: the call has never been over before, and has used nothing.
    /// - Returns: events that tell of a quota that is nearly used up.
    @discardableResult
    func countUsage(from before: Call?, to call: Call, at now: Date, _ work: Work) throws -> [CallEvent] {
        var lines: [UsageRows.Line] = []
        var milliseconds: Int64 = 0
        if call.state.isTerminal, before?.state.isTerminal != true {
            lines.append(.init(component: Self.callComponent, unit: "calls", quantity: 1))
            // Of a call, which lasts a day at most.
            milliseconds = Int64(max(0, min(call.duration(at: now) ?? 0, 86_400)) * 1_000)
            lines.append(.init(component: Self.callComponent, unit: "milliseconds", quantity: milliseconds))
        }
        if call.usage != before?.usage { lines += Self.growth(from: before?.usage ?? [], to: call.usage ?? []) }
        if call.cost != before?.cost { lines += Self.growth(from: before?.cost, to: call.cost) }
        guard !lines.isEmpty else { return [] }
        var near: [CallEvent] = []
        if milliseconds > 0, let quotas = companies.known(call.company)?.quotas,
            let use = try minutes(of: call.company, quotas, at: now, work)
        {
            try work.usage.add(call.company, lines, at: now)
            let after = try minutes(of: call.company, quotas, at: now, work)?.used ?? use.used
            if use.isNear(from: use.used, to: after) { near.append(use.event(of: call, at: now, used: after)) }
        } else {
            try work.usage.add(call.company, lines, at: now)
        }
        return near
    }

    private static func growth(from before: [ComponentUsage], to after: [ComponentUsage]) -> [UsageRows.Line] {
        after.flatMap { used -> [UsageRows.Line] in
            let known = before.first { $0.component == used.component }
            return UsageUnit.allCases.compactMap { unit in
                guard let quantity = used.quantities[unit] else { return nil }
                return .init(
                    component: used.component, unit: unit.rawValue,
                    quantity: Int64(max(0, quantity - (known?.quantities[unit] ?? 0))))
            }
        }
    }

    private static func growth(from before: Cost?, to after: Cost?) -> [UsageRows.Line] {
        guard let after else { return [] }
        func millionths(_ component: Cost.Component?) -> Int64 {
            guard let amount = component?.amount.flatMap({ Decimal(string: $0) }) else { return 0 }
            return Int64(clamping: NSDecimalNumber(decimal: amount * moneyParts).int64Value)
        }
        return after.components.map { component in
            let known = before?.components.first { $0.name == component.name }
            return .init(
                component: "cost \(component.name)", unit: after.currency,
                quantity: max(0, millionths(component) - millionths(known)))
        }
    }
}
