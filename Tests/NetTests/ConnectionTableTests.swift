import Testing

@testable import Net

@Suite struct ConnectionTableTests {
    private func table(loose: Int = 3, perSource: Int = 2, atOnce: Int = 6, total: Int = 8) -> ConnectionTable {
        ConnectionTable(
            limits: .init(
                loose: loose, loosePerSource: perSource, graceMs: 10, looseAtOnce: atOnce, total: total, batch: 2))
    }

    @Test func theLongestIdleConnectionIsClosedFirst() {
        var table = table()
        for id in UInt64(1)...5 { #expect(table.add(id, source: UInt32(id), at: id) == .admitted(closing: [])) }
        #expect(table.trim(at: 20) == [1, 2])
        #expect(table.looseCount == 3 && table.count == 3 && table.trim(at: 20) == [])
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
        var table = table(loose: 1)
        _ = table.add(1, source: 1, at: 1)
        table.begin(1, at: 1)
        table.wait(1, at: 2)
        _ = table.add(2, source: 2, at: 3)
        #expect(table.trim(at: 50) == [2])
    }

    @Test func provenConnectionsStayLongest() {
        var table = table(loose: 1)
        for id in UInt64(1)...3 {
            _ = table.add(id, source: UInt32(id), at: id)
            table.begin(id, at: id)
            if id == 1 { table.prove(id) }
            table.wait(id, at: id)
        }
        #expect(table.isProven(1) && !table.isProven(2))
        #expect(table.trim(at: 50) == [2, 3])
    }

    @Test func aFullTableClosesABatchAtOnce() {
        var table = table()
        for id in UInt64(1)...6 { _ = table.add(id, source: UInt32(id), at: 1) }
        #expect(table.add(7, source: 7, at: 1) == .admitted(closing: [1, 2]))
        #expect(table.count == 5 && table.looseCount == 5)
    }

    /// A stranger who reads an answer slowly, or opens a WebSocket and says nothing, is bounded as one who only waits.
    @Test func strangersGiveWayWhateverTheyDo() {
        var table = table()
        for id in UInt64(1)...5 {
            _ = table.add(id, source: UInt32(id), at: id)
            table.begin(id, at: id)
            table.answer(id, at: id)
        }
        #expect(table.looseCount == 5)
        #expect(table.trim(at: 20) == [1, 2], "the one whose answer began first")
        var crowded = self.table(loose: 100)
        for id in UInt64(1)...5 {
            _ = crowded.add(id, source: 9, at: id)
            crowded.begin(id, at: id)
            crowded.answer(id, at: id)
        }
        #expect(crowded.trim(at: 20) == [1, 2, 3], "those of one source")
        #expect(crowded.looseCount == 2)
    }

    /// Bytes of a request or of an answer make no connection younger.
    @Test func onlyARequestOrAnswerThatBeginsMakesAConnectionYounger() {
        var table = table(loose: 1)
        for id in UInt64(1)...2 {
            _ = table.add(id, source: UInt32(id), at: id)
            table.begin(id, at: id)
            table.answer(id, at: id)
        }
        table.wait(1, at: 30)
        table.begin(1, at: 31)
        table.answer(1, at: 31)
        table.wait(2, at: 20)
        table.wait(2, at: 45)
        #expect(table.trim(at: 50) == [2])
    }

    /// It waits for us: a slow answer of ours is not the client's fault.
    @Test func aRequestThatWeWorkOnDoesNotGiveWay() {
        var table = table(loose: 0)
        _ = table.add(1, source: 1, at: 1)
        table.begin(1, at: 1)
        #expect(table.looseCount == 0 && table.trim(at: 5_000) == [])
        table.answer(1, at: 5_000)
        #expect(table.trim(at: 5_009) == [] && table.trim(at: 5_010) == [1])
    }

    @Test func provenConnectionsWithARequestInProgressNeverGiveWay() {
        var table = table(total: 3)
        for id in UInt64(1)...3 {
            _ = table.add(id, source: UInt32(id), at: id)
            table.begin(id, at: id)
            table.prove(id)
            table.answer(id, at: id)
        }
        #expect(table.looseCount == 0)
        #expect(table.trim(at: 50) == [] && table.add(4, source: 4, at: 60) == .full)
        table.wait(2, at: 61)
        #expect(table.add(5, source: 5, at: 62) == .admitted(closing: [2]))
        #expect(table.count == 3 && table.looseCount == 1)
    }

    /// A media stream is let in while its connection is held as a stranger's.
    @Test func aWebSocketThatProvesItselfLaterStays() {
        var table = table(loose: 0)
        for id in UInt64(1)...2 {
            _ = table.add(id, source: 1, at: id)
            table.begin(id, at: id)
            table.answer(id, at: id)
        }
        table.prove(2)
        table.prove(2)
        #expect(table.looseCount == 1)
        #expect(table.trim(at: 50) == [1] && table.count == 1 && table.looseCount == 0)
    }

    @Test func removedConnectionsAreForgotten() {
        var table = table()
        for id in UInt64(1)...3 { _ = table.add(id, source: 1, at: id) }
        table.begin(3, at: 4)
        table.prove(3)
        for id in UInt64(1)...3 { table.remove(id) }
        table.remove(9)
        table.prove(9)
        #expect(table.count == 0 && table.looseCount == 0 && table.trim(at: 99) == [])
    }
}
