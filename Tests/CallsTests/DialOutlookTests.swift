import Foundation
import Realtime
import Store
import Testing

@testable import Calls

/// With a real SQLite file.
@Suite struct DialOutlookTests {
    /// A Friday, 08:00 UTC.
    private let now = Date(timeIntervalSince1970: 1_800_000_000)
    private var policy: DiallingPolicy {
        var policy = DiallingPolicy()
        policy.routing.gateway = .sip([.init(address: "10.1.2.3")])
        policy.homeZone = .gmt
        policy.hoursZone = .gmt
        return policy
    }

    private func call(scheduledAt: Date? = nil) -> Call {
        Call(
            localNumber: "025550100", remoteNumber: "01012345678", brief: Brief(purpose: "p", questions: []),
            scheduledAt: scheduledAt, createdAt: now)
    }

    private func withStore(_ body: (CallStore) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "trunkline-test-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try CallStore(folder: folder)
        defer { store.close() }
        try await body(store)
    }

    @Test func nothingInTheWayIsAtOnceOrWhenItIsDue() async throws {
        try await withStore { store in
            let later = now.addingTimeInterval(7_200), past = now.addingTimeInterval(-7_200)
            for (scheduled, begins) in [(nil, now), (later, later), (past, now)] {
                let outlook = try await store.of(.default).outlook(
                    of: call(scheduledAt: scheduled), by: policy, at: now)
                #expect(outlook == DialOutlook(at: begins))
            }
        }
    }

    @Test func rulesHoldItOneAfterTheOther() async throws {
        try await withStore { store in
            var policy = policy
            policy.dailyCap = 1
            policy.callingHours = CallingHours("10:00-20:00")
            let other = Call(
                localNumber: "025550100", remoteNumber: "01099998888", brief: Brief(purpose: "p", questions: []),
                createdAt: now)
            _ = try await store.insert(other, events: [], at: now)
            var open = policy
            open.callingHours = nil
            guard case .dial = try await store.admit(other.id, by: open, at: now) else {
                return #expect(Bool(false), "the other call is not dialled")
            }
            let outlook = try await store.of(.default).outlook(of: call(), by: policy, at: now)
            #expect(outlook.blocks.map(\.rule) == [.callingHours, .dailyCap, .callingHours])
            let midnight = policy.dayBegins(now).addingTimeInterval(86_400)
            #expect(outlook.at == midnight.addingTimeInterval(36_000) && outlook.blocks[1].until == midnight)
        }
    }

    @Test func aRuleForGoodLeavesNoTime() async throws {
        try await withStore { store in
            _ = try await store.numbers.addDoNotCall([
                .init(number: "+82 10 1234 5678", reason: "", addedAt: now, addedBy: "k")
            ])
            let outlook = try await store.of(.default).outlook(of: call(), by: policy, at: now)
            #expect(outlook.at == nil && outlook.blocks.map(\.rule) == [.doNotCall])
            #expect(outlook.blocks.first?.until == nil)
        }
    }
}
