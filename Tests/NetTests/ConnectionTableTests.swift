import Testing

@testable import Net

@Suite struct ConnectionTableTests {
    private func table(waiting: Int = 3, perSource: Int = 2, total: Int = 5) -> ConnectionTable {
        ConnectionTable(limits: .init(waiting: waiting, waitingPerSource: perSource, total: total))
    }

    @Test func whoHasWaitedLongestGivesWay() {
        var table = table()
        for id in UInt64(1)...3 { #expect(table.add(id, source: UInt32(id), at: id) == .admitted(closing: [])) }
        #expect(table.add(4, source: 4, at: 4) == .admitted(closing: [1]))
        #expect(table.waitingCount == 3 && table.count == 3)
    }

    @Test func aSourceGivesWayToItself() {
        var table = table()
        _ = table.add(1, source: 7, at: 1)
        _ = table.add(2, source: 8, at: 2)
        _ = table.add(3, source: 7, at: 3)
        #expect(table.add(4, source: 7, at: 4) == .admitted(closing: [1]), "not the other source's, which waits longer than 3")
    }

    @Test func whoSentARequestStaysBeforeThoseWhoDidNot() {
        var table = table()
        _ = table.add(1, source: 1, at: 1)
        table.begin(1)
        #expect(table.wait(1, at: 2) == [])
        _ = table.add(2, source: 2, at: 3)
        _ = table.add(3, source: 3, at: 4)
        #expect(table.add(4, source: 4, at: 5) == .admitted(closing: [2]))
    }

    @Test func requestsInProgressNeverGiveWay() {
        var table = table(total: 3)
        for id in UInt64(1)...3 {
            _ = table.add(id, source: UInt32(id), at: id)
            table.begin(id)
        }
        #expect(table.add(4, source: 4, at: 4) == .full)
        _ = table.wait(2, at: 5)
        #expect(table.add(5, source: 5, at: 6) == .admitted(closing: [2]))
        #expect(table.count == 3 && table.waitingCount == 1)
    }

    @Test func whatIsRemovedIsForgotten() {
        var table = table()
        for id in UInt64(1)...3 { _ = table.add(id, source: 1, at: id) }
        for id in UInt64(1)...3 { table.remove(id) }
        table.remove(9)
        #expect(table.count == 0 && table.waitingCount == 0)
        #expect(table.add(4, source: 1, at: 4) == .admitted(closing: []))
    }
}
