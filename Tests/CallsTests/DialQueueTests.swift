import Foundation
import Pipeline
import Realtime
import Store
import Testing

@testable import Calls

@Suite struct DialQueueTests {
    private let start = Date(timeIntervalSince1970: 1_000_000)
    private func entry(
        _ id: String, priority: Int = 5, after: TimeInterval = 0, notBefore: TimeInterval? = nil, callee: String? = nil
    )
        -> DialQueue.Entry
    {
        .init(
            callID: id, priority: priority, createdAt: start.addingTimeInterval(after),
            notBefore: notBefore.map { start.addingTimeInterval($0) },
            callee: callee ?? id)
    }
    private func order(_ queue: DialQueue, at: TimeInterval, busy: Set<String> = []) -> [String] {
        var queue = queue
        var result: [String] = []
        while let next = queue.next(at: start.addingTimeInterval(at), busyCallees: busy) {
            result.append(next.callID)
        }
        return result
    }
    @Test func byPriorityThenAge() {
        var queue = DialQueue(priorityAgeing: 600)
        for item in [entry("a"), entry("b", priority: 9, after: 2), entry("c", after: 1)] { queue.add(item) }
        #expect(order(queue, at: 3) == ["b", "a", "c"])
    }
    @Test func waitingRaisesThePriority() {
        var queue = DialQueue(priorityAgeing: 600)
        queue.add(entry("old", priority: 5))
        queue.add(entry("new", priority: 6, after: 1_300))
        #expect(order(queue, at: 1_300) == ["old", "new"])
    }
    @Test func entriesWaitUntilTheyAreDue() {
        var queue = DialQueue(priorityAgeing: 600)
        queue.add(entry("later", priority: 10, notBefore: 60))
        queue.add(entry("now"))
        #expect(order(queue, at: 0) == ["now"])
        #expect(order(queue, at: 60) == ["later", "now"])
        #expect(queue.nextDue(after: start) == start.addingTimeInterval(60))
    }
    @Test func aCalleeIsNotDialledTwiceAtOnce() {
        var queue = DialQueue(priorityAgeing: 600)
        queue.add(entry("a", callee: "x"))
        #expect(order(queue, at: 0, busy: ["x"]) == [])
    }
}
