import Foundation
import Pipeline
import Synchronization
import Testing

@testable import Realtime

@Suite struct ProviderHealthTests {
    @Test func theCoolDownGrowsAndEnds() {
        let time = Mutex(0.0)
        let health = ProviderHealth { time.withLock { $0 } }
        let engines = [NamedEngine("a", 1), NamedEngine("b", 2)]
        health.failed("a", SpeechError("x", .unavailable))
        #expect(health.order(engines).map(\.name) == ["b"])
        time.withLock { $0 = 20 }
        #expect(health.order(engines).map(\.name) == ["a", "b"])
        health.failed("a", SpeechError("x", .broken))
        time.withLock { $0 = 59 }
        #expect(!health.isUsable("a"))
        time.withLock { $0 = 60 }
        #expect(health.isUsable("a"))
        health.succeeded("a")
        health.failed("a", SpeechError("x", .stalled))
        time.withLock { $0 = 80 }
        #expect(health.isUsable("a"), "a success makes it short again")
    }
    @Test func theServiceMaySayHowLong() {
        let health = ProviderHealth { 0 }
        health.failed("a", SpeechError("x", .rateLimited(retryAfterSeconds: 7)))
        health.failed("b", SpeechError("x", .unauthorized))
        #expect(health.statuses(of: ["a", "b", "c"]).map(\.coolDownSeconds) == [7, 600, 0])
    }
    @Test func allProvidersAreTriedWhenNoneIsHealthy() {
        let health = ProviderHealth { 0 }
        for name in ["a", "b"] { health.failed(name, SpeechError("x")) }
        #expect(health.order([NamedEngine("a", 1), NamedEngine("b", 2)]).count == 2)
    }
}
