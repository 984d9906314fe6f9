import Foundation
import Realtime
import Store
import Testing

@testable import Calls

@Suite struct DiallingPolicyTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)
    private var policy: DiallingPolicy {
        var policy = DiallingPolicy()
        policy.routing.gateway = .sip([.init(address: "10.1.2.3")])
        policy.homeZone = .gmt
        return policy
    }
    /// Of `call()`.
    private let route = Routing.Route.sip(.init(requestURI: "sip:01012345678@10.1.2.3", trunk: "10.1.2.3"))
    private func call(to callee: String = "01012345678") -> Call {
        Call(localNumber: "025550100", remoteNumber: callee, brief: Brief(purpose: "p", questions: []), createdAt: now)
    }

    @Test func aCallWithinAllRulesIsDialled() {
        #expect(policy.verdict(on: call(), history: .init(), at: now) == .dial(route))
    }

    @Test func rulesForGood() {
        guard case .block(.doNotCall, _) = policy.verdict(on: call(), history: .init(isOnDoNotCallList: true), at: now)
        else {
            return #expect(Bool(false))
        }
        var narrow = policy
        narrow.routing.allowedPrefixes = ["+1"]
        guard case .block(.prefix, _) = narrow.verdict(on: call(), history: .init(), at: now) else {
            return #expect(Bool(false))
        }
        guard case .block(.premium, _) = policy.verdict(on: call(to: "0607001234"), history: .init(), at: now) else {
            return #expect(Bool(false))
        }
        guard case .block(.emergency, _) = policy.verdict(on: call(to: "119"), history: .init(), at: now) else {
            return #expect(Bool(false))
        }
    }

    @Test func rulesForAWhile() {
        var capped = policy
        capped.dailyCap = 3
        guard
            case .hold(.dailyCap, let until, _) = capped.verdict(
                on: call(), history: .init(callerDialsToday: 3), at: now)
        else {
            return #expect(Bool(false))
        }
        #expect(until == capped.dayBegins(now).addingTimeInterval(86_400))
        #expect(
            capped.verdict(on: call(), history: .init(callerDialsToday: 3, callerCap: 4), at: now) == .dial(route),
            "the number's own cap counts")
        let recently = DiallingPolicy.History(calleeDialledAt: now.addingTimeInterval(-20))
        guard case .hold(.duplicate, let later, _) = policy.verdict(on: call(), history: recently, at: now) else {
            return #expect(Bool(false))
        }
        #expect(later == now.addingTimeInterval(40))
    }

    @Test func aHoldIsNotedOnceForAsLongAsItLasts() throws {
        var call = call()
        for minute in 0..<30 {
            _ = call.hold(
                by: .callingHours, until: now.addingTimeInterval(Double(minute)), detail: "d",
                at: now.addingTimeInterval(Double(minute)))
        }
        #expect(call.blocks?.count == 1 && call.nextAttemptAt == now.addingTimeInterval(29))
        let events = try call.block(by: .doNotCall, detail: "listed", at: now)
        #expect(
            call.state == .failed && call.blocks?.map(\.rule) == [.callingHours, .doNotCall]
                && events.map(\.name) == ["outbound_failed"])
        #expect(call.failureReason?.contains("do_not_call") == true)
    }
}
