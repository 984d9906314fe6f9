import Testing

@testable import Pipeline

@Suite struct EdgeTests {
    @Test func deliversInOrderThenEnds() async throws {
        let edge = Edge<Int>("e", limit: 4, whenFull: .wait)
        try await edge.send(1)
        try await edge.send(2)
        edge.finish()
        #expect(await edge.next() == .data(1))
        #expect(await edge.next() == .data(2))
        #expect(await edge.next() == .end)
        #expect(await edge.next() == nil)
    }

    @Test func liveAudioDropsTheOldestAndCounts() async throws {
        let edge = Edge<Int>("e", limit: 2, whenFull: .dropOldest)
        for value in 1...5 { try await edge.send(value) }
        #expect(
            edge.reading.dropped == 3 && edge.reading.depth == 2 && edge.reading.peakDepth == 2
                && edge.reading.sent == 5)
        #expect(await edge.next() == .data(4))
    }

    // producer: send 1, send 2 (full: waits) ────────── resumed
    // consumer:                               next → 1
    @Test func aFullQueueMakesTheProducerWait() async throws {
        let edge = Edge<Int>("e", limit: 1, whenFull: .wait)
        try await edge.send(1)
        #expect(edge.offer(2) == false)
        async let second: Void = edge.send(2)
        #expect(await edge.next() == .data(1))
        #expect(await edge.next() == .data(2))
        try await second
    }

    @Test func aCancelledProducerIsReleased() async throws {
        let edge = Edge<Int>("e", limit: 1, whenFull: .wait)
        try await edge.send(1)
        let producer = Task { try await edge.send(2) }
        producer.cancel()
        await #expect(throws: CancellationError.self) { try await producer.value }
        edge.finish()
        #expect(await edge.next() == .data(1))
        #expect(await edge.next() == .end)
    }

    @Test func aFlushDiscardsAndIsToldToTheConsumer() async throws {
        let edge = Edge<Int>("e", limit: 4, whenFull: .wait)
        try await edge.send(1)
        edge.flush()
        try await edge.send(2)
        #expect(await edge.next() == .flush)
        #expect(await edge.next() == .data(2))
    }

    @Test func drainTakesEverythingAtOnce() async throws {
        let edge = Edge<Int>("e", limit: 8, whenFull: .wait)
        for value in 1...4 { try await edge.send(value) }
        #expect(await edge.next() == .data(1))
        var batch: [Int] = []
        edge.drain(into: &batch)
        #expect(batch == [2, 3, 4])
    }

    @Test func aCancelledConsumerGetsAnEnd() async {
        let edge = Edge<Int>("e", limit: 1, whenFull: .wait)
        let consumer = Task { await edge.next() }
        consumer.cancel()
        let last = await consumer.value
        #expect(last == .end || last == nil)
    }
}
