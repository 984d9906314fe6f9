import Foundation
import Pipeline
import Realtime
import Store
import Synchronization
import Testing

@testable import Calls

@Suite struct StreamTicketTests {
    @Test func onceForItsCallWithinAMinute() {
        let clock = Clock()
        let tickets = StreamTickets(nowMs: { clock.ms })
        let ticket = StreamTickets.Ticket(providerCallID: "CA1", callID: "in-1")
        let first = tickets.issue(ticket)
        #expect(tickets.redeem(first, providerCallID: "CA1") == ticket)
        #expect(tickets.redeem(first, providerCallID: "CA1") == nil, "used")
        #expect(tickets.redeem(tickets.issue(ticket), providerCallID: "CA2") == nil, "another call's")
        let late = tickets.issue(ticket)
        clock.ms += StreamTickets.lifetimeMs
        #expect(tickets.redeem(late, providerCallID: "CA1") == nil, "expired")
        #expect(tickets.redeem("", providerCallID: "") == nil)
    }

    @Test func oneThatWasNotUsedIsTakenBack() {
        let tickets = StreamTickets(nowMs: { 1 })
        let token = tickets.issue(.init(providerCallID: "CA1", callID: "ob-1"))
        #expect(
            !tickets.revoke(providerCallID: "CA2") && tickets.revoke(providerCallID: "CA1")
                && !tickets.revoke(providerCallID: "CA1"))
        #expect(tickets.redeem(token, providerCallID: "CA1") == nil)
    }

    private final class Clock: Sendable {
        private let stored = Mutex<UInt64>(1_000)
        var ms: UInt64 {
            get { stored.withLock { $0 } }
            set { stored.withLock { $0 = newValue } }
        }
    }
}
