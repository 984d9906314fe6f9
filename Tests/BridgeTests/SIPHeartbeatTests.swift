import Foundation
import Net
import Testing

@testable import Bridge

@Suite struct SIPHeartbeatTests {
    /// A real stack whose thread is kept by a function, and the watchdog's own thread.
    @Test func aSIPThreadThatHangsIsFoundNamedAndEnded() async throws {
        var configuration = UserAgent.Configuration()
        configuration.port = UInt16.random(in: 20_000..<30_000)
        let agent = try UserAgent(configuration)
        let heart = SIPHeartbeat(agent)
        let (findings, report) = AsyncStream<LoopWatchdog.Finding>.makeStream()
        var settings = LoopWatchdog.Settings()
        settings.everyMs = 20
        // It beats while nothing hangs, and only once for each nudge that was answered.
        let held = DispatchSemaphore(value: 0)
        agent.perform { _ in held.wait() }
        heart.nudge()
        heart.nudge()
        held.signal()
        await withCheckedContinuation { done in agent.perform { _ in done.resume() } }
        #expect(heart.turnCount == 1)
        let release = DispatchSemaphore(value: 0)
        await withCheckedContinuation { held in
            agent.perform { _ in
                held.resume()
                release.wait()
            }
        }
        let watchdog = LoopWatchdog(
            [heart], settings: settings, report: { report.yield($0) }, abort: { report.finish() })
        var found: [LoopWatchdog.Finding] = []
        for await finding in findings { found.append(finding) }
        let doing = "a command to the SIP stack"
        #expect(
            found == [
                .stuck(loop: "sip", milliseconds: 80, doing: doing),
                .lost(loop: "sip", milliseconds: 400, doing: doing),
            ])
        #expect(watchdog.problem?.contains("sip has not turned for") == true)
        release.signal()
        agent.stop()
        // What comes later is not posted to a stack that is gone.
        heart.nudge()
        heart.nudge()
    }
}
