import Foundation
import Testing

@testable import Bridge

@Suite struct SourceGuardTests {
    /// A clock that a test turns.
    final class Clock: Sendable {
        private let value: Locked<UInt64> = Locked(1_000_000)
        var now: UInt64 { value.get() }
        func advance(_ ms: UInt64) { value.set(value.get() + ms) }
    }

    @Test func tenFailuresBlockASourceForAWhile() {
        let clock = Clock()
        let guardian = SourceGuard(exempt: ["192.0.2.9"], now: { clock.now })
        let blocked = Locked<[[UInt32]]>([])
        guardian.onBlock = { addresses, _ in blocked.set(blocked.get() + [addresses]) }
        for _ in 0..<9 { guardian.failed("192.0.2.1") }
        #expect(guardian.admits("192.0.2.1", agent: nil))
        guardian.failed("192.0.2.1")
        #expect(
            !guardian.admits("192.0.2.1", agent: nil) && guardian.admits("192.0.2.2", agent: nil)
                && guardian.blockedCount == 1)
        #expect(blocked.get() == [[0xC000_0201]])
        clock.advance(SourceGuard.blockMs + 1)
        guardian.expire()
        #expect(guardian.admits("192.0.2.1", agent: nil) && blocked.get().last == [])
        // Slow mistakes are a person's.
        for _ in 0..<30 {
            guardian.failed("192.0.2.3")
            clock.advance(10_000)
        }
        #expect(guardian.admits("192.0.2.3", agent: nil))
        for _ in 0..<100 { guardian.failed("192.0.2.9") }
        #expect(guardian.admits("192.0.2.9", agent: "friendly-scanner"), "trunks of ours are never blocked")
    }

    @Test func scannersAndFloodsAreBlockedAtOnce() {
        let clock = Clock()
        let guardian = SourceGuard(exempt: [], now: { clock.now })
        #expect(
            !guardian.admits("192.0.2.1", agent: "friendly-scanner") && !guardian.admits("192.0.2.1", agent: "Linphone")
        )
        for _ in 0..<100 { #expect(guardian.admits("192.0.2.2", agent: nil)) }
        #expect(!guardian.admits("192.0.2.2", agent: nil))
        guardian.trust("192.0.2.3")
        for _ in 0..<300 { #expect(guardian.admits("192.0.2.3", agent: nil)) }
        #expect(guardian.admits("127.0.0.1", agent: "sipvicious"))
    }
}
