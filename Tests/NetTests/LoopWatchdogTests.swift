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

    /// What the operator is promised: a line and /health after 2 s, the end of the process after 10 s.
    @Test func theDefaultsAreTwoAndTenSeconds() {
        let settings = LoopWatchdog.Settings()
        #expect(settings.everyMs * settings.looksUntilReport == 2_000)
        #expect(settings.everyMs * settings.looksUntilAbort == 10_000)
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
        await withCheckedContinuation { held in
            loop.post {
                held.resume()
                release.wait()
            }
        }
        let watchdog = LoopWatchdog(
            [loop], settings: settings, report: { report.yield($0) }, abort: { report.finish() })
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

    /// The log says what hangs: here a request that is being answered on its loop.
    @Test func aLoopThatHangsInARequestIsNamedSo() async throws {
        let loop = try EventLoop(name: "serving")
        loop.start()
        let release = DispatchSemaphore(value: 0)
        let (requests, request) = AsyncStream<Void>.makeStream()
        var configuration = HTTPServer.Configuration()
        configuration.port = 0
        let server = HTTPServer(
            configuration, loops: [loop], handler: { _ in HTTPResponse(status: 204) },
            upgradeCheck: { _ in
                request.finish()
                release.wait()
                return 404
            })
        try server.start()
        let (findings, report) = AsyncStream<LoopWatchdog.Finding>.makeStream()
        var settings = LoopWatchdog.Settings()
        settings.everyMs = 20
        let client = try #require(ClientSocket(port: server.port))
        client.send(
            "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        for await _ in requests {}
        let watchdog = LoopWatchdog(
            [loop], settings: settings, report: { report.yield($0) }, abort: { report.finish() })
        var found: [LoopWatchdog.Finding] = []
        for await finding in findings { found.append(finding) }
        let doing = "a connection to our HTTP server"
        #expect(
            found == [
                .stuck(loop: "serving", milliseconds: 80, doing: doing),
                .lost(loop: "serving", milliseconds: 400, doing: doing),
            ])
        #expect(watchdog.problem != nil)
        release.signal()
        client.close()
        server.stop()
        loop.stop()
    }

    /// A thread without a timer turns only because it is nudged.
    @Test func aThreadThatIsNudgedTurns() async throws {
        let thread = NudgedThread()
        let (findings, report) = AsyncStream<LoopWatchdog.Finding>.makeStream()
        var settings = LoopWatchdog.Settings()
        settings.everyMs = 10
        // However long the machine is busy, the process is not ended here.
        settings.looksUntilAbort = .max
        let watchdog = LoopWatchdog([thread], settings: settings, report: { report.yield($0) }, abort: {})
        await thread.hasTurned(30)
        #expect(watchdog.problem == nil)
        thread.hangs.store(true, ordering: .relaxed)
        var iterator = findings.makeAsyncIterator()
        #expect(await iterator.next() == .stuck(loop: "nudged", milliseconds: 40, doing: "nothing"))
        thread.hangs.store(false, ordering: .relaxed)
        #expect(await iterator.next() == .turning(loop: "nudged"))
        let isStuck = thread.isStuck.load(ordering: .relaxed)
        #expect(!isStuck)
        watchdog.stop()
    }
}

extension LoopWatchdogTests {
    /// By looks, which are the watchdog's clock: half a second each.
    private func findings(of thread: NudgedThread, looks: Int) -> (found: [LoopWatchdog.Finding], isAborted: Bool) {
        let found = Mutex<[LoopWatchdog.Finding]>([]), isAborted = Atomic<Bool>(false)
        let watchdog = LoopWatchdog(
            watching: [thread], report: { finding in found.withLock { $0.append(finding) } },
            abort: { isAborted.store(true, ordering: .relaxed) })
        // The first look only sees where the thread is.
        for _ in 0...looks where !watchdog.look() { break }
        return (found.withLock { $0 }, isAborted.load(ordering: .relaxed))
    }

    @Test func aThreadThatHoldsCallsIsLostAfterTenSeconds() {
        let thread = NudgedThread()
        thread.hangs.store(true, ordering: .relaxed)
        let (found, isAborted) = findings(of: thread, looks: 19)
        #expect(found == [.stuck(loop: "nudged", milliseconds: 2_000, doing: "nothing")] && !isAborted)
        let later = findings(of: thread, looks: 20)
        #expect(later.found.last == .lost(loop: "nudged", milliseconds: 10_000, doing: "nothing") && later.isAborted)
    }

    /// Calls go on without it: a disk that hangs for ten seconds, or for a minute, must not end them.
    @Test func aThreadThatHoldsNoCallsIsReportedAndEndsNothing() {
        let thread = NudgedThread(holdsCalls: false)
        thread.hangs.store(true, ordering: .relaxed)
        let found = Mutex<[LoopWatchdog.Finding]>([]), isAborted = Atomic<Bool>(false)
        let watchdog = LoopWatchdog(
            watching: [thread], report: { finding in found.withLock { $0.append(finding) } },
            abort: { isAborted.store(true, ordering: .relaxed) })
        for _ in 0...3 { #expect(watchdog.look()) }
        #expect(watchdog.problem == nil && found.withLock { $0.isEmpty })
        for _ in 4...120 { #expect(watchdog.look()) }
        #expect(watchdog.problem == "nudged has not turned for 60000 ms")
        #expect(found.withLock { $0 } == [.held(thread: "nudged", milliseconds: 2_000, doing: "nothing")])
        thread.hangs.store(false, ordering: .relaxed)
        for _ in 0..<2 { #expect(watchdog.look()) }
        #expect(watchdog.problem == nil && found.withLock { $0.last } == .freed(thread: "nudged"))
        let wasAborted = isAborted.load(ordering: .relaxed)
        #expect(!wasAborted)
    }

    /// It waits for the network for a minute where it has nothing to do: the looks wake it.
    @Test func theIdleThreadOfAnHTTPClientTurns() async {
        let client = HTTPClient()
        let thread = client.watched
        let before = thread.turnCount
        thread.nudge()
        while thread.turnCount == before { await Task.yield() }
        #expect(thread.name == "http-client" && !thread.holdsCalls)
        client.stop()
        // One that has ended does not hang.
        let stopped = thread.turnCount
        repeat {
            thread.nudge()
            await Task.yield()
        } while thread.turnCount < stopped + 5
    }
}

private final class NudgedThread: WatchedThread {
    let name = "nudged", doing = "nothing"
    let holdsCalls: Bool
    init(holdsCalls: Bool = true) { self.holdsCalls = holdsCalls }
    let turns = Atomic<UInt64>(0), hangs = Atomic<Bool>(false), isStuck = Atomic<Bool>(false)
    private let waiting = Mutex<(turn: UInt64, continuation: CheckedContinuation<Void, Never>)?>(nil)
    var turnCount: UInt64 { turns.load(ordering: .relaxed) }
    func nudge() {
        guard !hangs.load(ordering: .relaxed) else { return }
        let now = turns.add(1, ordering: .relaxed).newValue
        waiting.withLock { one in
            guard let awaited = one, now >= awaited.turn else { return }
            awaited.continuation.resume()
            one = nil
        }
    }
    func found(isStuck: Bool) { self.isStuck.store(isStuck, ordering: .relaxed) }
    func hasTurned(_ turn: UInt64) async {
        await withCheckedContinuation { continuation in waiting.withLock { $0 = (turn, continuation) } }
    }
}
