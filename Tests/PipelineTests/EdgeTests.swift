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

@Suite struct GraphTests {
    private struct Doubler: Service {
        func run(from input: Edge<Int>, to output: Edge<Int>) async throws {
            while case .data(let value)? = await input.next() { try await output.send(value * 2) }
        }
    }
    private struct Broken: Error {}

    @Test func stagesRunUntilTheirInputEnds() async throws {
        var graph = Graph()
        let input = Edge<Int>("in", limit: 4, whenFull: .wait)
        let output = Edge<Int>("out", limit: 4, whenFull: .wait)
        graph.add("double", Doubler(), from: input, to: output)
        try await input.send(21)
        input.finish()
        try await graph.run()
        #expect(await output.next() == .data(42))
        #expect(await output.next() == .end)
    }

    @Test func theFirstFailureEndsAllAndSaysWhere() async throws {
        var graph = Graph()
        let never = Edge<Int>("never", limit: 1, whenFull: .wait)
        let output = Edge<Int>("out", limit: 1, whenFull: .wait)
        graph.add("waits", Doubler(), from: never, to: output)
        graph.add("breaks") { throw Broken() }
        let error = await #expect(throws: StageFailure.self) { try await graph.run() }
        #expect(error?.stage == "breaks")
    }
}

@Suite struct HeardLedgerTests {
    @Test func aSentenceHeardToItsEndIsWhole() {
        var ledger = HeardLedger()
        let one = ledger.begin(turn: 1, text: "Good morning.")
        ledger.generated(800, of: one)
        ledger.complete(one)
        ledger.sent(800, of: one)
        ledger.played(800, of: one, from: 100)
        #expect(
            ledger.isFullyHeard(one) && ledger.heardText(turn: 1) == "Good morning." && !ledger.isInterrupted(turn: 1))
        #expect(ledger.utterances[one].startedAt == 100 && ledger.utterances[one].endedAt == 900)
    }

    @Test func aFlushCutsAtAWord() {
        var ledger = HeardLedger()
        let one = ledger.begin(turn: 1, text: "Hello there.")
        let two = ledger.begin(turn: 1, text: "Will you come to the dinner?")
        ledger.generated(1_000, of: one)
        ledger.complete(one)
        ledger.generated(2_000, of: two)
        ledger.sent(1_000, of: one)
        ledger.sent(1_100, of: two)
        ledger.played(1_000, of: one, from: 0)
        ledger.played(1_000, of: two, from: 1_000)
        ledger.flush()
        #expect(ledger.heardText(turn: 1) == "Hello there. Will you come")
        #expect(ledger.isInterrupted(turn: 1))
        #expect(ledger.utterances[two].droppedMs == 1_000)
        #expect(ledger.utterances[one].isInterrupted == false)
    }

    @Test func whatNeverPlayedWasNotHeard() {
        var ledger = HeardLedger()
        let one = ledger.begin(turn: 3, text: "Goodbye.")
        ledger.generated(500, of: one)
        ledger.flush()
        #expect(ledger.heardText(turn: 3) == "" && ledger.isInterrupted(turn: 3))
    }
}
