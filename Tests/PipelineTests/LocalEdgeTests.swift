import Pipeline
import Testing

@Suite struct LocalEdgeTests {
    @Test func liveAudioLosesItsOldestWhenTheQueueIsFull() {
        var edge = LocalEdge<Int>(EdgePlan("heard", limit: 3, whenFull: .dropOldest))
        for value in 1...5 { edge.push(value, at: value * 20) }
        let reading = edge.reading(at: 200)
        #expect(reading.depth == 3 && reading.dropped == 2 && reading.sent == 5 && reading.peakDepth == 3)
        #expect(reading.oldestMs == 140)
        let oldest = edge.popFirst()
        #expect(oldest == 3)
    }

    @Test func aPausedSourceMayOverrunOnceButNotForEver() {
        var edge = LocalEdge<Int>(EdgePlan("speech", limit: 4, whenFull: .pauseSource))
        for value in 1...4 {
            let isKept = edge.push(value, at: 0)
            #expect(isKept)
        }
        #expect(edge.isFull)
        edge.paused()
        for value in 5...8 {
            let isKept = edge.push(value, at: 0)
            #expect(isKept)
        }
        let isKept = edge.push(9, at: 0)
        #expect(!isKept)
        let reading = edge.reading(at: 0)
        #expect(reading.depth == 8 && reading.dropped == 1 && reading.waits == 1)
    }

    @Test func synchronousHandOffsAreCounted() {
        var edge = LocalEdge<Int>(EdgePlan("heard", limit: 4, whenFull: .dropOldest))
        edge.passed()
        #expect(edge.reading(at: 0).sent == 1 && edge.isEmpty)
    }
}
