import Foundation
import Net
import Synchronization
import Testing

@Suite struct EventLoopTurnTests {
    private final class Count: Sendable {
        let value = Atomic<Int>(0)
    }

    /// A turn runs at most 256 jobs. What is posted while the rest of a long queue waits must not be forgotten.
    @Test(arguments: [1, 255, 256, 257, 300, 512, 600, 1_500])
    func everyPostedFunctionRuns(posted: Int) async throws {
        let loop = try EventLoop(name: "turns")
        loop.start()
        defer { loop.stop() }
        let count = Count()
        await withCheckedContinuation { done in
            loop.post {
                for index in 0..<posted {
                    loop.post {
                        count.value.add(1, ordering: .relaxed)
                        // From within the first batch.
                        if index == min(10, posted - 1) { loop.post { done.resume() } }
                    }
                }
            }
        }
        let all = await withCheckedContinuation { done in
            loop.post { done.resume(returning: count.value.load(ordering: .relaxed)) }
        }
        #expect(all == posted)
    }

    /// The 20 ms tick comes between the batches of a queue that never ends.
    @Test func timersRunWhileJobsQueueUp() async throws {
        let loop = try EventLoop(name: "turns")
        loop.start()
        defer { loop.stop() }
        let ticks = Count()
        let isOver = Count()
        loop.post { [loop] in
            let ticker = loop.addTicker { _ in ticks.value.add(1, ordering: .relaxed) }
            @Sendable func again() {
                if isOver.value.load(ordering: .relaxed) == 0 { loop.post { again() } }
            }
            for _ in 0..<1_000 { again() }
            _ = ticker
        }
        let deadline = ContinuousClock.now + .seconds(20)
        while ticks.value.load(ordering: .relaxed) < 5, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(5))
        }
        isOver.value.store(1, ordering: .relaxed)
        #expect(ticks.value.load(ordering: .relaxed) >= 5)
    }
}
