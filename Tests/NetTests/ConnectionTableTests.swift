import Testing

@testable import Net

@Suite struct ConnectionTableTests {
    private func table(waiting: Int = 3, perSource: Int = 2, atOnce: Int = 6, total: Int = 8) -> ConnectionTable {
        ConnectionTable(
            limits: .init(
                waiting: waiting, waitingPerSource: perSource, graceMs: 10, waitingAtOnce: atOnce, total: total,
                batch: 2))
    }

    @Test func theLongestIdleConnectionIsClosedFirst() {
        var table = table()
        for id in UInt64(1)...5 { #expect(table.add(id, source: UInt32(id), at: id) == .admitted(closing: [])) }
        #expect(table.trim(at: 20) == [1, 2])
        #expect(table.waitingCount == 3 && table.count == 3 && table.trim(at: 20) == [])
    }

    /// A thousand calls that begin at once are no attack.
    @Test func newConnectionsStay() {
        var table = table()
        for id in UInt64(1)...5 { _ = table.add(id, source: 1, at: id) }
        #expect(table.trim(at: 10) == [])
        #expect(table.trim(at: 12) == [1, 2])
    }

    @Test func aSourceGivesWayToItself() {
        var table = table()
        _ = table.add(1, source: 7, at: 1)
        _ = table.add(2, source: 8, at: 2)
        _ = table.add(3, source: 7, at: 3)
        _ = table.add(4, source: 7, at: 4)
        #expect(table.trim(at: 50) == [1], "not the other source's, which has waited longer than 3")
    }

    @Test func connectionsThatSentARequestStayLonger() {
        var table = table(waiting: 1)
        _ = table.add(1, source: 1, at: 1)
        table.begin(1)
        table.wait(1, at: 2)
        _ = table.add(2, source: 2, at: 3)
        #expect(table.trim(at: 50) == [2])
    }

    @Test func aFullTableClosesABatchAtOnce() {
        var table = table()
        for id in UInt64(1)...6 { _ = table.add(id, source: UInt32(id), at: 1) }
        #expect(table.add(7, source: 7, at: 1) == .admitted(closing: [1, 2]))
        #expect(table.count == 5 && table.waitingCount == 5)
    }

    @Test func requestsInProgressNeverGiveWay() {
        var table = table(total: 3)
        for id in UInt64(1)...3 {
            _ = table.add(id, source: UInt32(id), at: id)
            table.begin(id)
        }
        #expect(table.trim(at: 50) == [] && table.add(4, source: 4, at: 60) == .full)
        table.wait(2, at: 61)
        #expect(table.add(5, source: 5, at: 62) == .admitted(closing: [2]))
        #expect(table.count == 3 && table.waitingCount == 1)
    }

    @Test func removedConnectionsAreForgotten() {
        var table = table()
        for id in UInt64(1)...3 { _ = table.add(id, source: 1, at: id) }
        for id in UInt64(1)...3 { table.remove(id) }
        table.remove(9)
        #expect(table.count == 0 && table.waitingCount == 0 && table.trim(at: 99) == [])
    }
}
