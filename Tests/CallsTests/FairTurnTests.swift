import Foundation
import Store
import Testing

@testable import Calls

/// Places go round the companies that have something due.
@Suite struct FairTurnTests {
    private let start = Date(timeIntervalSince1970: 1_000_000)

    private func entry(_ company: Int, _ number: Int, priority: Int = 5, after: TimeInterval = 0) -> DialQueue.Entry {
        DialQueue.Entry(
            callID: "c\(company)-\(number)", company: CompanyID(rawValue: "c\(company)"), priority: priority,
            createdAt: start.addingTimeInterval(after), notBefore: nil, callee: "\(company)/\(number)")
    }

    /// Fifty companies with twenty calls each, five places: the first asked for all of its calls before the others did.
    @Test func noCompanyHasMoreThanItsTurns() throws {
        var queue = DialQueue(priorityAgeing: 600)
        for company in 0..<50 {
            for number in 0..<20 {
                queue.add(entry(company, number, priority: 1 + (company + number) % 10, after: Double(company)))
            }
        }
        var live: [DialQueue.Entry] = [], had: [CompanyID: Int] = [:]
        var random = SystemRandomNumberGenerator()
        for dial in 0..<100 {
            if live.count == 5 { live.remove(at: Int.random(in: 0..<5, using: &random)) }
            let now = start.addingTimeInterval(60 + Double(dial)), busy = Set(live.map(\.callee))
            let next = queue.next(at: now, busyCallees: busy)
            let entry = try #require(next)
            live.append(entry)
            had[entry.company, default: 0] += 1
        }
        #expect(had.count == 50 && had.values.max() == 2)
        #expect(queue.count == 900)
    }

    @Test func insideACompanyPriorityDecides() {
        var queue = DialQueue(priorityAgeing: 600)
        for (number, priority) in [(0, 2), (1, 9), (2, 5)] { queue.add(entry(1, number, priority: priority)) }
        queue.add(entry(2, 0, priority: 1))
        var order: [String] = []
        while let next = queue.next(at: start, busyCallees: []) { order.append(next.callID) }
        #expect(order == ["c1-1", "c2-0", "c1-2", "c1-0"])
    }

    @Test func oneThatIsHeldTakesNoTurnAndLosesNone() {
        var queue = DialQueue(priorityAgeing: 600)
        for company in 1...2 { for number in 0..<3 { queue.add(entry(company, number)) } }
        func next(held: Set<String>) -> String? {
            queue.next(at: start, busyCallees: [], isHeld: { held.contains($0.rawValue) })?.company.rawValue
        }
        #expect(next(held: ["c1"]) == "c2" && next(held: ["c1"]) == "c2")
        #expect(next(held: ["c1", "c2"]) == nil && queue.count == 4)
        // Let go, it comes first, and then they take turns again.
        #expect(next(held: []) == "c1" && next(held: []) == "c2" && next(held: []) == "c1")
        #expect(queue.count(CompanyID(rawValue: "c1")) == 1)
        #expect(queue.remove("c1-2") || queue.remove("c1-1") || queue.remove("c1-0"))
        #expect(queue.count(CompanyID(rawValue: "c1")) == 0 && !queue.remove("c1-0"))
    }
}
