import Foundation
import Synchronization
import Testing

@testable import Net

@Suite struct EventLoopTests {
    private actor Confined {
        let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        var count = 0
        init(_ loop: EventLoop) { self.loop = loop }
        func add() -> Bool {
            count += 1
            return loop.isCurrent
        }
        func addTwice() async -> Bool {
            let first = add()
            await Task.yield()
            return first && add()
        }
    }

    @Test func anActorOfTheLoopRunsOnItsThread() async throws {
        let loop = try EventLoop(name: "test")
        loop.start()
        let actor = Confined(loop)
        #expect(await actor.addTwice())
        await withTaskGroup(of: Void.self) { group in for _ in 0..<100 { group.addTask { _ = await actor.add() } } }
        #expect(await actor.count == 102)
        loop.stop()
    }

    private final class LastOwner {
        let loop: EventLoop
        let told = Signal()
        init(_ loop: EventLoop) { self.loop = loop }
        deinit { told.isOnLoop.withLock { $0 = loop.isCurrent } }
    }
    private final class Signal: Sendable { let isOnLoop = Mutex<Bool?>(nil) }

    /// A call that is in progress when the loop ends: what it closes must be closed on the loop.
    @Test func whatATickerHoldsIsReleasedOnTheLoopWhenTheLoopEnds() async throws {
        let loop = try EventLoop(name: "test")
        loop.start()
        let told = await withCheckedContinuation { continuation in
            loop.post {
                let owner = LastOwner(loop)
                _ = loop.addTicker { _ in _ = owner }
                continuation.resume(returning: owner.told)
            }
        }
        loop.stop()
        #expect(told.isOnLoop.withLock { $0 } == true)
    }

    /// The owner of a cancelled ticker may be gone: one more call would end the process.
    @Test func aTickerCancelledDuringATickIsNotCalled() async throws {
        let loop = try EventLoop(name: "test")
        loop.start()
        let calls: [Int] = await withCheckedContinuation { continuation in
            loop.post {
                var calls: [Int] = []
                var tickers: [EventLoop.Ticker] = []
                for number in 0..<3 {
                    tickers.append(
                        loop.addTicker(every: .tenth) { _ in
                            calls.append(number)
                            for other in tickers.dropFirst(number + 1).prefix(1) { other.cancel() }
                            guard number == 2 else { return }
                            for ticker in tickers { ticker.cancel() }
                            continuation.resume(returning: calls)
                        })
                }
            }
        }
        #expect(calls == [0, 2])
        loop.stop()
    }

    @Test func functionsRunInOrderAndTheTickerTicks() async throws {
        let loop = try EventLoop(name: "test")
        loop.start()
        let seen = Mutex<[Int]>([])
        for value in 0..<100 { loop.post { seen.withLock { $0.append(value) } } }
        let ticks = await withCheckedContinuation { continuation in
            loop.post {
                var count = 0
                var ticker: EventLoop.Ticker?
                let start = EventLoop.nowMs()
                ticker = loop.addTicker { now in
                    count += 1
                    if count == 5 {
                        ticker?.cancel()
                        continuation.resume(returning: now - start)
                    }
                }
            }
        }
        #expect(seen.withLock { $0 } == Array(0..<100))
        #expect(ticks >= 80)
        loop.stop()
    }
}
