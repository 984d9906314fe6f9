import Foundation
import Store
import Synchronization
import Testing

@testable import API

@Suite struct CallWaitsTests {
    private let principal = Principal(name: "k", key: "1", role: .viewer, isSession: false)
    private let far = ContinuousClock.now + .seconds(3_600)

    /// A call that ends when it is looked at the n-th time, and a feed.
    private final class Ending: Sendable {
        let looks = Mutex(0)
        let feed = EventFeed()
        let after: Int

        init(after: Int) { self.after = after }

        func isOver() -> Bool {
            looks.withLock {
                $0 += 1
                return $0 >= after
            }
        }
    }

    private func event(_ id: String) -> CallEvent {
        CallEvent(name: "outbound_completed", at: Date(), callID: id, direction: .outbound, payload: "{}")
    }

    @Test func aCallThatHasEndedIsToldAtOnce() async throws {
        let ending = Ending(after: 1)
        try await CallWaits().wait(
            until: far, for: principal, events: { ending.feed.watch(.default) }, of: "ob-1", isOver: { ending.isOver() }
        )
        #expect(ending.looks.withLock { $0 } == 1)
    }

    @Test func anEventOfTheCallWakesAndOthersDoNot() async throws {
        let ending = Ending(after: 2)
        try await CallWaits().wait(
            until: far, for: principal,
            events: {
                let live = ending.feed.watch(.default)
                ending.feed.publish([event("ob-2"), event("ob-1")])
                return live
            }, of: "ob-1", isOver: { ending.isOver() })
        #expect(ending.looks.withLock { $0 } == 2)
    }

    @Test func aDeadlineThatHasPassedIsNotWaitedFor() async throws {
        let ending = Ending(after: 1_000)
        try await CallWaits().wait(
            until: .now, for: principal, events: { ending.feed.watch(.default) }, of: "ob-1",
            isOver: { ending.isOver() })
        #expect(ending.looks.withLock { $0 } == 0)
    }

    @Test func ofOneKeyOnlySoManyWait() async throws {
        let waits = CallWaits(), feed = EventFeed()
        let (held, begun) = AsyncStream<Void>.makeStream()
        let waiting = (0..<CallWaits.limitPerKey).map { _ in
            Task { [principal, far] in
                try await waits.wait(
                    until: far, for: principal,
                    events: {
                        begun.yield()
                        return feed.watch(.default)
                    }, of: "ob-1", isOver: { false })
            }
        }
        var iterator = held.makeAsyncIterator()
        for _ in waiting { await iterator.next() }
        await #expect(throws: APIError.self) {
            try await waits.wait(
                until: far, for: principal, events: { feed.watch(.default) }, of: "ob-1", isOver: { true })
        }
        // Another key has its own.
        let other = Principal(name: "k", key: "2", role: .viewer, isSession: false)
        try await waits.wait(until: far, for: other, events: { feed.watch(.default) }, of: "ob-1", isOver: { true })
        for task in waiting { task.cancel() }
        for task in waiting { _ = await task.result }
        try await waits.wait(until: far, for: principal, events: { feed.watch(.default) }, of: "ob-1", isOver: { true })
    }
}
