import Foundation
import Synchronization
import Testing

@testable import Net

@Suite struct LoopWatchdogTests {
    @Test func aLoopIsReportedOnceAndLostLater() {
        var settings = LoopWatchdog.Settings()
        settings.looksUntilReport = 2
        settings.looksUntilAbort = 4
        var seen = LoopWatchdog.Observation()
        #expect([1, 2, 2, 2, 2].map { seen.look($0, settings) } == [.fine, .fine, .fine, .justStuck, .stillStuck])
        #expect(seen.look(2, settings) == .lost)
    }

    @Test func aLoopThatComesBackIsReportedToo() {
        var settings = LoopWatchdog.Settings()
        settings.looksUntilReport = 1
        var seen = LoopWatchdog.Observation()
        #expect([5, 5, 6, 7].map { seen.look($0, settings) } == [.fine, .justStuck, .justTurning, .fine])
    }

    /// A real loop whose thread is kept by a function, and the watchdog's own thread.
    @Test func aHeldLoopIsFoundNamedAndEnded() async throws {
        let loop = try EventLoop(name: "held")
        loop.start()
        let release = DispatchSemaphore(value: 0)
        let (findings, report) = AsyncStream<LoopWatchdog.Finding>.makeStream()
        var settings = LoopWatchdog.Settings()
        settings.everyMs = 20
        let watchdog = LoopWatchdog(
            [loop], settings: settings, report: { report.yield($0) }, abort: { report.finish() })
        loop.post { release.wait() }
        var found: [LoopWatchdog.Finding] = []
        for await finding in findings { found.append(finding) }
        #expect(
            found == [
                .stuck(loop: "held", milliseconds: 80, doing: "a function posted to it"),
                .lost(loop: "held", milliseconds: 400, doing: "a function posted to it"),
            ])
        #expect(loop.isStuck && watchdog.problem?.contains("held has not turned for") == true)
        release.signal()
        loop.stop()
    }
}
